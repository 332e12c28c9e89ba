// SPDX-License-Identifier: MIT
/* The core: see, step, go back, branch. */
import assert from "node:assert/strict";
import { advance, atStep, stepOf } from "./harness.js";

const RING = "s=chang-roberts+--ids+3,7,1,9,4+--start+3";
const BULLY = "s=bully+--ids+0..4+--start+1";

export const steps = {
  async "a page from a file makes no request and begins with the gallery"(open) {
    const page = await open();
    await page.getByRole("dialog", { name: "scenarios" }).waitFor();
    assert.ok((await page.locator(".story").count()) > 60);
  },

  async "the network shows ids, and messages that can be clicked"(open) {
    const page = await open(RING);
    assert.equal(await page.locator(".node").count(), 5);
    await advance(page, () => page.locator("[data-do=step]").click());
    assert.equal(await page.locator(".message").count(), 1);
    await advance(page, () => page.locator(".message").first().click());
    assert.match(await page.locator(".explanation").innerText(), /Step 2/);
  },

  async "back and forth over a whole run"(open) {
    const page = await open(RING);
    await page.locator("[data-do=end]").click();
    await page.waitForFunction(() => document.querySelector("[data-do=step]").disabled);
    const { end } = await stepOf(page);
    assert.ok(end > 10);
    assert.match(await page.locator(".verdict-line").innerText(), /9 leads/);
    await page.locator("[data-do=start]").click();
    await atStep(page, 0, end);
    assert.match(await page.locator(".verdict-line").innerText(), /no leader/);
    for (let step = 1; step <= end; step++) await advance(page, () => page.locator("[data-do=step]").click());
    for (let step = end - 1; step >= 0; step--) {
      await page.locator("[data-do=back]").click();
      await atStep(page, step, end);
    }
  },

  async "the slider and the diagram go to any step"(open) {
    const page = await open(RING);
    await page.locator("[data-do=end]").click();
    await page.waitForFunction(() => document.querySelector("[data-do=step]").disabled);
    await page.locator("[data-do=slider]").fill("3");
    await atStep(page, 3);
    await page.locator("rect.target[data-step='2']").click();
    await atStep(page, 2);
    assert.equal(await page.locator(".column.here .tick").textContent(), "2");
  },

  async "what is done after going back is a branch"(open) {
    const page = await open(BULLY);
    for (let i = 0; i < 3; i++) await advance(page, () => page.locator("[data-do=step]").click());
    await page.locator("[data-do=back]").click();
    await atStep(page, 2, 3);
    const second = page.locator(".likely .event").nth(1);
    await second.click();
    await atStep(page, 3, 3);
    await page.getByRole("heading", { name: "2 branches" }).waitFor();
    const here = await page.locator(".explanation").innerText();
    await page.locator("[data-branch='0']").click();
    await page.waitForFunction((before) => document.querySelector(".explanation").innerText !== before, here);
  },

  async "two branches stand side by side"(open) {
    const page = await open(BULLY);
    await advance(page, () => page.locator("[data-do=step]").click());
    await page.locator("[data-do=back]").click();
    await atStep(page, 0);
    await page.locator("[data-others=crash] summary").click();
    await page.locator("[data-event=crash]").first().click();
    await atStep(page, 1, 1);
    await page.getByRole("button", { name: /Two side by side/ }).click();
    await page.getByLabel("network of the other branch").waitFor();
    assert.equal(await page.locator("svg.network").count(), 2);
    await page.getByRole("button", { name: /One branch/ }).click();
    await page.waitForFunction(() => document.querySelectorAll("svg.network").length === 1);
  },

  async "a node shows its variables and what has changed"(open) {
    const page = await open(BULLY);
    await advance(page, () => page.locator("[data-do=step]").click());
    await page.locator("[data-node='1']").click();
    const card = page.locator(".node-card");
    await card.waitFor();
    assert.match(await card.innerText(), /Node 1/);
    assert.match(await card.innerText(), /no answer/); // its timer
    assert.match(await card.locator(".state .changed").first().innerText(), /mode\s+electing/);
    await card.getByRole("button", { name: "close" }).click();
    await card.waitFor({ state: "detached" });
  },

  async "a node crashes and comes back; a message is lost, and comes twice"(open) {
    const page = await open(BULLY);
    await advance(page, () => page.locator("[data-do=step]").click());
    await page.locator("[data-node='4']").click();
    await page.locator("[data-others=crash] summary").click();
    await advance(page, () => page.locator("[data-event=crash]").first().click());
    await page.locator(".node.dead[data-node='4']").waitFor();
    await page.locator("[data-others=recover] summary").click();
    await advance(page, () => page.locator("[data-event=recover]").first().click());
    await page.waitForFunction(() => !document.querySelector(".node.dead"));
    const before = await page.locator(".message").count();
    const message = page.locator(".message").first();
    await message.click({ button: "right" });
    await page.getByRole("dialog", { name: "a message" }).waitFor();
    await advance(page, () => page.locator(".message-menu [data-event=drop]").click());
    await page.waitForFunction((count) => document.querySelectorAll(".message").length === count, before - 1);
    await page
      .locator(".message")
      .first()
      .click({ modifiers: ["Shift"] });
    await advance(page, () => page.locator(".message-menu [data-event=duplicate]").click());
  },

  async "counts stand beside the formula, and properties say how they are"(open) {
    const page = await open(RING);
    await page.locator("[data-do=end]").click();
    await page.waitForFunction(() => document.querySelector("[data-do=step]").disabled);
    const total = Number(await page.locator(".counts h2 .number").innerText());
    assert.ok(total > 5);
    assert.match(await page.locator(".theory").first().innerText(), new RegExp(`${total}`));
    assert.ok((await page.locator(".properties li.held").count()) > 0);
    assert.equal(await page.locator(".properties li.violated").count(), 0);
  },

  async "a wrong word is told as the command line tells it"(open) {
    const page = await open(RING);
    await page.locator(".words input").fill("bully --ids 1,1");
    await page.locator(".words input").press("Enter");
    assert.match(await page.locator(".error").innerText(), /--ids/);
    await page.locator(".words input").fill("conclave sim bully -n 3");
    await page.locator(".words input").press("Enter");
    await page.waitForFunction(() => document.querySelectorAll(".node").length === 3);
  },
};
