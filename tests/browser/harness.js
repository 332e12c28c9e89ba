// SPDX-License-Identifier: MIT
/*
 * Drives the explorer's page in Debian's Chromium. A test is a function that gets a page; it waits for conditions, not
 * for times. What the page writes to its console as an error fails the test, and so does a request to anywhere.
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const SOURCE = process.env.CONCLAVE_SOURCE ?? new URL("../..", import.meta.url).pathname;
const require = createRequire(join(SOURCE, "web/package.json"));
export const CONCLAVE = process.env.CONCLAVE ?? join(SOURCE, "build/conclave");
export const PATIENCE_MS = 30000;
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export function axeSource() {
  return require("axe-core").source;
}

export function conclave(...words) {
  return execFileSync(CONCLAVE, words, { encoding: "utf-8", maxBuffer: 1 << 26 });
}

/** `conclave explore`, serving: {address, child}. End it with stop(). */
export async function serve(...words) {
  const child = spawn(CONCLAVE, ["explore", "--no-open", ...words], { stdio: ["ignore", "pipe", "inherit"] });
  let told = "";
  for await (const part of child.stdout) {
    told += part;
    const address = /http:\S+/.exec(told)?.[0];
    if (address) return { child, address };
  }
  throw new Error(`conclave explore ended: ${told}`);
}

export async function stop(child) {
  const ended = new Promise((resolve) => child.once("exit", (code) => resolve(code)));
  child.kill("SIGINT");
  return ended;
}

export class Site {
  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), "conclave-page-"));
    this.file = join(this.directory, "explore.html");
    conclave("explore", "--write", this.file);
    this.address = pathToFileURL(this.file).href;
    this.idle = new Map(); // pages that nobody uses, by what they were made with
  }

  async start() {
    const { chromium } = require("playwright-core");
    const executablePath = CHROMIUM.find((path) => existsSync(path));
    if (!executablePath) throw new Error("expected Debian's chromium");
    this.browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
    return this;
  }

  async makePage({ before, ...options }) {
    const context = await this.browser.newContext({ acceptDownloads: true, reducedMotion: "reduce", ...options });
    const page = await context.newPage();
    if (before) await page.addInitScript(before);
    page.setDefaultTimeout(PATIENCE_MS);
    page.on("pageerror", (error) => page.complaints.push(String(error)));
    page.on("console", (line) => line.type() === "error" && page.complaints.push(line.text()));
    page.on("request", (request) => {
      const url = request.url();
      if (!/^(blob|data|about):/.test(url) && !page.allowed.includes(url.split("#")[0]))
        page.complaints.push(`request: ${url}`);
    });
    return page;
  }

  /**
   * A page that begins with that story; its complaints are kept. `also`: what else it may ask for; `before`: what runs in
   * it before its own scripts. One that a test has left is loaded anew: that is four times as cheap as a new one.
   */
  async open(hash = "", { width = 1280, height = 900, address = this.address, also = [], ...more } = {}) {
    const options = { viewport: { width, height }, ...more };
    const made = JSON.stringify({ ...options, before: more.before?.name });
    const page = this.idle.get(made)?.pop() ?? (await this.makePage(options));
    page.made = made;
    page.complaints = [];
    page.allowed = [address, ...also];
    await page.setViewportSize(options.viewport); // another test may have changed it
    await page.goto(address + (hash && `#${hash}`));
    if (hash) await page.locator("svg.network").first().waitFor();
    return page;
  }

  /** The page is for another test, without anything that it would remember. */
  async leave(page) {
    await page.evaluate(() => localStorage.clear());
    await page.goto("about:blank");
    this.idle.set(page.made, [...(this.idle.get(page.made) ?? []), page]);
  }

  async end() {
    await this.browser?.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** The step at which the page is, and of how many. */
export async function stepOf(page) {
  const text = await page.locator(".step-number").innerText();
  const [, step, end] = /step (\d+) of (\d+)/.exec(text);
  return { step: Number(step), end: Number(end) };
}

/** Waits until the page is at that step. */
export async function atStep(page, step, end) {
  await page.waitForFunction(
    ([wanted, last]) => {
      const [, now, of] = /step (\d+) of (\d+)/.exec(document.querySelector(".step-number")?.innerText ?? "") ?? [];
      return Number(now) === wanted && (last == null || Number(of) === last);
    },
    [step, end ?? null],
    { timeout: PATIENCE_MS },
  );
}

/** Does something that takes a step, and waits for it. */
export async function advance(page, act) {
  const { step } = await stepOf(page);
  await act();
  await atStep(page, step + 1);
}
