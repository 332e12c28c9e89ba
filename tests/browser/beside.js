// SPDX-License-Identifier: MIT
/* Two branches side by side: networks, diagrams at one scale, what they have in common and what not. */
import assert from "node:assert/strict";
import { advance, atStep } from "./harness.js";

const BULLY = "s=bully+--ids+0..4+--start+1";

/** Two branches that have two steps in common: the likely one, with three more, and one in which 4 crashes. */
async function branched(open, more = {}) {
  const page = await open(BULLY, more);
  for (let i = 0; i < 5; i++) await advance(page, () => page.keyboard.press("ArrowRight"));
  for (const step of [4, 3, 2]) {
    await page.keyboard.press("ArrowLeft");
    await atStep(page, step, 5);
  }
  for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowDown");
  await advance(page, () => page.keyboard.press("x"));
  await page.keyboard.press("Escape");
  return page;
}

const there = (page) => page.getByRole("region", { name: "the steps of the branch there" });
const here = (page) => page.getByRole("region", { name: "the steps of the branch here" });
const label = (page) => there(page).locator("svg").getAttribute("aria-label");

export const beside = {
  async "two diagrams stand side by side at one scale, and mark what is common"(open) {
    const page = await branched(open);
    await page.keyboard.press("c");
    await there(page).waitFor();
    const boxes = [await here(page).boundingBox(), await there(page).boundingBox()];
    assert.ok(boxes[1].x >= boxes[0].x + boxes[0].width, "beside each other");
    assert.equal(Math.round(boxes[0].width), Math.round(boxes[1].width));
    const [mine, theirs] = [here(page).locator("svg"), there(page).locator("svg")];
    assert.equal(await mine.getAttribute("width"), await theirs.getAttribute("width"));
    const place = (svg, step) => svg.locator(`rect.target[data-step='${step}']`).getAttribute("x");
    for (const step of [0, 2, 3]) assert.equal(await place(mine, step), await place(theirs, step));
    const fork = (svg) => svg.locator(".fork").getAttribute("x1");
    assert.equal(await fork(mine), await fork(theirs));
    const width = async (svg) => Number(await svg.locator(".in-common").getAttribute("width"));
    assert.equal(await width(mine), await width(theirs));
    assert.match(await label(page), /step 5 of 5/);
    assert.match(await page.locator(".difference").innerText(), /2 steps in common/);
    assert.match(await page.locator(".difference tr", { hasText: "leaves the other by" }).innerText(), /crash/);
    assert.ok((await page.locator(".difference .differs").count()) >= 2);
    assert.ok((await page.locator(".node.differs").count()) >= 1);
  },

  async "the branch beside is chosen in the tree, walked, and changes places, by click and by key"(open) {
    const page = await branched(open);
    await page.locator("[data-beside]").first().click();
    await there(page).waitFor();
    await there(page).locator("rect.target[data-step='1']").click();
    await page.waitForFunction(() =>
      /step 1 of 5/.test(document.querySelector(".there svg").getAttribute("aria-label")),
    );
    await page.keyboard.press(".");
    await page.waitForFunction(() =>
      /step 2 of 5/.test(document.querySelector(".there svg").getAttribute("aria-label")),
    );
    await page.keyboard.press(",");
    await page.waitForFunction(() =>
      /step 1 of 5/.test(document.querySelector(".there svg").getAttribute("aria-label")),
    );
    await atStep(page, 3, 3);
    await page.keyboard.press("w");
    await atStep(page, 1, 5);
    await page.waitForFunction(() =>
      /step 3 of 3/.test(document.querySelector(".there svg").getAttribute("aria-label")),
    );
    await page.getByRole("button", { name: /Change places/ }).click();
    await atStep(page, 3, 3);
    await page.keyboard.press("]");
    await atStep(page, 1, 5);
    await page.locator("[data-beside][aria-pressed=true]").click();
    await there(page).waitFor({ state: "detached" });
  },

  async "with three branches, a key turns through those beside"(open) {
    const page = await branched(open);
    await page.keyboard.press("Home");
    await atStep(page, 0, 3);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("x");
    await atStep(page, 1, 1);
    await page.getByRole("heading", { name: "3 branches" }).waitFor();
    await page.keyboard.press("c");
    await there(page).waitFor();
    const first = await label(page);
    await page.keyboard.press("o");
    await page.waitForFunction(
      (before) => document.querySelector(".there svg").getAttribute("aria-label") !== before,
      first,
    );
  },

  async "both diagrams scroll together"(open) {
    const page = await open("s=chang-roberts+--ids+3,32,5,80,6,12+--start+all");
    await page.locator("[data-do=end]").click();
    await page.waitForFunction(() => document.querySelector("[data-do=step]").disabled);
    await page.keyboard.press("Home");
    await atStep(page, 0);
    await page.keyboard.press("2");
    await atStep(page, 1, 1);
    await page.keyboard.press("c");
    await there(page).waitFor();
    const left = (box) => box.evaluate((it) => it.scrollLeft);
    await here(page).evaluate((it) => it.scrollTo({ left: 100 }));
    await page.waitForFunction(() => document.querySelector(".there .scroll").scrollLeft === 100);
    await there(page).evaluate((it) => it.scrollTo({ left: 40 }));
    await page.waitForFunction(() => document.querySelector(".here .scroll").scrollLeft === 40);
    assert.equal(await left(here(page)), 40);
  },

  async "on a phone the two stand one below the other, and nothing overflows"(open) {
    const page = await branched(open, { width: 375, height: 667 });
    await page.keyboard.press("c");
    await there(page).waitFor();
    assert.equal(
      await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
      0,
    );
    const boxes = [await here(page).boundingBox(), await there(page).boundingBox()];
    assert.ok(boxes[1].y >= boxes[0].y + boxes[0].height);
  },
};
