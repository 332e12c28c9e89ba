// SPDX-License-Identifier: MIT
/* Runs the tests of the page: run.js [--part I/N] [NAME...]. With SCREENSHOTS=DIR it keeps a picture of each page at its end. */
import { join } from "node:path";
import { access } from "./access.js";
import { beside } from "./beside.js";
import { breaks } from "./breaks.js";
import { files } from "./files.js";
import { Site } from "./harness.js";
import { keys } from "./keys.js";
import { long } from "./long.js";
import { modules } from "./modules.js";
import { nodePage } from "./node_page.js";
import { speed } from "./speed.js";
import { steps } from "./steps.js";
import { stories } from "./stories.js";
import { structure } from "./structure.js";
import { walk } from "./walk.js";
import { ways } from "./ways.js";
import { why } from "./why.js";

const tests = {
  ...modules,
  ...steps,
  ...keys,
  ...stories,
  ...files,
  ...access,
  ...speed,
  ...long,
  ...nodePage,
  ...structure,
  ...beside,
  ...why,
  ...breaks,
  ...walk,
  ...ways,
};
const words = process.argv.slice(2);
const [part, parts] = words[0] === "--part" ? words.splice(0, 2)[1].split("/").map(Number) : [1, 1];
const wanted = words;
const site = await new Site().start();
let failed = 0;
try {
  for (const [i, [name, test]] of Object.entries(tests).entries()) {
    if (i % parts !== part - 1) continue;
    if (wanted.length && !wanted.some((word) => name.includes(word))) continue;
    const began = performance.now();
    const pages = [];
    const open = async (...words) => {
      pages.push(await site.open(...words));
      return pages[pages.length - 1];
    };
    let trouble = null;
    try {
      await test(open, site);
      for (const page of pages)
        if (page.complaints.length) throw new Error(`the page complains: ${page.complaints.join("; ")}`);
    } catch (error) {
      trouble = error;
      failed++;
    }
    if (process.env.SCREENSHOTS && pages.length)
      await pages[pages.length - 1].screenshot({
        path: join(process.env.SCREENSHOTS, `${name.replace(/\W+/g, "-")}.png`),
      });
    for (const page of pages) await (trouble ? page.context().close() : site.leave(page));
    console.log(`${trouble ? "FAILED" : "ok    "} ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
    if (trouble) console.log(`       ${trouble.stack}`);
  }
} finally {
  await site.end();
}
process.exit(failed ? 1 : 0);
