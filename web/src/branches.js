// SPDX-License-Identifier: MIT
/* The tree of branches: a line for each, which begins where it leaves another. */
import { branchesOf, tipOf } from "./story.js";
import { classes, count, html } from "./view.js";

const ROW = 22;
const WIDTH = 240;
const MOST_ROWS = 400;

/** A row for each branch: where it leaves its trunk, and where it ends. */
export function branchRows(story) {
  return branchesOf(story).map(({ tip, row, from, bad }) => ({ tip, row, from, fromRow: from.branch.row, bad }));
}

export function Branches({ story, other, onGo, onCompare }) {
  const rows = branchRows(story);
  if (rows.length < 2) return null;
  const shown = rows.slice(0, MOST_ROWS);
  const deepest = Math.max(...rows.map(({ tip }) => tip.depth), 1);
  const xOf = (depth) => 10 + (depth / deepest) * (WIDTH - 24);
  const yOf = (row) => 12 + row * ROW;
  const mine = tipOf(story.cursor);
  return html`<section class="card branches" aria-label="branches">
    <h2>${count(rows.length, "branch", "branches")}</h2>
    <div class="tree-box" tabindex="0" role="region" aria-label="the tree of branches">
      <svg width=${WIDTH} height=${yOf(shown.length - 1) + 14} role="group" aria-label="tree of branches">
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
            aria-label=${`branch ${row + 1}, ${count(tip.depth, "step")}${bad ? ", violated" : ""}`} onClick=${() => onGo(tip)}
            onKeyDown=${(event) => event.key === "Enter" && onGo(tip)}><title>${`branch ${row + 1}: ${tip.entry?.text ?? "the start"}`}</title></circle>
        </g>`,
        )}
        <circle class="cursor" cx=${xOf(story.cursor.depth)} cy=${yOf(rows.find(({ tip }) => tip === mine)?.row ?? 0)} r="4" />
      </svg>
    </div>
    <div class="beside">
      ${
        other
          ? html`<button class="quiet" onClick=${() => onCompare(null)}>One branch <kbd>c</kbd></button>`
          : html`<button class="quiet" onClick=${() => onCompare(rows.find(({ tip }) => tip !== mine).tip)}>Two side by side <kbd>c</kbd></button>`
      }
      <span class="dim"><kbd>[</kbd> <kbd>]</kbd> change branch</span>
    </div>
  </section>`;
}
