// SPDX-License-Identifier: MIT
/* The tree of branches: a line for each, which begins where it leaves another. */
import { branchesOf, tipOf } from "./story.js";
import { classes, count, html, onActivate } from "./view.js";

const ROW = 28;
const WIDTH = 240;
const MOST_ROWS = 400;

/** A row for each branch: where it leaves its trunk, and where it ends. */
export function branchRows(story) {
  return branchesOf(story).map(({ tip, row, from, bad }) => ({ tip, row, from, fromRow: from.branch.row, bad }));
}

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

export function Branches({ story, other, controller }) {
  const rows = branchRows(story);
  if (rows.length < 2) return null;
  const shown = rows.slice(0, MOST_ROWS);
  const deepest = Math.max(...rows.map(({ tip }) => tip.depth), 1);
  const xOf = (depth) => 10 + (depth / deepest) * (WIDTH - 24);
  const yOf = (row) => ROW / 2 + row * ROW;
  const mine = tipOf(story.cursor);
  const go = (tip) => controller.goToBranch(tip);
  return html`<section class="card branches" aria-label="branches">
    <h2>${count(rows.length, "branch", "branches")}</h2>
    <div class="tree-box" tabindex="0" role="region" aria-label="the tree of branches">
      <svg width=${WIDTH} height=${ROW * shown.length} role="group" aria-label="tree of branches">
        ${shown.map(
          ({
            tip,
            row,
            from,
            fromRow,
            bad,
          }) => html`<g key=${tip.id} class=${classes("branch", tip === mine && "mine", bad && "bad", other?.tip === tip && "other")}>
          <path d=${`M${xOf(from.depth)} ${yOf(fromRow)}V${yOf(row)}H${xOf(tip.depth)}`} />
          <circle class="tip" cx=${xOf(tip.depth)} cy=${yOf(row)} r="6" role="button" tabindex="0" data-branch=${row}
            aria-label=${`branch ${row + 1}, ${count(tip.depth, "step")}${bad ? ", violated" : ""}`} onClick=${() => go(tip)}
            onKeyDown=${onActivate(() => go(tip))}><title>${`branch ${row + 1}: ${tip.entry?.text ?? "the start"}`}</title></circle>
        </g>`,
        )}
        <circle class="cursor" cx=${xOf(story.cursor.depth)} cy=${yOf(rows.find(({ tip }) => tip === mine)?.row ?? 0)} r="4" />
      </svg>
      <ol class="branch-rows">${shown.map((row) => html`<${Row} key=${row.tip.id} row=${row} other=${other} mine=${mine} controller=${controller} />`)}</ol>
    </div>
    <div class="beside">
      <button class="quiet" onClick=${() => controller.second.toggle()}>${other ? "One branch" : "Two side by side"} <kbd>c</kbd></button>
      ${other && html`<button class="quiet" onClick=${() => controller.second.swap()}>Change places <kbd>w</kbd></button>`}
      <span class="dim"><kbd>[</kbd> <kbd>]</kbd> change branch</span>
    </div>
  </section>`;
}
