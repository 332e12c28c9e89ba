// SPDX-License-Identifier: MIT
/* What a step costs, counted and timed in the page: for the tests of the page, and for bench/explore. */

/** Runs before the page's own scripts: counts what goes to the engine's workers and what comes back. */
export function countMessages() {
  const counted = { messages: 0, characters: 0 };
  window.counted = counted;
  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function post(...words) {
    counted.messages++;
    return postMessage.apply(this, words);
  };
  const listener = Object.getOwnPropertyDescriptor(Worker.prototype, "onmessage");
  Object.defineProperty(Worker.prototype, "onmessage", {
    ...listener,
    set(hear) {
      listener.set.call(this, (event) => {
        counted.characters += event.data.result?.seen?.length ?? 0;
        hear(event);
      });
    },
  });
}

/**
 * Presses a key so many times, one step each. Medians, per step: messages to the engine, characters of its answer,
 * elements and attributes of the page that were changed, milliseconds from the key until the page is laid out (`work`)
 * and until the next frame (`frame`), and of a frame in which nothing happens (`empty`).
 */
export async function pressKeys(page, key, times) {
  return page.evaluate(
    async ([name, count]) => {
      const number = document.querySelector(".step-number b");
      const rows = [];
      const frame = () =>
        new Promise((resolve) => {
          requestAnimationFrame(() => {
            const { port1, port2 } = new MessageChannel();
            port1.onmessage = resolve;
            port2.postMessage(0);
          });
        });
      for (let i = 0; i < count; i++) {
        await frame();
        const empty = performance.now();
        await frame();
        const before = { ...(window.counted ?? { messages: 0, characters: 0 }) };
        let changes = 0;
        const all = new MutationObserver((records) => {
          for (const { addedNodes, removedNodes } of records) changes += addedNodes.length + removedNodes.length || 1;
        });
        all.observe(document.querySelector("main"), {
          subtree: true,
          childList: true,
          attributes: true,
          characterData: true,
        });
        const began = performance.now();
        await new Promise((resolve, reject) => {
          const watch = new MutationObserver(() => {
            watch.disconnect();
            resolve();
          });
          watch.observe(number, { subtree: true, childList: true, characterData: true });
          setTimeout(() => reject(new Error(`${name} takes no step`)), 30000);
          document.body.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
        });
        document.querySelector("main").getBoundingClientRect();
        const drawn = performance.now();
        await frame();
        const shown = performance.now();
        all.disconnect();
        const after = window.counted ?? before;
        rows.push({
          messages: after.messages - before.messages,
          characters: after.characters - before.characters,
          changes,
          work: drawn - began,
          frame: shown - began,
          empty: began - empty,
        });
      }
      const median = (what) => rows.map((row) => row[what]).sort((a, b) => a - b)[Math.floor(count / 2)];
      return Object.fromEntries(Object.keys(rows[0]).map((what) => [what, median(what)]));
    },
    [key, times],
  );
}
