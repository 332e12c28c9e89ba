// SPDX-License-Identifier: MIT
/* An event can go several ways: its handler chooses, or its node crashes in the middle of its messages. */
import assert from "node:assert/strict";
import { advance, stepOf } from "./harness.js";

export const ways = {
  async "a node crashes in the middle of a multicast, and the link repeats it"(open) {
    const page = await open("s=bully+--ids+0..4+--start+1");
    await page.keyboard.press("y");
    await page.locator(".ways [data-event=partial]").first().waitFor();
    const way = page.locator(".ways [data-event=partial]", { hasText: /after 1 of 3/ }).first();
    await advance(page, () => way.click());
    await page.locator(".node.dead[data-node='1']").waitFor();
    assert.equal(await page.locator(".message").count(), 1);
    await page.locator(".ways").waitFor({ state: "detached" });
    await page.waitForFunction(() => location.hash.includes("&i="));
    const other = await open((await page.evaluate(() => location.hash)).slice(1));
    assert.deepEqual(await stepOf(other), { step: 1, end: 1 });
    await other.locator(".node.dead[data-node='1']").waitFor();
    assert.equal(await other.locator(".message").count(), 1);
  },

  async "what a handler chooses can be picked"(open) {
    const page = await open("s=voting+--ids+0..2+--request+0@0,1@0,2@0");
    const found = page.locator(".ways [data-event=choice]");
    for (let i = 0; i < 40 && !(await found.count()); i++) {
      const buttons = page.locator(".likely [data-ways]");
      for (let k = 0; k < (await buttons.count()) && !(await found.count()); k++) {
        const index = await buttons.nth(k).getAttribute("data-ways");
        await buttons.nth(k).click();
        await page.locator(`.likely [data-ways="${index}"][aria-expanded=true]`).waitFor();
      }
      if (!(await found.count())) await advance(page, () => page.locator("[data-do=step]").click());
    }
    assert.ok((await found.count()) >= 2);
    const words = await found.last().innerText();
    await advance(page, () => found.last().click());
    assert.match(words, /chooses/);
  },

  async "an event that can go only one way says so"(open) {
    const page = await open("s=chang-roberts+--ids+3,7,1,9,4+--start+3");
    await page.locator("[data-ways]").first().click();
    await page.locator("p.ways", { hasText: "only one way" }).waitFor();
  },
};
