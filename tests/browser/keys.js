// SPDX-License-Identifier: MIT
/* Every key of the help, and every button of the bar. */
import assert from "node:assert/strict";
import { advance, atStep, PATIENCE_MS, stepOf } from "./harness.js";

const BULLY = "s=bully+--ids+0..4+--start+1";

export const keys = {
  async "keys go through time"(open) {
    const page = await open(BULLY);
    await advance(page, () => page.keyboard.press("ArrowRight"));
    await advance(page, () => page.keyboard.press("Space"));
    await advance(page, () => page.keyboard.press("n"));
    await page.keyboard.press("ArrowLeft");
    await atStep(page, 2);
    await page.keyboard.press("Backspace");
    await atStep(page, 1);
    await page.keyboard.press("Home");
    await atStep(page, 0);
    await page.keyboard.press("End");
    await atStep(page, 3, 3);
    await page.keyboard.press("End");
    await page.waitForFunction(() => document.querySelector("[data-do=step]").disabled);
    await page.keyboard.press("Home");
    await atStep(page, 0);
    await page.keyboard.press("p");
    await page.locator("[data-do=play][aria-pressed=true]").waitFor();
    await page.waitForFunction(() => Number(document.querySelector(".step-number b").innerText) >= 2);
    await page.keyboard.press("p");
    await page.locator("[data-do=play][aria-pressed=false]").waitFor();
  },

  async "keys choose an event, a node, a crash, a timer"(open) {
    const page = await open(BULLY);
    await advance(page, () => page.keyboard.press("1"));
    await page.keyboard.press("ArrowDown");
    await page.getByRole("heading", { name: "Node 0" }).waitFor();
    await page.keyboard.press("j");
    await page.getByRole("heading", { name: "Node 1" }).waitFor();
    await advance(page, () => page.keyboard.press("t"));
    assert.match(await page.locator(".explanation").innerText(), /time/);
    await page.keyboard.press("ArrowUp");
    await page.getByRole("heading", { name: "Node 0" }).waitFor();
    await page.keyboard.press("k");
    await page.getByRole("heading", { name: "Node 4" }).waitFor();
    await advance(page, () => page.keyboard.press("x"));
    await page.locator(".node.dead[data-node='4']").waitFor();
    await advance(page, () => page.keyboard.press("x"));
    await page.waitForFunction(() => !document.querySelector(".node.dead"));
    await page.keyboard.press("Escape");
    await page.locator(".node-card").waitFor({ state: "detached" });
  },

  async "keys change and compare branches"(open) {
    const page = await open(BULLY);
    await advance(page, () => page.keyboard.press("ArrowRight"));
    await advance(page, () => page.keyboard.press("1"));
    await page.keyboard.press("ArrowLeft");
    await atStep(page, 1);
    await page.keyboard.press("2");
    await atStep(page, 2, 2);
    const text = () => page.locator(".explanation").innerText();
    const second = await text();
    await page.keyboard.press("[");
    await page.waitForFunction((before) => document.querySelector(".explanation").innerText !== before, second);
    await page.keyboard.press("]");
    await page.waitForFunction((wanted) => document.querySelector(".explanation").innerText === wanted, second);
    await page.keyboard.press("c");
    await page.getByLabel("network of the other branch").waitFor();
    await page.keyboard.press("c");
    await page.getByLabel("network of the other branch").waitFor({ state: "detached" });
  },

  async "keys open and close what lies over the page"(open) {
    const page = await open(BULLY);
    for (const [key, name] of [
      ["?", "Keys"],
      ["s", "Save"],
      ["b", "Break it from here"],
      ["g", "scenarios"],
    ]) {
      await page.keyboard.press(key);
      await page.getByRole("dialog", { name }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog", { name }).waitFor({ state: "detached" });
    }
    await page.keyboard.press("e");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "algorithm and options");
    await page.keyboard.type("x");
    assert.deepEqual(await stepOf(page), { step: 0, end: 0 });
  },

  async "keys change how it looks, and buttons do, too"(open) {
    const page = await open(BULLY, { colorScheme: "light" });
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    const size = () => page.evaluate(() => Number.parseFloat(document.documentElement.style.fontSize));
    assert.equal(await theme(), "light");
    await page.keyboard.press("d");
    assert.equal(await theme(), "dark");
    await page.locator("[data-do=theme]").click();
    assert.equal(await theme(), "light");
    const before = await size();
    await page.keyboard.press("+");
    assert.ok((await size()) > before);
    await page.keyboard.press("-");
    assert.equal(await size(), before);
    await page.locator("[data-do=larger]").click();
    assert.ok((await size()) > before);
    await page.locator("[data-do=smaller]").click();
    assert.equal(await size(), before);
  },

  async "dark or light is as the system has it, while the page is open, too, until somebody chooses"(open) {
    const page = await open(BULLY, { colorScheme: "light" });
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    const becomes = (wanted) =>
      page.waitForFunction((it) => document.documentElement.dataset.theme === it, wanted, { timeout: PATIENCE_MS });
    const system = (colorScheme) => page.emulateMedia({ colorScheme });
    await system("dark");
    await becomes("dark");
    await page.keyboard.press("+"); // the size is kept, and nothing else
    await page.reload();
    await page.locator("svg.network").first().waitFor();
    await system("light");
    await becomes("light");
    await page.keyboard.press("d");
    await becomes("dark");
    await system("dark");
    await system("light");
    await page.reload();
    await page.locator("svg.network").first().waitFor();
    assert.equal(await theme(), "dark", "a choice stays");
    await page.keyboard.press("d");
    await becomes("light");
    await system("dark");
    await becomes("dark"); // what the system has was chosen: it is followed again
    await system("light");
  },

  async "every button of the bar does something"(open) {
    const page = await open(BULLY);
    for (const [button, name] of [
      ["gallery", "scenarios"],
      ["break", "Break it from here"],
      ["save", "Save"],
      ["help", "Keys"],
    ]) {
      await page.locator(`[data-do=${button}]`).click();
      await page.getByRole("dialog", { name }).waitFor();
      await page.getByRole("dialog", { name }).getByRole("button", { name: "close" }).first().click();
      await page.getByRole("dialog", { name }).waitFor({ state: "detached" });
    }
    await page.locator("[data-do=play]").click();
    await page.waitForFunction(() => Number(document.querySelector(".step-number b").innerText) >= 1);
    await page.locator("[data-do=play]").click();
    await page.locator("[data-do=link]").click();
    await page.locator(".notice").waitFor();
  },

  async "a class predicts the next step"(open) {
    const page = await open(BULLY);
    await page.locator("[data-do=predict]").click();
    await page.locator("[data-do=step]").click();
    await page.locator("[data-choice=right]").waitFor();
    assert.deepEqual(await stepOf(page), { step: 0, end: 0 });
    await advance(page, () => page.locator("[data-choice=right]").click());
    await page.locator(".predict").getByText("1 of 1").waitFor();
    await page.keyboard.press("ArrowRight");
    await advance(page, () => page.locator("[data-choice=wrong]").first().click());
    await page.locator(".predict").getByText("1 of 2").waitFor();
    await page.keyboard.press("q");
    await page.locator(".predict").waitFor({ state: "detached" });
    await advance(page, () => page.keyboard.press("ArrowRight"));
  },
};
