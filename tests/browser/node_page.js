// SPDX-License-Identifier: MIT
/* The page of a live node: what it shows of real clients, that it follows by itself, and what happens when it cannot. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { get } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { axeSource, CONCLAVE, PATIENCE_MS } from "./harness.js";

const NASTY = "<img src=x onerror=\"document.title='owned'\">";

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** A node with a page, and commands under its locks; all of them end with it. */
class LiveNode {
  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), "conclave-node-"));
    this.socket = join(this.directory, "s");
    this.children = [];
  }

  async start() {
    this.port ??= await freePort();
    this.address = `http://127.0.0.1:${this.port}/`;
    const words = ["node", "--listen", this.socket, "--http", `127.0.0.1:${this.port}`];
    this.process = spawn(CONCLAVE, words, { stdio: ["ignore", "pipe", "inherit"] });
    await once(this.process.stdout, "data");
    return this;
  }

  lock(...words) {
    const child = spawn(CONCLAVE, ["lock", "--server", this.socket, ...words], { stdio: "ignore" });
    this.children.push(child);
    return child;
  }

  async stop() {
    const ended = once(this.process, "exit");
    this.process.kill("SIGTERM");
    await ended;
  }

  async end() {
    for (const child of this.children) child.kill("SIGTERM");
    if (this.process.exitCode === null) await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

async function withNode(use) {
  const node = await new LiveNode().start();
  try {
    await use(node, (open, more = {}) => open("", { address: node.address, also: [`${node.address}events`], ...more }));
  } finally {
    await node.end();
  }
}

const row = (page, name) => page.locator("#names tr", { has: page.getByText(name, { exact: true }) });

async function until(page, selector, pattern) {
  await page.waitForFunction(
    ([where, words]) => new RegExp(words).test(document.querySelector(where)?.innerText ?? ""),
    [selector, pattern.source],
    { timeout: PATIENCE_MS },
  );
}

async function findings(page) {
  await page.evaluate(axeSource());
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`);
}

export const nodePage = {
  async "a node's page follows who holds and who waits, and a name is never markup"(open) {
    await withNode(async (node, openPage) => {
      const page = await openPage(open);
      await until(page, "#health", /^grants$/);
      await until(page, "#names", /Nobody holds/);
      const holder = node.lock("build", "--", "sleep", "1000");
      await row(page, "build").waitFor();
      node.lock("build", "--", "sleep", "1000");
      node.lock(NASTY, "--", "sleep", "1000");
      await until(
        page,
        "#names",
        /build[\s\S]*@\S+:sleep \(1\/\d+\) · ttl 10 s[\s\S]*@\S+:sleep \(1\/\d+\) · ttl 10 s, for \d/,
      );
      await row(page, NASTY).waitFor();
      assert.equal(await page.locator("#names img, #recent img").count(), 0);
      assert.match(await page.title(), /^node 1 · conclave$/);
      const fence = await row(page, "build").locator("td").nth(3).innerText();
      holder.kill("SIGTERM");
      await page.waitForFunction(
        (old) => document.querySelector("#names [data-key='lock build'] [data-label=fence]").innerText !== old,
        fence,
      );
      await until(page, "#recent", /build ended by|build lost by/);
      await page.getByRole("searchbox").fill("buil");
      assert.equal(await page.locator("#names tr").count(), 1);
      await page.getByRole("searchbox").fill("nothing like it");
      await until(page, "#names", /No name that is shown has these letters/);
    });
  },

  async "a node's page says when the node is gone, and goes on when it is back"(open) {
    await withNode(async (node, openPage) => {
      const page = await openPage(open);
      await until(page, "#link", /^live/);
      await node.stop();
      await until(page, "#link", /^no news for/);
      assert.ok(await page.evaluate(() => document.body.classList.contains("stale")));
      await node.start();
      await until(page, "#link", /^live/);
      page.complaints = page.complaints.filter((line) => !/Failed to load resource|ERR_/.test(line));
    });
  },

  async "of too many pages of a node the oldest stops, and goes on if it is asked to"(open) {
    await withNode(async (node, openPage) => {
      const page = await openPage(open);
      await until(page, "#link", /^live/);
      const others = Array.from({ length: 16 }, () => get(`${node.address}events`, (answer) => answer.resume()));
      for (const other of others) other.on("error", () => {});
      await page.getByRole("button", { name: "Go on here" }).click();
      await page.locator("#full").waitFor({ state: "hidden" });
      await until(page, "#link", /^live/);
      for (const other of others) other.destroy();
    });
  },

  async "a node's page draws the members as the explorer draws nodes"(open) {
    await withNode(async (_node, openPage) => {
      const page = await openPage(open, { bypassCSP: true, reducedMotion: "reduce" });
      await until(page, "#health", /^grants$/);
      assert.ok(await page.locator("#picture").isHidden(), "one member needs no picture");
      // What the node tells, with two more members: a group of three would need a machine that has time for it.
      const members = await openPage(open, { bypassCSP: true, reducedMotion: "reduce" });
      await members.addInitScript(() => {
        const parse = JSON.parse;
        JSON.parse = (text) => {
          const told = parse(text);
          if (told.members)
            told.members.push(
              { ...told.members[0], id: 2, state: window.second ?? "alive" },
              { ...told.members[0], id: 3, state: "alive" },
            );
          return told;
        };
      });
      await members.reload();
      await members.locator("#picture .node.leads .crown").waitFor();
      assert.equal(await members.locator("#picture .node").count(), 3);
      assert.equal(await members.locator("#picture .link").count(), 2);
      assert.match(await members.locator("#picture .node.acted").textContent(), /^1this node$/);
      const colour = (what) =>
        members
          .locator(what)
          .first()
          .evaluate((it) => getComputedStyle(it).stroke);
      assert.notEqual(await colour("#picture .node.leads .body"), await colour("#picture .node:not(.leads) .body"));
      assert.deepEqual(await findings(members), []);
      await members.evaluate(() => {
        window.second = "suspected";
      });
      await members.locator("#picture .node.dead[data-member='2']").waitFor();
      assert.equal(await members.locator("#picture .cut").count(), 1);
      assert.match(await members.locator("#picture").getAttribute("aria-label"), /2 suspected/);
    });
  },

  async "a node's page is for everybody: axe, dark and light, and a phone's width"(open) {
    await withNode(async (node, openPage) => {
      node.lock("build", "--", "sleep", "1000");
      node.lock(`${"long-".repeat(60)}name`, "--", "sleep", "1000");
      const page = await openPage(open, { colorScheme: "light", bypassCSP: true, reducedMotion: "reduce" });
      await row(page, "build").waitFor();
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        await page.locator(`html[data-theme=${colorScheme}]`).waitFor();
        assert.deepEqual(await findings(page), [], colorScheme);
      }
      await page.emulateMedia({ colorScheme: "light" });
      const phone = await openPage(open, { width: 375, height: 667, hasTouch: true, isMobile: true });
      await row(phone, "build").waitFor();
      assert.equal(
        await phone.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
        0,
      );
    });
  },
};
