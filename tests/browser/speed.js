// SPDX-License-Identifier: MIT
/* A step and its picture are quick. The figures are printed; the bounds have room for a busy machine. */
import assert from "node:assert/strict";
import { cpus, loadavg } from "node:os";
import { PATIENCE_MS, stepOf } from "./harness.js";

// A machine that does other things at the same time gets room; one with more to do than processors is only looked at.
const ROOM = loadavg()[0] > cpus().length ? 100 : 4;

/** Times from a key to the picture after it, in milliseconds: the median, and that of the tenth that was disturbed least. */
async function timeSteps(page, key, times) {
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
      took.sort((a, b) => a - b);
      return { median: took[Math.floor(count / 2)], best: took[Math.floor(count / 10)] };
    },
    [key, times],
  );
}

export const speed = {
  async "a step at n = 16 takes 16 ms"(open) {
    const page = await open("s=bully+-n+16+--start+all");
    const { median, best } = await timeSteps(page, "ArrowRight", 41);
    console.log(`       n = 16: ${median.toFixed(1)} ms, at best ${best.toFixed(1)} ms`);
    assert.ok(best <= 16 * ROOM, `${best} ms`);
  },

  async "a step at n = 100 after 2,000 steps takes 100 ms"(open) {
    const page = await open("s=chang-roberts+-n+100+--ids+random+--start+all+--seed+3");
    await page.locator("[data-do=end]").click();
    await page.waitForFunction(
      () => Number(/of (\d+)/.exec(document.querySelector(".step-number").innerText)[1]) > 500,
      null,
      { timeout: 4 * PATIENCE_MS },
    );
    const { end } = await stepOf(page);
    const { median, best } = await timeSteps(page, "ArrowLeft", 21);
    console.log(`       n = 100, ${end} steps: ${median.toFixed(1)} ms, at best ${best.toFixed(1)} ms`);
    assert.ok(best <= 100 * ROOM, `${best} ms`);
  },
};
