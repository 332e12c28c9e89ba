// SPDX-License-Identifier: MIT
/* What breaks an algorithm: one click breaks an assumption, and the page shows what is violated. */
import assert from "node:assert/strict";
import { atStep, stepOf } from "./harness.js";

async function words(page, line) {
  await page.locator(".words input").fill(line);
  await page.locator(".words input").press("Enter");
  await page.waitForFunction((it) => document.querySelector(".words input").value === it, line);
  await page.locator(".idea .breakers, .idea .citation").first().waitFor();
}

/** The verdict on one way: true if something is violated. */
async function broken(page, button) {
  await button.click();
  await page.locator(".broken").waitFor({ timeout: 60000 });
  return (await page.locator(".broken .bad").count()) > 0;
}

/** Keeps in window.steps the steps at which the page is; one that plays may be quicker than a question. */
function noteSteps() {
  const number = document.querySelector(".step-number");
  window.steps = [];
  new MutationObserver(() => window.steps.push(Number(number.querySelector("b").textContent))).observe(number, {
    subtree: true,
    characterData: true,
    childList: true,
  });
}

export const breaks = {
  async "one click shows what overtaking messages do to Lamport's lock, and it can be watched"(open) {
    const page = await open("s=lamport+-n+4");
    assert.ok(await broken(page, page.locator(".idea [data-break='messages overtake each other']")));
    assert.match(await page.locator(".broken").innerText(), /Without “FIFO links”/);
    assert.match(await page.locator(".broken").innerText(), /⚑ fences-rise: \d entered at \d+ with fence \d, after \d/);
    const { step } = await stepOf(page);
    await page.evaluate(noteSteps);
    await page.locator("[data-do=watch]").click();
    await page.waitForFunction((end) => window.steps.includes(1) && window.steps.at(-1) === end, step);
    await page.locator("[data-do=play][aria-pressed=false]").waitFor();
    await atStep(page, step, step);
  },

  async "every algorithm that assumes something has a way to break it, one click each"(open) {
    const page = await open("s=bully+-n+3");
    const names = await page.evaluate(() =>
      Object.keys(JSON.parse(document.getElementById("gallery").textContent).code),
    );
    const safe = [];
    for (const name of names) {
      if (name === "lockstep") continue; // it is the network itself
      await words(page, `${name} -n 4`);
      await page.locator(`.idea .breakers button[title^="${name} "]`).first().waitFor(); // not those of the one before
      let found = false;
      for (let i = 0; !found && i < (await page.locator(".idea .breakers button").count()); i++) {
        found = await broken(page, page.locator(".idea .breakers button").nth(i));
        if (!found) await words(page, `${name} -n 4`);
      }
      if (!found) safe.push(name);
    }
    assert.deepEqual(safe, []);
  },

  async "an assumption that may be broken without harm says so"(open) {
    const page = await open("s=chang-roberts+-n+4");
    const buttons = page.locator(".idea [data-break='a message comes twice']");
    assert.equal(await broken(page, buttons), false);
    assert.match(await page.locator(".broken").innerText(), /It takes more than that/);
  },

  async "the scenarios of the texts that end with a violation are one click away"(open) {
    const page = await open("s=token-ring+-n+4");
    assert.ok(await broken(page, page.locator(".idea [data-told]").first()));
  },

  async "what breaks it stands in the sheet of Break it, too"(open) {
    const page = await open("s=bully+-n+3");
    await page.locator("[data-do=break]").click();
    const way = page.locator(".sheet [data-break='a message takes longer than D']");
    assert.ok(await broken(page, way));
    assert.match(await page.locator(".verdict-line").innerText(), /split brain/);
  },
};
