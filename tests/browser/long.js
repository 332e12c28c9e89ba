// SPDX-License-Identifier: MIT
/*
 * Long stories: ten thousand steps and many branches, with the engine in the page. A thousand branches take minutes:
 * BRANCHES=1000 python3 tests/browser.py "and many branches"
 */
import assert from "node:assert/strict";
import { atStep } from "./harness.js";

const STEPS = 10000;
const BRANCHES = Number(process.env.BRANCHES ?? 40);
const LONG = "s=token-ring+-n+5+--entries+2500";
const MOST_ELEMENTS = 3000;
const MOST_NODES = 4000; // with those that are drawn no longer and yet kept
const MOST_HEAP = 20e6 + BRANCHES * 0.1e6;

/** What can be seen of a state. */
function seen(page) {
  return page.evaluate(() =>
    [".explanation", ".counts", ".verdict-line", "svg.network"].map((name) => document.querySelector(name).textContent),
  );
}

async function slideTo(page, step) {
  await page.locator("[data-do=slider]").fill(String(step));
  await atStep(page, step);
}

/**
 * Goes to so many steps, the last first, and does there what was not done before: a branch each. In the page, so that
 * no time goes by between two.
 */
function branchOff(page, branches, every) {
  return page.evaluate(
    async ([count, distance, end]) => {
      const step = () => Number(document.querySelector(".step-number b").textContent);
      const until = async (wanted) => {
        for (const began = performance.now(); step() !== wanted; await new Promise((resolve) => setTimeout(resolve, 0)))
          if (performance.now() - began > 60000) throw new Error(`no step ${wanted}, but ${step()}`);
      };
      const slider = document.querySelector("[data-do=slider]");
      for (let i = 1; i <= count; i++) {
        slider.value = end - i * distance;
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        await until(end - i * distance);
        document.querySelector(".likely .event:not(.first)").click();
        await until(end - i * distance + 1);
      }
    },
    [branches, every, STEPS],
  );
}

/** What is left when all that nobody holds has been thrown away: nodes of the document, and bytes. */
async function keptBy(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  await session.send("Performance.enable");
  const { metrics } = await session.send("Performance.getMetrics");
  const metric = (wanted) => metrics.find(({ name }) => name === wanted).value;
  return { nodes: metric("Nodes"), heap: metric("JSHeapUsedSize") };
}

export const long = {
  async "ten thousand steps and many branches: there and back, and only what is in sight is drawn"(open) {
    const page = await open(LONG);
    await page.locator("[data-do=end]").click();
    await atStep(page, STEPS, STEPS);
    const known = new Map();
    for (const step of [STEPS, 5000, 9999, 0, 1, 7777]) {
      await slideTo(page, step);
      known.set(step, await seen(page));
    }
    for (const step of [1, 9999, 0, 5000, STEPS, 7777]) {
      await slideTo(page, step);
      assert.deepEqual(await seen(page), known.get(step), `step ${step} is another`);
    }
    await slideTo(page, STEPS);
    await branchOff(page, BRANCHES, 9);
    await page.getByRole("heading", { name: `${(BRANCHES + 1).toLocaleString("en")} branches` }).waitFor();
    await page.keyboard.press("["); // all the way round to the trunk, ten thousand steps
    await page.keyboard.press("Home");
    await atStep(page, 0);
    for (let i = 0; i < 3; i++) await page.keyboard.press("]");
    await page.waitForFunction(() => Number(document.querySelector(".step-number b").textContent) > 0);
    const elements = await page.locator("main *").count();
    const { nodes, heap } = await keptBy(page);
    console.log(`       ${elements} elements, ${nodes} nodes, ${(heap / 1e6).toFixed(0)} MB of objects`);
    assert.ok(elements <= MOST_ELEMENTS, `${elements} elements`);
    assert.ok(nodes <= MOST_NODES, `${nodes} nodes are kept`);
    assert.ok(heap <= MOST_HEAP, `${heap} bytes`);
    assert.ok((await page.locator(".branch").count()) < 25);
    await page.locator(".tree-box").evaluate((box) => box.scrollTo(0, 0));
    await page.locator("[data-branch='0']").click();
    await atStep(page, STEPS, STEPS);
    assert.deepEqual(await seen(page), known.get(STEPS));
    await slideTo(page, 5000);
    assert.deepEqual(await seen(page), known.get(5000));
  },
};
