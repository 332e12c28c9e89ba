// SPDX-License-Identifier: MIT
/* The site in a browser: site.js DIRECTORY. tests/site.py has built it there. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Site } from "./harness.js";

const LEAST_CONTRAST = 4.5; // what WCAG asks of text

/** How well the text of an element stands out from what is behind it. */
function contrastOf(selector) {
  const channels = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const light = (colour) => {
    const [r, g, b] = colour.map((part) =>
      part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const element = document.querySelector(selector);
  let behind = element;
  while (behind.parentElement && channels(getComputedStyle(behind).backgroundColor)[3] === 0)
    behind = behind.parentElement;
  const ground = channels(getComputedStyle(behind).backgroundColor);
  const [r, g, b, opaque = 1] = channels(getComputedStyle(element).color);
  const ink = [r, g, b].map((part, i) => part * opaque + ground[i] * (1 - opaque));
  const [one, other] = [light(ink), light(ground)];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

const directory = process.argv[2];
const files = readdirSync(directory, { recursive: true }).map((file) => pathToFileURL(join(directory, file)).href);
const address = (page) => pathToFileURL(join(directory, page)).href;
const site = await new Site().start();
try {
  for (const colorScheme of ["light", "dark"]) {
    const page = await site.open("", { address: address("docs/elections/bully.html"), also: files, colorScheme });
    for (const selector of ["h1", ".content p", ".sidebar-brand-text", ".content pre"])
      assert.ok((await page.evaluate(contrastOf, selector)) >= LEAST_CONTRAST, `${colorScheme}: ${selector}`);
    // The switch of the theme goes from what the system has to the other.
    const before = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.locator(".theme-toggle:visible").first().click();
    await page.waitForFunction((was) => getComputedStyle(document.body).backgroundColor !== was, before);
    const explorer = page.frameLocator("iframe.explorer");
    await explorer.locator("[data-do=step]").click();
    await explorer.locator(".step-number", { hasText: "step 1 of 1" }).waitFor();
    // What is at the bottom of the network is not hidden by the buttons.
    const bottoms = await explorer
      .locator(".node .body")
      .evaluateAll((all) => all.map((it) => it.getBoundingClientRect().bottom));
    const top = await explorer.locator(".transport").evaluate((it) => it.getBoundingClientRect().top);
    assert.ok(Math.max(...bottoms) <= top, `${Math.max(...bottoms)} is below ${top}`);
    const complaints = page.complaints.filter(
      (line) => !files.includes(line.replace("request: ", "").split(/[?#]/)[0]),
    );
    assert.deepEqual(complaints, [], colorScheme);
  }
} finally {
  await site.end();
}
process.exit(0);
