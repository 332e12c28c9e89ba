// SPDX-License-Identifier: MIT
/* Why a step did what it did: the handler, its cause and its pseudo-code, for every kind of event and every algorithm. */
import assert from "node:assert/strict";
import { advance } from "./harness.js";

const card = (page) => page.locator(".why-card");

async function take(page, type) {
  const others = page.locator(`[data-others=${type}] summary`);
  if (await others.count()) await others.first().click();
  await advance(page, () => page.locator(`[data-event=${type}]`).first().click());
  return card(page).innerText();
}

export const why = {
  async "the handler of a step is told, with its cause and its pseudo-code"(open) {
    const page = await open("s=bully+--ids+0..4+--start+1");
    await advance(page, () => page.locator("[data-do=step]").click());
    await page.locator("[data-do=why]").click();
    await card(page).waitFor();
    assert.match(await card(page).innerText(), /At 1, start runs: it was asked to begin/);
    assert.match(await card(page).innerText(), /changes mode to electing/);
    await advance(page, () => page.locator("[data-do=step]").click());
    assert.match(await card(page).innerText(), /on_election runs: election.* has arrived from 1/);
    assert.match(await card(page).locator(".did").first().innerText(), /send OK to sender/);
    const lines = await card(page).locator(".code[open]").first().locator(".line").all();
    const tops = await Promise.all(lines.map(async (line) => (await line.boundingBox()).y));
    assert.ok(tops.length > 5 && tops.every((top, i) => i === 0 || top > tops[i - 1]), "one line below the other");
    await page.keyboard.press("h");
    await card(page).waitFor({ state: "detached" });
  },

  async "every kind of event is explained"(open) {
    const page = await open("s=bully+--ids+0..4+--start+1");
    await page.keyboard.press("h");
    assert.match(await card(page).innerText(), /No step has been taken/);
    const told = {
      start: /start runs: it was asked/,
      deliver: /has arrived from/,
      drop: /loses a message/,
      duplicate: /a second time/,
      timeout: /timeout runs: its timer “.+” has run out/,
      suspect: /suspect runs: the failure detector takes \d for dead/,
      cut: /A link is cut/,
      heal: /works again/,
      crash: /A crash asks nobody/,
      tell: /suspect runs: the failure detector reports that \d is gone/,
      recover: /has forgotten everything/,
      miss: /does not see it/,
    };
    for (const [type, expected] of Object.entries(told)) assert.match(await take(page, type), expected, type);
    const air = await open("s=wireless+-n+3");
    await air.keyboard.press("h");
    for (const type of ["start", "crash", "tell", "recover"]) await take(air, type);
    assert.match(await take(air, "trust"), /trust runs: the failure detector reports that \d is back/);
    const locked = await open("s=central+--ids+0..3+--request+1@0");
    await locked.keyboard.press("h");
    assert.match(await take(locked, "request"), /request runs: its program wants to enter/);
    while (!(await locked.locator(".node.within").count()))
      await advance(locked, () => locked.locator("[data-do=step]").click());
    assert.match(await take(locked, "leave"), /release runs: its program has left/);
  },

  async "every algorithm has pseudo-code for the steps of its own"(open) {
    const page = await open("s=bully+-n+3");
    const names = await page.evaluate(() =>
      Object.keys(JSON.parse(document.getElementById("gallery").textContent).code),
    );
    await page.keyboard.press("h");
    for (const name of names.filter((it) => it !== "lockstep")) {
      await page.locator(".words input").fill(`${name} -n 4`);
      await page.locator(".words input").press("Enter");
      await page.waitForFunction((it) => document.querySelector(".words input").value.startsWith(`${it} `), name);
      await page.waitForFunction(() => document.querySelector(".step-number")?.innerText.includes("step 0"));
      for (let i = 0; i < 3; i++) await advance(page, () => page.locator("[data-do=step]").click());
      await card(page).locator(".code .line").first().waitFor();
    }
  },
};
