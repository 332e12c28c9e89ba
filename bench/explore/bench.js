// SPDX-License-Identifier: MIT
/*
 * How long a step of the explorer's page takes, from the key to the picture, in Debian's Chromium.
 *
 * usage: node bench/explore/bench.js [--steps N] [--json]
 */
import { cpus, loadavg } from "node:os";
import { countMessages, pressKeys } from "../../tests/browser/cost.js";
import { atStep, Site, stepOf } from "../../tests/browser/harness.js";

const words = process.argv.slice(2);
const STEPS = words.includes("--steps") ? Number(words[words.indexOf("--steps") + 1]) : 60;
const LINE_STEPS = 2000;
const PATIENCE_MS = 600000;
const descending = Array.from({ length: 100 }, (_, i) => 100 - i).join(",");

const CASES = [
  { name: "bully, all call", n: 16, target: 16, hash: "s=bully+-n+16+--start+all" },
  { name: "ricart-agrawala", n: 16, target: 16, hash: "s=ricart-agrawala+-n+16+--entries+9", long: true },
  {
    name: "chang-roberts, worst ring",
    n: 100,
    target: 100,
    hash: `s=chang-roberts+--ids+${descending}+--start+all`,
    long: true,
  },
  { name: "ricart-agrawala, all want in", n: 100, target: 100, hash: "s=ricart-agrawala+-n+100", long: true },
];

/** CPU milliseconds of the processes that draw and compute, so far. */
async function cpuOf(session) {
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const of = (type) => processInfo.filter((it) => it.type === type).reduce((sum, it) => sum + it.cpuTime * 1000, 0);
  return { renderer: of("renderer"), all: processInfo.reduce((sum, it) => sum + it.cpuTime * 1000, 0) };
}

async function metricsOf(page) {
  const { metrics } = await page.cdp.send("Performance.getMetrics");
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value * 1000]));
}

/** Where measuring begins: at the start, or at the 2,000th step of a story that goes on. */
async function goThere(page, { long }) {
  if (!long) return;
  await page.locator("[data-do=end]").click();
  await page.waitForFunction(
    (least) => Number(/of (\d+)/.exec(document.querySelector(".step-number").textContent)[1]) >= least,
    LINE_STEPS,
    {
      timeout: PATIENCE_MS,
    },
  );
  await page.locator("[data-do=slider]").fill(String(LINE_STEPS));
  await atStep(page, LINE_STEPS);
}

/** Another event than the one that was taken from here: what follows is new to the engine and to the page. */
async function branchOff(page) {
  const { step } = await stepOf(page);
  await page.keyboard.press("2");
  await atStep(page, step + 1);
}

async function measure(site, session, it) {
  const page = await site.open(it.hash, { before: countMessages });
  page.cdp = await page.context().newCDPSession(page);
  await page.cdp.send("Performance.enable");
  await goThere(page, it);
  const { end } = await stepOf(page);
  const rows = [];
  for (const [what, key, prepare] of [
    ["new step", "ArrowRight", it.long ? branchOff : null],
    ["back", "ArrowLeft"],
    ["forward", "ArrowRight"],
  ]) {
    await prepare?.(page);
    const [before, cpuBefore] = [await metricsOf(page), await cpuOf(session)];
    const row = await pressKeys(page, key, STEPS);
    const [after, cpuAfter] = [await metricsOf(page), await cpuOf(session)];
    const each = (name) => (after[name] - before[name]) / STEPS;
    rows.push({
      ...it,
      what,
      end,
      ...row,
      script: each("ScriptDuration"),
      layout: each("LayoutDuration") + each("RecalcStyleDuration"),
      task: each("TaskDuration"),
      renderer: (cpuAfter.renderer - cpuBefore.renderer) / STEPS,
      elements: await page.locator("main *").count(),
    });
  }
  await page.context().close();
  return rows;
}

const cells = ({
  name,
  n,
  end,
  what,
  work,
  frame,
  empty,
  target,
  renderer,
  script,
  layout,
  messages,
  characters,
  changes,
  elements,
}) => [
  name.padEnd(28),
  String(n).padStart(4),
  String(end).padStart(6),
  what.padEnd(8),
  ...[work, frame, empty].map((ms) => ms.toFixed(1).padStart(7)),
  String(target).padStart(6),
  ...[renderer, script, layout].map((ms) => ms.toFixed(1).padStart(8)),
  ...[messages, (characters / 1000).toFixed(1), changes, elements].map((it) => String(it).padStart(8)),
];

const site = await new Site().start();
const load = loadavg()[0].toFixed(1);
try {
  const session = await site.browser.newBrowserCDPSession();
  const rows = [];
  for (const it of CASES) rows.push(...(await measure(site, session, it)));
  if (words.includes("--json")) console.log(JSON.stringify(rows));
  else {
    console.log(
      `${cpus()[0].model}, ${cpus().length} cores, load ${load} before and ${loadavg()[0].toFixed(1)} after; medians of ${STEPS} steps, milliseconds`,
    );
    console.log(
      `\n${"algorithm".padEnd(28)}    n  steps step        work  in frame empty  target  CPU    script  layout  messages  kB   changes elements`,
    );
    for (const row of rows) console.log(cells(row).join(" "));
    if (loadavg()[0] > cpus().length / 2)
      console.log("the machine was busy with something else: compare the CPU columns, not work and frame");
  }
} finally {
  await site.end();
}
