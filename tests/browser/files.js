// SPDX-License-Identifier: MIT
/* What is saved, what is opened, and `conclave explore` itself. */
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { advance, atStep, CONCLAVE, conclave, serve, stepOf, stop } from "./harness.js";

const BULLY = "s=bully+--ids+0..4+--crash+4@0+--start+1";
const LARGEST_PAGE = 1500000;

async function saved(page, row, button, path) {
  await page.locator("[data-do=save]").click();
  const download = page.waitForEvent("download");
  await page.locator(".save > div", { hasText: row }).getByRole("button", { name: button }).click();
  await (await download).saveAs(path);
  await page.locator(".notice").waitFor();
  return readFileSync(path);
}

/** Three live nodes, each of which holds a lock once: what they recorded. */
async function record(directory) {
  const records = join(directory, "records");
  const words = ["cluster", "3", "--port", "0", "--dir", join(directory, "cluster"), "--record", records];
  const cluster = spawn(CONCLAVE, words, { stdio: ["ignore", "pipe", "inherit"] });
  let told = "";
  for await (const part of cluster.stdout) {
    told += part;
    if (/ready/.test(told)) break;
  }
  for (const node of [1, 2, 3])
    conclave("lock", "build", "--server", join(directory, "cluster", `node${node}.sock`), "--", "true");
  assert.equal(await stop(cluster), 0);
  return [1, 2, 3].map((node) => join(records, `node${node}.jsonl`));
}

export const files = {
  async "the page is one file of at most 1.5 MB"(_open, site) {
    assert.ok(statSync(site.file).size <= LARGEST_PAGE);
  },

  async "pictures are saved as SVG and PNG"(open, site) {
    const page = await open(BULLY);
    for (let i = 0; i < 4; i++) await advance(page, () => page.locator("[data-do=step]").click());
    for (const what of ["The diagram", "The network as it is now"]) {
      const path = join(site.directory, "picture.svg");
      const svg = (await saved(page, what, "SVG", path)).toString();
      assert.match(svg, /^<svg /);
      assert.doesNotMatch(svg, /var\(--/);
      assert.match(svg, /\.k0 \.shaft,\.k0\.shaft\{[^}]*stroke: (#|rgb)/); // a kind has its colour there, too
      execFileSync("rsvg-convert", [path, "-o", join(site.directory, "drawn.png")]);
      const png = await saved(page, what, "PNG", join(site.directory, "picture.png"));
      assert.equal(png.subarray(1, 4).toString(), "PNG");
    }
  },

  async "a story is saved as a page that plays it"(open, site) {
    const page = await open(BULLY);
    await page.locator("[data-do=end]").click();
    await page.waitForFunction(() => document.querySelector("[data-do=step]").disabled);
    const { end } = await stepOf(page);
    const path = join(site.directory, "story.html");
    await saved(page, "as a page", "HTML", path);
    const story = await open("", { address: pathToFileURL(path).href });
    await story.locator("[data-do=play][aria-pressed=true]").waitFor();
    await story.waitForFunction((last) => document.querySelector(".step-number").innerText.endsWith(`of ${last}`), end);
    await story.waitForFunction(() => Number(document.querySelector(".step-number b").innerText) >= 1);
  },

  async "the exported file is played by conclave sim, and opened again"(open, site) {
    const page = await open(BULLY);
    await page.locator("[data-do=end]").click();
    await page.waitForFunction(() => document.querySelector("[data-do=step]").disabled);
    const { end } = await stepOf(page);
    const path = join(site.directory, "story.replay");
    await saved(page, "For conclave sim", "File", path);
    const run = spawnSync(CONCLAVE, ["sim", "--replay", path, "--json"], { encoding: "utf-8" });
    assert.equal(run.status, 0, run.stderr);
    const total = Number(await page.locator(".counts h2 .number").innerText());
    assert.equal(JSON.parse(run.stdout).messages.total, total);
    const { child, address } = await serve("--replay", path);
    try {
      const again = await open("", { address });
      await again.locator("[data-do=end]").click();
      await again.waitForFunction((last) => Number(document.querySelector(".step-number b").innerText) >= last, end);
      assert.equal(Number(await again.locator(".counts h2 .number").innerText()), total);
    } finally {
      assert.equal(await stop(child), 0);
    }
  },

  async "a counterexample of conclave check is opened"(open, site) {
    const path = join(site.directory, "bully.trace");
    const run = spawnSync(CONCLAVE, ["check", "bully", "-n", "3", "--timeouts", "any", "--trace", path], {
      encoding: "utf-8",
    });
    assert.equal(run.status, 1, run.stderr);
    const page = await open();
    await page.getByLabel("open a replay or trace file").setInputFiles(path);
    await page.locator("svg.network").waitFor();
    await page.locator("[data-do=end]").click();
    await page.locator(".properties li.violated").first().waitFor();
  },

  async "a trace of conclave sim is opened, and its end is the run's"(open, site) {
    const path = join(site.directory, "run.jsonl");
    const graph = join(site.directory, "net.txt");
    writeFileSync(graph, "1 2 3\n2 3 4\n3 1 5\n");
    const words = ["bellman-ford-async", "--graph", graph, "-n", "3", "--delay", "1..9"];
    const run = JSON.parse(conclave("sim", ...words, "--trace", path, "--json"));
    rmSync(graph); // the trace has it
    const page = await open();
    await page.getByLabel("open a replay or trace file").setInputFiles(path);
    await page.locator("svg.network").waitFor();
    assert.equal(await page.locator(".weight").count(), 3);
    await atStep(page, 0);
    await page.locator("[data-do=end]").click();
    await page.waitForFunction(() => document.querySelector("[data-do=end]").disabled);
    assert.equal(Number(await page.locator(".counts h2 .number").innerText()), run.messages.total);
    assert.equal(await page.locator(".error").count(), 0);
    const { child, address } = await serve("--replay", path);
    try {
      const again = await open("", { address });
      await again.locator("svg.network").waitFor();
      assert.deepEqual(await stepOf(again), { step: 0, end: (await stepOf(page)).end });
    } finally {
      assert.equal(await stop(child), 0);
    }
  },

  async "a trace that tells of something else ends where it does"(open, site) {
    const path = join(site.directory, "wrong.jsonl");
    conclave("sim", "bully", "-n", "3", "--trace", path);
    writeFileSync(path, readFileSync(path, "utf-8").replace('"leader":3', '"leader":2'));
    const page = await open();
    await page.getByLabel("open a replay or trace file").setInputFiles(path);
    await page.locator(".error", { hasText: /ends early: line \d+ of the trace, elected at/ }).waitFor();
    assert.ok((await stepOf(page)).end > 0);
  },

  async "the recordings of a live cluster are opened, back and forth, one name after the other"(open, site) {
    const paths = await record(site.directory);
    const page = await open();
    await page.getByLabel("open a replay or trace file").setInputFiles(paths);
    await page.locator(".recorded").waitFor();
    assert.equal(await page.locator(".next").count(), 0);
    assert.match(await page.locator(".recorded").innerText(), /recorded by live nodes.*nothing else can happen/s);
    assert.match(await page.locator("[data-do=name] option:checked").innerText(), /lock build, by central/);
    const { end } = await stepOf(page);
    await page.locator("[data-do=end]").click();
    await atStep(page, end);
    const { width, height } = page.viewportSize();
    await page.setViewportSize({ width: 100 * end + 1000, height }); // what is not in sight is not drawn
    await page.locator(".diagram-picture .inside-line").nth(2).waitFor({ state: "attached" }); // each of the three nodes was inside once
    await page.setViewportSize({ width, height });
    await page.locator("[data-do=back]").click();
    await atStep(page, end - 1);
    await page.locator("[data-do=step]").click();
    await atStep(page, end);
    for (const button of ["break", "link"]) {
      await page.locator(`[data-do=${button}]`).click();
      await page.locator(".notice").waitFor();
    }
    const group = page.locator("[data-do=name] option", { hasText: "group, by bully" });
    await page.locator("[data-do=name]").selectOption(await group.getAttribute("value"));
    await atStep(page, 0);
    await page.locator(".diagram-picture .star").nth(2).waitFor(); // all three learn who leads
    const kept = join(site.directory, "recorded.html");
    await saved(page, "as a page", "HTML", kept);
    const story = await open("", { address: pathToFileURL(kept).href });
    await story.locator(".recorded").waitFor();
    const { child, address } = await serve("--replay", ...paths);
    try {
      const again = await open("", { address });
      await again.locator(".recorded").waitFor();
      assert.deepEqual(await stepOf(again), { step: 0, end });
    } finally {
      assert.equal(await stop(child), 0);
    }
  },

  async "the story in words is saved"(open, site) {
    const page = await open(BULLY);
    await advance(page, () => page.locator("[data-do=step]").click());
    const text = (await saved(page, "in words", "Text", join(site.directory, "story.txt"))).toString();
    assert.match(text, /election/);
  },

  async "conclave explore serves the page with a scenario, and its files"(open, site) {
    const graph = join(site.directory, "graph.txt");
    writeFileSync(graph, "1 2 3\n2 3 4\n3 1 5\n");
    const { child, address } = await serve("bellman-ford-async", "--graph", graph, "-n", "3");
    try {
      const page = await open("", { address });
      await page.locator("svg.network").waitFor();
      assert.equal(await page.locator(".node").count(), 3);
      assert.equal(await page.locator(".weight").count(), 3);
    } finally {
      assert.equal(await stop(child), 0);
    }
  },

  async "an algorithm of one's own is explored by the program that loads it"(open, site) {
    const source = join(process.env.CONCLAVE_SOURCE ?? ".", "examples");
    const object = join(site.directory, "mine.so");
    const [file] = execFileSync("sh", ["-c", `ls ${source}/*.c`], { encoding: "utf-8" })
      .trim()
      .split("\n");
    execFileSync("cc", ["-shared", "-fPIC", "-I", join(source, "../include"), "-o", object, file]);
    const { child, address } = await serve(object, "-n", "4");
    try {
      const page = await open("", { address });
      await page.locator("svg.network").waitFor();
      await advance(page, () => page.locator("[data-do=step]").click());
      page.complaints = page.complaints.filter((line) => !line.includes(`${address}call/`));
    } finally {
      assert.equal(await stop(child), 0);
    }
  },

  async "wrong words are told on the command line"() {
    for (const [words, told] of [
      [["explore", "frobnicate"], /frobnicate: no such algorithm/],
      [["explore", "bully", "--ids", "1,1"], /--ids 1,1/],
      [["explore", "bully", "--json"], /--json: expected/],
      [["explore", "bully", "--port", "0"], /--port 0/],
      [["explore", "bully", "--replay", "x"], /--replay x/],
      [["explore", "--replay", "/nowhere"], /\/nowhere/],
      [["explore", "--write", "/nowhere/x.html"], /\/nowhere\/x.html/],
    ]) {
      const run = spawnSync(CONCLAVE, words, { encoding: "utf-8" });
      assert.equal(run.status, 2, words.join(" "));
      assert.match(run.stderr, told);
      assert.equal(run.stderr.trim().split("\n").length, 1);
      assert.equal(run.stdout, "");
    }
    assert.match(conclave("explore", "--help"), /--write FILE.html/);
  },
};
