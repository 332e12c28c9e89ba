// SPDX-License-Identifier: MIT
/*
 * The explorer's page in Debian's firefox-esr, from a file. `make test` does not install it, so this runs by hand: `make
 * firefox`; FIREFOX names another program. Firefox is driven by its own protocol, Marionette, over a socket on loopback:
 * no package is needed.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const SOURCE = process.env.CONCLAVE_SOURCE ?? new URL("../..", import.meta.url).pathname;
const CONCLAVE = process.env.CONCLAVE ?? join(SOURCE, "build/conclave");
const FIREFOX = process.env.FIREFOX ?? ["/usr/bin/firefox-esr", "/usr/bin/firefox"].find((path) => existsSync(path));
const PATIENCE_MS = 120000;
const SKIPPED = 77;

// ---- Marionette ----

/** Messages are `LENGTH:JSON`; a command is [0, id, name, words], its answer [1, id, error, result]. */
class Marionette {
  constructor(socket) {
    this.socket = socket;
    this.rest = Buffer.alloc(0);
    this.waiting = new Map();
    this.last = 0;
    socket.on("data", (data) => this.hear(data));
    socket.on("close", () => {
      for (const { reject } of this.waiting.values()) reject(new Error("Firefox has ended"));
    });
  }

  hear(data) {
    this.rest = Buffer.concat([this.rest, data]);
    for (;;) {
      const colon = this.rest.indexOf(":");
      const length = Number(this.rest.subarray(0, Math.max(colon, 0)).toString());
      if (colon < 0 || this.rest.length < colon + 1 + length) return;
      const message = JSON.parse(this.rest.subarray(colon + 1, colon + 1 + length).toString());
      this.rest = this.rest.subarray(colon + 1 + length);
      if (!Array.isArray(message)) continue; // the greeting
      const [, id, error, result] = message;
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      if (error) reject(new Error(`${error.error}: ${error.message}`));
      else resolve(result);
    }
  }

  send(name, words = {}) {
    const id = ++this.last;
    const text = Buffer.from(JSON.stringify([0, id, name, words]));
    this.socket.write(Buffer.concat([Buffer.from(`${text.length}:`), text]));
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
    });
  }

  /** What the function gives in the page; it gets the words. */
  async run(work, ...words) {
    const script = `const words = [...arguments]; const tell = words.pop();
      (${work})(...words).then((value) => tell({ value }), (error) => tell({ error: String(error) }));`;
    const { value } = await this.send("WebDriver:ExecuteAsyncScript", { script, args: words, sandbox: null });
    if (value.error) throw new Error(value.error);
    return value.value;
  }
}

async function until(what, find) {
  for (
    const began = Date.now();
    Date.now() - began < PATIENCE_MS;
    await new Promise((resolve) => setTimeout(resolve, 50))
  ) {
    const found = await find();
    if (found) return found;
  }
  throw new Error(`${what}: not within ${PATIENCE_MS / 1000} s`);
}

/** A proxy that serves nothing: `asked` is what anybody but Firefox itself wanted. */
async function listen() {
  const asked = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (data) => {
      const [line] = data.toString("latin1").split("\r\n");
      if (!/mozilla|firefox/.test(line)) asked.push(line);
      socket.destroy();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, asked };
}

async function startFirefox(directory, proxy) {
  const profile = mkdtempSync(join(directory, "profile-"));
  const preferences = {
    "marionette.port": 0,
    "datareporting.policy.dataSubmissionEnabled": false,
    "media.gmp-provider.enabled": false, // its codecs
    "media.gmp-manager.updateEnabled": false,
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": proxy,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": proxy,
    "network.proxy.allow_hijacking_localhost": true,
  };
  const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`);
  writeFileSync(join(profile, "user.js"), lines.join(""));
  const words = ["--headless", "--no-remote", "--marionette", "--remote-allow-system-access", "--profile", profile];
  const child = spawn(FIREFOX, words, { stdio: "ignore", env: { ...process.env, HOME: directory } });
  const file = join(profile, "MarionetteActivePort");
  const port = await until("Firefox's port", () => existsSync(file) && Number(readFileSync(file, "utf-8")));
  const socket = connect(port, "127.0.0.1");
  const marionette = new Marionette(socket);
  await marionette.send("WebDriver:NewSession", { capabilities: {} });
  await marionette.send("WebDriver:SetTimeouts", { script: PATIENCE_MS });
  return { child, marionette };
}

/** What Firefox has noted as an error of our page. */
async function complaints(marionette) {
  await marionette.send("Marionette:SetContext", { value: "chrome" });
  const { value } = await marionette.send("WebDriver:ExecuteScript", {
    script: `return Services.console.getMessageArray()
      .filter((it) => it instanceof Ci.nsIScriptError && !(it.flags & Ci.nsIScriptError.warningFlag) && /explore\\.html|^blob:/.test(it.sourceName))
      .map((it) => it.errorMessage + " at " + it.sourceName.slice(-40) + ":" + it.lineNumber);`,
    args: [],
  });
  await marionette.send("Marionette:SetContext", { value: "content" });
  return value;
}

// ---- in the page ----

/** Helpers for the functions that run in the page. */
const HELPERS = async () => {
  const wait = async (what, find) => {
    for (const began = performance.now(); performance.now() - began < 60000; ) {
      const found = find();
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`${what}: it does not come`);
  };
  const step = () => Number(document.querySelector(".step-number b")?.textContent ?? -1);
  const key = (name) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
  window.tried = {
    wait,
    step,
    key,
    open: async (line) => {
      location.hash = `s=${encodeURIComponent(line)}`;
      await wait(
        line,
        () => document.querySelector(".words input")?.value === line || document.querySelector(".error"),
      );
      if (document.querySelector(".error")) throw new Error(`${line}: ${document.querySelector(".error").textContent}`);
      await wait(line, () => step() === 0);
    },
    forward: async () => {
      const before = step();
      key("ArrowRight");
      await wait("a step", () => step() === before + 1);
    },
    seen: () =>
      [".explanation", ".counts", ".verdict-line"].map((name) => document.querySelector(name)?.textContent).join("|") +
      [...document.querySelectorAll(".node, .message")].map((it) => it.getAttribute("aria-label")).join(),
  };
};

const tests = {
  async "it opens with the gallery"({ marionette }) {
    await marionette.run(async () => {
      await window.tried.wait("the gallery", () => document.querySelectorAll(".story").length > 60);
    });
  },

  async "it steps, and goes back to the same"({ marionette }) {
    const [there, again, end] = await marionette.run(async () => {
      const { open, forward, key, seen, step, wait } = window.tried;
      await open("bully --ids 0..4 --start 1");
      const there = [seen()];
      for (let i = 0; i < 6; i++) {
        await forward();
        there.push(seen());
      }
      const again = [];
      for (let i = 6; i >= 0; i--) {
        await wait(`step ${i}`, () => step() === i);
        again.unshift(seen());
        key("ArrowLeft");
      }
      key("End");
      await wait("the end of the branch", () => step() === 6);
      key("End");
      await wait("the end", () => document.querySelector("[data-do=step]").disabled);
      return [there, again, document.querySelector(".verdict-line").textContent];
    });
    assert.deepEqual(again, there);
    assert.match(end, /4 leads/);
  },

  async "it is broken from here"({ marionette }) {
    const verdict = await marionette.run(async () => {
      const { open, wait } = window.tried;
      await open("bully -n 3");
      document.querySelector("[data-do=break]").click();
      const select = await wait("the question", () => document.querySelector(".field select"));
      const option = [...select.options].find(({ label }) => /two leaders/.test(label));
      select.value = option.value;
      select.dispatchEvent(new Event("input", { bubbles: true }));
      select.dispatchEvent(new Event("change", { bubbles: true }));
      await new Promise((resolve) => setTimeout(resolve, 0));
      document.querySelector("[data-do=search]").click();
      await wait("what was found", () => document.querySelector(".search-state.found"));
      return (
        await wait(
          "the end of it",
          () =>
            /split brain/.test(document.querySelector(".verdict-line").textContent) &&
            document.querySelector(".verdict-line"),
        )
      ).textContent;
    });
    assert.match(verdict, /split brain/);
  },

  async "a link holds the whole story"({ marionette, address }) {
    const [hash, there, step] = await marionette.run(async () => {
      const { open, forward, key, seen, step, wait } = window.tried;
      await open("ricart-agrawala -n 4 --entries 2");
      for (let i = 0; i < 12; i++) await forward();
      key("l");
      await wait("a word about the link", () => document.querySelector(".notice"));
      return [location.hash, seen(), step()];
    });
    await marionette.send("WebDriver:Navigate", { url: "about:blank" });
    await marionette.send("WebDriver:Navigate", { url: address + hash });
    await marionette.run(HELPERS);
    const again = await marionette.run(async (wanted) => {
      await window.tried.wait("the story of the link", () => window.tried.step() === wanted);
      return window.tried.seen();
    }, step);
    assert.equal(again, there);
  },

  async "every built-in algorithm opens and takes steps"({ marionette }) {
    const algorithms = JSON.parse(execFileSync(CONCLAVE, ["list", "--json"], { encoding: "utf-8" }));
    const names = (algorithms.algorithms ?? algorithms).map(({ name }) => name);
    assert.ok(names.length > 20);
    for (const name of names)
      await marionette.run(async (line) => {
        await window.tried.open(line);
        for (let i = 0; i < 3 && !document.querySelector("[data-do=step]").disabled; i++) await window.tried.forward();
      }, `${name} -n 4`);
  },
};

async function main() {
  if (!FIREFOX) {
    console.log("skipped: no firefox-esr; apt-get install firefox-esr gets it");
    return SKIPPED;
  }
  const directory = mkdtempSync(join(tmpdir(), "conclave-firefox-"));
  const file = join(directory, "explore.html");
  execFileSync(CONCLAVE, ["explore", "--write", file]);
  const address = pathToFileURL(file).href;
  const { server, asked } = await listen();
  const { child, marionette } = await startFirefox(directory, server.address().port);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let failed = 0;
  try {
    await marionette.send("WebDriver:Navigate", { url: address });
    await marionette.run(HELPERS);
    for (const [name, test] of Object.entries(tests)) {
      const began = performance.now();
      try {
        await test({ marionette, address });
        console.log(`ok     ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
      } catch (error) {
        failed++;
        console.log(`FAILED ${name}\n       ${error.stack}`);
      }
    }
    const found = [...(await complaints(marionette)), ...[...new Set(asked)].map((line) => `it asks for ${line}`)];
    if (found.length) {
      failed++;
      console.log(`FAILED the page complains: ${found.join("; ")}`);
    }
    await marionette.send("Marionette:Quit", { flags: ["eForceQuit"] }).catch(() => {});
  } finally {
    const late = setTimeout(() => child.kill("SIGKILL"), 10000);
    await ended;
    clearTimeout(late);
    server.close();
    rmSync(directory, { recursive: true, force: true });
  }
  return failed ? 1 : 0;
}

process.exit(await main());
