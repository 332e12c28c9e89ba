// SPDX-License-Identifier: MIT
/* A step and its picture are quick. The bounds have room for a busy machine; the figures are printed. */
import assert from "node:assert/strict";
import { PATIENCE_MS, stepOf } from "./harness.js";

const ROOM = 4; // a machine that does other things at the same time

/** The median time from a key to the picture after it, in milliseconds. */
async function medianStep(page, key, times) {
  return page.evaluate(
    async ([name, count]) => {
      const took = [];
      for (let i = 0; i < count; i++) {
        const before = document.querySelector(".step-number b").innerText;
        const began = performance.now();
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
        while (document.querySelector(".step-number b").innerText === before && performance.now() - began < 10000)
          await new Promise((resolve) => setTimeout(resolve, 0));
        document.querySelector("svg.network").getBoundingClientRect();
        took.push(performance.now() - began);
      }
      return took.sort((a, b) => a - b)[Math.floor(count / 2)];
    },
    [key, times],
  );
}

export const speed = {
  async "a step at n = 16 takes 16 ms"(open) {
    const page = await open("s=bully+-n+16+--start+all");
    const median = await medianStep(page, "ArrowRight", 41);
    console.log(`       n = 16: ${median.toFixed(1)} ms`);
    assert.ok(median <= 16 * ROOM, `${median} ms`);
  },

  async "a step at n = 100 after 2,000 steps takes 100 ms"(open) {
    const page = await open("s=chang-roberts+-n+100+--ids+random+--start+all");
    await page.locator("[data-do=end]").click();
    await page.waitForFunction(
      () => Number(/of (\d+)/.exec(document.querySelector(".step-number").innerText)[1]) > 500,
      null,
      { timeout: 4 * PATIENCE_MS },
    );
    const { end } = await stepOf(page);
    const median = await medianStep(page, "ArrowLeft", 21);
    console.log(`       n = 100, ${end} steps: ${median.toFixed(1)} ms`);
    assert.ok(median <= 100 * ROOM, `${median} ms`);
  },
};
