// SPDX-License-Identifier: MIT
/*
 * What a step costs, in things that can be counted: messages to the engine, what it answers, what is changed and drawn.
 * How long it takes is for bench/explore, on a quiet machine.
 */
import assert from "node:assert/strict";
import { countMessages, pressKeys } from "./cost.js";
import { atStep, PATIENCE_MS, stepOf } from "./harness.js";

const RING = `s=chang-roberts+--ids+${Array.from({ length: 100 }, (_, i) => 100 - i).join(",")}+--start+all`;

/** Lets all happen, and goes to a step. */
async function runTo(page, step) {
  await page.locator("[data-do=end]").click();
  await page.waitForFunction(
    (least) => Number(/of (\d+)/.exec(document.querySelector(".step-number").textContent)[1]) >= least,
    step,
    { timeout: 4 * PATIENCE_MS },
  );
  await page.locator("[data-do=slider]").fill(String(step));
  await atStep(page, step);
}

async function assertCheap(page, key, { characters, changes, elements }) {
  const cost = await pressKeys(page, key, 9);
  const drawn = await page.locator("main *").count();
  console.log(
    `       ${key}: ${cost.messages} message, ${cost.characters} characters, ${cost.changes} changes, ${drawn} elements; ${cost.work.toFixed(1)} ms`,
  );
  assert.equal(cost.messages, 1, "messages to the engine");
  assert.ok(cost.characters > 0 && cost.characters <= characters, `${cost.characters} characters`);
  assert.ok(cost.changes <= changes, `${cost.changes} changes`);
  assert.ok(drawn <= elements, `${drawn} elements`);
}

export const speed = {
  async "a step of 16 nodes is one message to the engine, and few changes of the page"(open) {
    const page = await open("s=bully+-n+16+--start+all", { before: countMessages });
    const limits = { characters: 160000, changes: 400, elements: 4000 };
    for (const key of ["ArrowRight", "ArrowLeft", "ArrowRight"]) await assertCheap(page, key, limits);
  },

  async "so is one of 100 nodes among 2,000 steps: only what is in sight is drawn"(open) {
    const page = await open(RING, { before: countMessages });
    await runTo(page, 2000);
    assert.ok((await stepOf(page)).end > 5000);
    const limits = { characters: 100000, changes: 400, elements: 4000 };
    for (const key of ["ArrowLeft", "ArrowRight"]) await assertCheap(page, key, limits);
    await page.keyboard.press("2"); // another branch: what follows is new
    await atStep(page, 2001, 2001);
    await assertCheap(page, "ArrowRight", limits);
  },

  async "so is one of 100 nodes with 9,900 messages under way"(open) {
    const page = await open("s=ricart-agrawala+-n+100", { before: countMessages });
    await runTo(page, 150);
    assert.equal(await page.locator(".message").count(), 400);
    const limits = { characters: 200000, changes: 800, elements: 8000 };
    for (const key of ["ArrowLeft", "ArrowRight"]) await assertCheap(page, key, limits);
  },
};
