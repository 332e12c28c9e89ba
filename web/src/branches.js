// SPDX-License-Identifier: MIT
/* The tree of branches: a line for each, which begins where it leaves another. */
import { useSight } from "./diagram.js";
import { branchesOf, tipOf } from "./story.js";
import { classes, count, html, onActivate, useLayoutEffect, useRef } from "./view.js";

const ROW = 28;
const WIDTH = 240;
const MARGIN = 3; // rows drawn beyond what is in sight

function Row({ row, other, mine, controller }) {
  const { tip, bad } = row;
  const beside = other?.tip === tip;
  const name = `branch ${row.row + 1}`;
  return html`<li>
    <button class="quiet name" aria-current=${tip === mine ? "true" : null} title=${tip.entry?.text ?? "the start"} onClick=${() => controller.goToBranch(tip)}>${row.row + 1}</button>
    <span class="what">${bad && html`<span class="bad">⚑ </span>`}${count(tip.depth, "step")}: ${tip.entry?.text ?? "the start"}</span>
    ${tip !== mine && html`<button class="quiet" data-beside=${row.row} aria-pressed=${beside ? "true" : "false"} aria-label=${`beside: ${name}`} onClick=${() => controller.second.show(beside ? null : tip)}>beside</button>`}
  </li>`;
}

/** The upright lines of branches further down: they pass the rows in sight, and are one path. */
function passingLines(branches, last, bottom, xOf, yOf) {
  const tops = new Map();
  for (const { row, from } of branches) {
    if (row < last || from.branch.row >= last) continue;
    const x = xOf(from.depth).toFixed(0);
    tops.set(x, Math.min(tops.get(x) ?? Number.POSITIVE_INFINITY, yOf(from.branch.row)));
  }
  return [...tops].map(([x, top]) => `M${x} ${top}V${bottom}`).join("");
}

/** Only the rows in sight are drawn: there may be a thousand. */
function Tree({ story, other, controller }) {
  const box = useRef(null);
  const sight = useSight(box);
  const branches = branchesOf(story);
  const deepest = branches.reduce((most, { tip }) => Math.max(most, tip.depth), 1);
  const xOf = (depth) => 10 + (depth / deepest) * (WIDTH - 24);
  const yOf = (row) => ROW / 2 + row * ROW;
  const mine = tipOf(story.cursor);
  const here = mine.branch.row;
  const first = Math.max(0, Math.floor(sight.top / ROW) - MARGIN);
  const last = Math.min(branches.length, Math.ceil(sight.bottom / ROW) + MARGIN);
  const shown = branches.slice(first, last);
  const go = (tip) => controller.goToBranch(tip);
  useLayoutEffect(() => {
    if (here * ROW < sight.top || (here + 1) * ROW > sight.bottom)
      box.current.scrollTop = yOf(here) - (sight.bottom - sight.top) / 2;
  }, [here]);
  return html`<div class="tree-box" ref=${box} tabindex="0" role="region" aria-label="the tree of branches">
    <svg width=${WIDTH} height=${ROW * branches.length} role="group" aria-label="tree of branches">
      <g class="branch"><path d=${passingLines(branches, last, yOf(last), xOf, yOf)} /></g>
      ${shown.map(
        ({
          tip,
          row,
          from,
          bad,
        }) => html`<g key=${row} class=${classes("branch", tip === mine && "mine", bad && "bad", other?.tip === tip && "other")}>
        <path d=${`M${xOf(from.depth)} ${yOf(from.branch.row)}V${yOf(row)}H${xOf(tip.depth)}`} />
        <circle class="tip" cx=${xOf(tip.depth)} cy=${yOf(row)} r="6" role="button" tabindex="0" data-branch=${row}
          aria-label=${`branch ${row + 1}, ${count(tip.depth, "step")}${bad ? ", violated" : ""}`} onClick=${() => go(tip)}
          onKeyDown=${onActivate(() => go(tip))}><title>${`branch ${row + 1}: ${tip.entry?.text ?? "the start"}`}</title></circle>
      </g>`,
      )}
      <circle class="cursor" cx=${xOf(story.cursor.depth)} cy=${yOf(here)} r="4" />
    </svg>
    <ol class="branch-rows" start=${first + 1} style=${{ paddingTop: `${ROW * first}px` }}>
      ${shown.map((row) => html`<${Row} key=${row.row} row=${row} other=${other} mine=${mine} controller=${controller} />`)}</ol>
  </div>`;
}

export function Branches({ story, other, controller }) {
  const { length } = branchesOf(story);
  if (length < 2) return null;
  return html`<section class="card branches" aria-label="branches">
    <h2>${count(length, "branch", "branches")}</h2>
    <${Tree} story=${story} other=${other} controller=${controller} />
    <div class="beside">
      <button class="quiet" onClick=${() => controller.second.toggle()}>${other ? "One branch" : "Two side by side"} <kbd>c</kbd></button>
      ${other && html`<button class="quiet" onClick=${() => controller.second.swap()}>Change places <kbd>w</kbd></button>`}
      <span class="dim"><kbd>[</kbd> <kbd>]</kbd> change branch</span>
    </div>
  </section>`;
}
