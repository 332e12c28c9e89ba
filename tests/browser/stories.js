// SPDX-License-Identifier: MIT
/* Links, the gallery, and the search for what breaks it. */
import assert from "node:assert/strict";
import { atStep, PATIENCE_MS, stepOf } from "./harness.js";

const LONGEST_LINK = 2000;

/** What can be seen of a state: who is what, what is under way, what has been counted. */
async function seen(page) {
  return page.evaluate(() => [
    document.querySelector(".explanation").innerText,
    [...document.querySelectorAll(".node")].map((node) => node.getAttribute("aria-label")),
    [...document.querySelectorAll(".message")].map((message) => message.getAttribute("aria-label")),
    document.querySelector(".counts").innerText,
  ]);
}

async function linkOf(page) {
  await page.keyboard.press("l");
  await page.locator(".notice").waitFor();
  return page.evaluate(() => location.hash.slice(1));
}

/** Every story of the gallery: its words. */
async function galleryWords(page) {
  await page.locator(".story").first().waitFor();
  return page.evaluate(() => [
    ...new Set([...document.querySelectorAll(".story")].map((story) => story.dataset.words)),
  ]);
}

/** Opens a story and takes its first three steps, all in the page: there are many of them. Null, or what went wrong. */
function tryStory(page, words) {
  return page.evaluate(
    async ([line, patience]) => {
      const until = async (true_) => {
        for (const began = performance.now(); !true_(); await new Promise((resolve) => setTimeout(resolve, 2)))
          if (performance.now() - began > patience) return false;
        return true;
      };
      const step = () => Number(document.querySelector(".step-number b")?.textContent ?? -1);
      const error = () => document.querySelector(".error")?.textContent ?? null;
      const button = () => document.querySelector("[data-do=step]");
      location.hash = `s=${encodeURIComponent(line)}`;
      if (!(await until(() => document.querySelector(".words input").value === line || error())))
        return `it does not open: ${document.querySelector(".words input").value}`;
      if (!(await until(() => step() === 0 || error()))) return `it does not begin: ${step()}`;
      for (let i = 1; i <= 3 && !button().disabled; i++) {
        button().click();
        if (!(await until(() => step() === i || error()))) return `no step ${i}`;
      }
      return error();
    },
    [words, PATIENCE_MS],
  );
}

export const stories = {
  async "a link holds the whole story"(open) {
    const page = await open("s=bully+--ids+0..4+--start+1");
    for (const key of ["1", "2", "1", "3", "1", "2"]) {
      const { step } = await stepOf(page);
      await page.keyboard.press(key);
      await page.waitForTimeout(0);
      await page.waitForFunction(
        ([before]) =>
          Number(document.querySelector(".step-number b").innerText) > before ||
          document.querySelectorAll(".likely .event").length < 3,
        [step],
      );
    }
    const { step } = await stepOf(page);
    const link = await linkOf(page);
    const other = await open(link);
    await atStep(other, step);
    assert.deepEqual(await seen(other), await seen(page));
  },

  async "a story of 200 steps fits into a link of 2,000 characters"(open) {
    const page = await open("s=ricart-agrawala+-n+6+--entries+5");
    await page.locator("[data-do=end]").click();
    await page.waitForFunction(() => document.querySelector("[data-do=step]").disabled, null, { timeout: PATIENCE_MS });
    const { end } = await stepOf(page);
    assert.ok(end >= 200, `${end} steps`);
    await page.locator("[data-do=slider]").fill("200");
    await atStep(page, 200);
    const link = await linkOf(page);
    assert.ok(link.length <= LONGEST_LINK, `${link.length} characters`);
    const other = await open(link);
    await atStep(other, 200);
    assert.deepEqual(await seen(other), await seen(page));
  },

  async "a link that cannot be read says so, and the page goes on"(open) {
    const page = await open();
    await page.evaluate(() => {
      location.hash = "s=bully&i=A~";
    });
    await page.locator(".error button").click(); // it lies over the stories
    const file = { name: "a.out", mimeType: "application/octet-stream", buffer: Buffer.from([127, 69, 76, 70, 0, 1]) };
    await page.locator("input[type=file]").setInputFiles(file);
    await page.locator(".error", { hasText: "This file is no text" }).getByRole("button").click();
    await page.evaluate(() => {
      location.hash = "s=bully+-n+3&i=Anf";
    });
    await page.locator("svg.network").waitFor();
    assert.match(await page.locator(".error").innerText(), /step 2|index/);
  },

  async "every story of the gallery opens and takes its first steps"(open) {
    const page = await open();
    const all = await galleryWords(page);
    assert.ok(all.length > 60, `${all.length} stories`);
    for (const words of all) assert.equal(await tryStory(page, words), null, words);
  },

  async "a story of the gallery is one click"(open) {
    const page = await open();
    await page
      .getByRole("button", { name: /Split brain/ })
      .first()
      .click();
    await page.locator("svg.network").waitFor();
    await page.locator("[data-do=end]").click();
    await page.locator(".verdict-line", { hasText: "split brain" }).waitFor();
    assert.ok((await page.locator(".properties li.violated").count()) > 0);
    await page.keyboard.press("v");
    await page.locator(".column.violated.here").waitFor();
  },

  async "the gallery can be searched"(open) {
    const page = await open();
    await page.getByLabel("search the scenarios").fill("maekawa");
    await page.waitForFunction(() =>
      [...document.querySelectorAll(".story")].every((story) => /maekawa/i.test(story.innerText)),
    );
    assert.ok((await page.locator(".story").count()) > 2);
  },

  async "it can be broken from here: two leaders by an early timeout"(open) {
    const page = await open("s=bully+-n+3");
    await page.locator("[data-do=break]").click();
    await page.locator(".field select").selectOption({ label: "There are two leaders" });
    await page.locator("[data-do=search]").click();
    await page.locator(".search-state.found").first().waitFor();
    await page.keyboard.press("Escape");
    assert.match(await page.locator(".verdict-line").innerText(), /split brain/);
    const { step } = await stepOf(page);
    assert.ok(step > 1);
    await page.keyboard.press("Home");
    await atStep(page, 0, step);
  },

  async "a search says that nothing breaks it"(open) {
    const page = await open("s=chang-roberts+-n+3");
    await page.locator("[data-do=break]").click();
    await page.locator("[data-do=search]").click();
    await page.locator(".search-state", { hasText: "No: none of" }).first().waitFor();
  },

  async "a long search can be stopped, and the page is alive meanwhile"(open) {
    const page = await open("s=bully+-n+6");
    await page.locator("[data-do=break]").click();
    await page.locator(".field select").selectOption({ label: "everyone-learns is violated" });
    await page.locator("[data-limit=crashes]").fill("1");
    await page.locator("[data-do=search]").click();
    await page.locator("[data-do=stop-search]").waitFor();
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    await page.locator("[data-do=stop-search]").click();
    await page
      .locator(".search-state", { hasText: /Not found|Found/ })
      .first()
      .waitFor();
  },
};
