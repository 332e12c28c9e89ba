// SPDX-License-Identifier: MIT
/* For everybody: a phone's width, large letters, and what axe-core finds. */
import assert from "node:assert/strict";
import { advance, atStep, axeSource } from "./harness.js";

const BULLY = "s=bully+--ids+0..4+--start+1";
const SPLIT = "s=bully+--ids+0..3+--partition+0,1/2,3@0..60+--start+0,2+--detect+99";

/** By theme, the rules that axe tries; null: all. In the dark only the colours are others. */
const THEMES = [
  ["light", null],
  ["dark", ["color-contrast", "link-in-text-block"]],
];

/** What axe finds below an element: by all rules, or by some. */
async function findings(page, selector = "html", rules = null) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axeSource());
  const { violations } = await page.evaluate(
    ([below, only]) =>
      window.axe.run(below, { resultTypes: ["violations"], ...(only && { runOnly: { type: "rule", values: only } }) }),
    [selector, rules],
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`);
}

/** How high letters are on the screen: of a role, a message and a step's number. */
async function heights(page) {
  return page.evaluate(() => {
    const height = (selector) => document.querySelector(selector)?.getBoundingClientRect().height ?? 0;
    return { role: height(".node .role"), pill: height(".message text"), tick: height("svg .tick") };
  });
}

/** What lies upon something else: elements of the one kind that cover some of the other. */
async function overlaps(page, ones, others) {
  return page.evaluate(
    ([selector, against]) => {
      const box = (it) => it.getBoundingClientRect();
      const upon = (a, b) =>
        a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
      const boxes = [...document.querySelectorAll(against)].map((it) => [it, box(it)]);
      return [...document.querySelectorAll(selector)].flatMap((it) =>
        boxes
          .filter(([other, at]) => other !== it && upon(box(it), at))
          .map(([other]) => `${it.outerHTML.slice(0, 60)} upon ${other.outerHTML.slice(0, 60)}`),
      );
    },
    [ones, others],
  );
}

async function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

export const access = {
  async "axe finds nothing serious, dark or light, in all that opens"(open) {
    const page = await open(BULLY, { colorScheme: "light" });
    for (let i = 0; i < 3; i++) await advance(page, () => page.locator("[data-do=step]").click());
    await page.locator("[data-node='2']").click();
    for (const [theme, rules] of THEMES) {
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), theme);
      assert.deepEqual(await findings(page, "html", rules), [], theme);
      for (const key of ["g", "b", "s", "?"]) {
        await page.keyboard.press(key);
        await page.getByRole("dialog").first().waitFor();
        assert.deepEqual(await findings(page, rules ? ".overlay" : "html", rules), [], `${theme}, ${key}`);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").first().waitFor({ state: "detached" });
      }
      if (theme === "light") await page.keyboard.press("d");
    }
  },

  async "axe finds nothing serious in two branches, why, what was broken, voting sets and clusters"(open) {
    for (const [colorScheme, rules] of THEMES) {
      const page = await open(BULLY, { colorScheme, reducedMotion: "reduce" });
      await advance(page, () => page.keyboard.press("ArrowRight"));
      await advance(page, () => page.keyboard.press("1"));
      await page.keyboard.press("ArrowLeft");
      await atStep(page, 1, 2);
      await page.keyboard.press("2");
      await atStep(page, 2, 2);
      await page.keyboard.press("h");
      await page.keyboard.press("c");
      await page.getByLabel("network of the other branch").waitFor();
      assert.deepEqual(await findings(page, "html", rules), [], `${colorScheme}, two branches`);
      await page.locator(".idea [data-break='a message takes longer than D']").click();
      await page.locator(".broken .bad").waitFor();
      assert.deepEqual(await findings(page, "html", rules), [], `${colorScheme}, broken`);
      for (const story of ["maekawa+-n+9+--request+5@0", "gamma+-n+8+--set+clusters=2", "token-ring+-n+4"]) {
        const other = await open(`s=${story}`, { colorScheme, reducedMotion: "reduce" });
        await advance(other, () => other.locator("[data-do=step]").click());
        assert.deepEqual(await findings(other, "html", rules), [], `${colorScheme}, ${story}`);
      }
    }
  },

  async "a phone's width needs no sideways scrolling, and Step is at the thumb"(open) {
    const page = await open(BULLY, { width: 375, height: 667, hasTouch: true, isMobile: true });
    assert.equal(await overflow(page), 0);
    const box = await page.locator("[data-do=step]").boundingBox();
    assert.ok(box.y + box.height <= 667 && box.y > 400, JSON.stringify(box));
    assert.ok(box.height >= 36);
    await advance(page, () => page.locator("[data-do=step]").tap());
    await page.locator("[data-node='2']").tap();
    await page.locator(".node-card").waitFor();
    assert.equal(await overflow(page), 0);
    await page.setViewportSize({ width: 320, height: 568 }); // the narrowest that there is
    assert.equal(await overflow(page), 0);
    await page.locator("[data-do=gallery]").tap();
    assert.equal(await overflow(page), 0);
  },

  async "large letters fit"(open) {
    const page = await open(BULLY);
    for (let i = 0; i < 5; i++) await page.keyboard.press("+");
    assert.equal(await overflow(page), 0);
    await advance(page, () => page.keyboard.press("ArrowRight"));
  },

  async "large letters are large in the pictures, too, and nothing lies upon anything else"(open) {
    const crowded = "s=wireless+-n+10"; // its nodes cannot come closer
    for (const story of [SPLIT, crowded, "s=multicast+-n+5"]) {
      const page = await open(story, { width: 1920, height: 1080 });
      for (let i = 0; i < 4; i++) await advance(page, () => page.keyboard.press("ArrowRight"));
      const before = await heights(page);
      for (let i = 0; i < 4; i++) await page.keyboard.press("+");
      await page.waitForFunction(
        (usual) => document.querySelector("svg .tick").getBoundingClientRect().height > usual,
        before.tick,
      );
      const after = await heights(page);
      assert.ok(after.tick / before.tick > 1.5, `the diagram: ${story}`);
      assert.ok(
        story === crowded || after.role / before.role > 1.05,
        `the network: ${story}, ${after.role} and ${before.role}`,
      );
      assert.deepEqual(await overlaps(page, ".node .body", ".node .body, .repair"), [], story);
      assert.deepEqual(await overlaps(page, ".transport *", ".side *"), [], story);
    }
  },

  async "letters in the pictures can be read on a phone"(open) {
    const page = await open(SPLIT, { width: 375, height: 667, hasTouch: true, isMobile: true });
    for (let i = 0; i < 4; i++) await advance(page, () => page.locator("[data-do=step]").tap());
    const { role, pill } = await heights(page);
    assert.ok(role >= 13 && pill >= 13, `${role} and ${pill} pixels high`);
    assert.deepEqual(await overlaps(page, ".node .body", ".node .body, .repair"), []);
    await page.locator("[data-do=break]").tap();
    const { x, width } = await page.locator(".sheet").boundingBox();
    assert.ok(x >= 0 && x + width <= 375, `from ${x}, ${width} wide`);
  },

  async "all nodes are a table for those who do not see the picture"(open) {
    const page = await open(BULLY);
    await page.getByText("All nodes as a table").click();
    await page.locator(".node-table tbody tr").first().waitFor();
    assert.equal(await page.locator(".node-table tbody tr").count(), 5);
  },
};
