// SPDX-License-Identifier: MIT
/* What algorithms build over a network is on the picture: the token, trees, clusters, voting sets. */
import assert from "node:assert/strict";
import { advance } from "./harness.js";

const TRIANGLES = "-n+6+--graph+edges:1-2,1-3,2-3,3-4,4-5,4-6,5-6+--set+rounds=2";

const step = (page) => advance(page, () => page.locator("[data-do=step]").click());

async function end(page) {
  await page.locator("[data-do=end]").click();
  await page.waitForFunction(() => document.querySelector("[data-do=step]").disabled);
}

export const structure = {
  async "the token is on the picture, at its holder and on its way"(open) {
    const page = await open("s=token-ring+--ids+0..5+--request+3@0");
    await page.locator(".node[data-node='0'] .token").waitFor(); // it sets out when all have started
    for (const _ of ["wants", "start"]) await step(page);
    await page.locator(".message.coin").waitFor();
    assert.equal(await page.locator(".node .token").count(), 0);
    assert.match(await page.locator(".verdict-line").innerText(), /the token is on its way from 0 to 1/);
    while (!(await page.locator(".node.within").count())) await step(page);
    await page.locator(".node.within[data-node='3'] .token").waitFor();
    assert.match(await page.locator(".verdict-line").innerText(), /3 is inside, the token is at 3/);
  },

  async "a token that its holder takes down with it is lost, and the page says so"(open) {
    const page = await open("s=token-ring+--ids+0..3+--request+2@0%2B5,0@4+--crash+2@3+--views+off");
    await end(page);
    assert.match(await page.locator(".verdict-line").innerText(), /the token is lost/);
  },

  async "gamma's clusters have colours, trees and preferred edges"(open) {
    const page = await open(`s=gamma+${TRIANGLES}+--set+clusters=sets:1-2-3/4-5-6`);
    assert.equal(await page.locator(".cluster").count(), 2);
    assert.equal(await page.locator(".cluster-head").count(), 2);
    assert.equal(await page.locator(".tree:not(.way)").count(), 4);
    assert.equal(await page.locator(".preferred").count(), 1);
    const colour = (i) =>
      page
        .locator(".cluster .area")
        .nth(i)
        .evaluate((it) => getComputedStyle(it).stroke);
    assert.notEqual(await colour(0), await colour(1));
    assert.match(await page.locator(".sets").innerText(), /2 clusters/);
    await page.locator(".sets button").first().click();
    await page.locator(".node-card").waitFor();
    assert.equal(await page.locator(".cluster.chosen").count(), 1);
  },

  async "the trees of beta and wireless grow"(open) {
    for (const [words, edges] of [
      [`beta+${TRIANGLES}`, 5],
      ["wireless+-n+6+--graph+line", 5],
    ]) {
      const page = await open(`s=${words}`);
      assert.equal(await page.locator(".tree:not(.way)").count(), 0);
      let most = 0;
      for (let i = 0; i < 60 && most < edges; i++) {
        await step(page);
        most = Math.max(most, await page.locator(".tree:not(.way)").count());
      }
      assert.equal(most, edges, words);
    }
  },

  async "rounds that have not begun everywhere violate nothing"(open) {
    for (const name of ["beta", "bfs-tree", "bellman-ford-async"]) {
      const page = await open(`s=${name}+-n+3`);
      await page.locator("[data-event=start]").nth(1).click();
      await page.waitForFunction(() => document.querySelector(".step-number").innerText.includes("step 1"));
      assert.equal(await page.locator(".properties .violated").count(), 0, name);
      assert.equal(await page.locator(".likely [data-event=timeout]").count(), 0, name);
    }
  },

  async "shortest paths are a tree, too"(open) {
    const page = await open("s=bellman-ford-async+--graph+edges:1-2:9,2-3:1,1-4:2,4-3:3");
    await end(page);
    assert.equal(await page.locator(".tree.way").count(), 3);
  },

  async "voting sets are those of who wants to enter, and of the node that is looked at"(open) {
    const page = await open("s=maekawa+-n+9+--request+5@0");
    assert.equal(await page.locator(".voters").count(), 0);
    assert.equal(await page.locator(".sets li").count(), 9);
    while (!(await page.locator(".voters").count())) await step(page);
    assert.equal(await page.locator(".voters[data-voters-of='4'] path").count(), 4);
    await page.locator(".node[data-node='0']").click();
    await page.locator(".voters.chosen[data-voters-of='0']").waitFor();
    assert.equal(await page.locator(".voters.chosen .member").count(), 5);
    while (!(await page.locator(".node.within").count())) await step(page);
    await page.locator(".voters.entered[data-voters-of='4']").waitFor();
  },
};
