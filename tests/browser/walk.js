// SPDX-License-Identifier: MIT
/*
 * A new user's first walk, click by click: from `conclave explore`, show the split brain, bring two leaders about, go
 * back, heal, and send the link. The clicks are counted, so that they stay few.
 */
import assert from "node:assert/strict";
import { serve, stepOf, stop } from "./harness.js";

const CLICKS = 4;

export const walk = {
  async "the split brain: shown, brought about, gone back from, healed and sent in four clicks"(open) {
    const { child, address } = await serve();
    try {
      const page = await open("", { address, permissions: ["clipboard-read", "clipboard-write"] });
      let clicks = 0;
      const click = async (target) => {
        clicks++;
        await target.click();
      };
      await page.getByRole("dialog", { name: "scenarios" }).waitFor();
      // The first card is the split brain. It plays until both halves have a leader.
      await click(page.locator(".story").first());
      await page.locator(".verdict-line", { hasText: "split brain" }).waitFor({ timeout: 60000 });
      await page.locator("[data-do=play][aria-pressed=false]").waitFor();
      assert.equal(await page.locator(".node.leads").count(), 2);
      assert.ok((await page.locator(".cut").count()) > 0);
      // Back to the moment of the split, which the diagram marks.
      await click(page.locator(".diagram .column.splits rect.target"));
      await page.locator(".verdict-line", { hasText: "no leader" }).waitFor();
      const { step } = await stepOf(page);
      await click(page.locator("[data-do=heal]"));
      await page.waitForFunction(() => document.querySelectorAll(".cut").length === 0);
      await click(page.locator("[data-do=link]"));
      await page.locator(".notice", { hasText: "The link to this story is copied" }).waitFor();
      assert.equal(clicks, CLICKS);
      const link = await page.evaluate(() => navigator.clipboard.readText());
      const friend = await open(new URL(link).hash.slice(1), { address });
      assert.deepEqual(await stepOf(friend), { step: step + 1, end: step + 1 });
      assert.equal(await friend.locator(".cut").count(), 0);
      // And it is healed indeed: what is left to happen ends with one leader.
      await friend.locator("[data-do=end]").click();
      await friend.waitForFunction(() => document.querySelector("[data-do=step]").disabled);
      assert.match(await friend.locator(".verdict-line").innerText(), /^3 leads$/);
    } finally {
      await stop(child);
    }
  },
};
