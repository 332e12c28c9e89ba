// SPDX-License-Identifier: MIT
/*
 * The space-time diagram: nodes as lines, steps to the right, messages as arrows. It has the look of `conclave sim
 * --svg`. Only what is in sight is drawn, so that a story of thousands of steps scrolls as smoothly as a short one.
 */
import { lineOf } from "./line.js";
import { kindColour, Mark, MEANINGS, marksOf, meaningOf, nameOf } from "./marks.js";
import { classes, html, memo, useEffect, useLayoutEffect, useRef, useState } from "./view.js";

const LEFT = 64;
const TOP = 26;
const STEP = 48;
const MARGIN = 4; // steps and lines drawn beyond what is in sight
const MOST_LABELS = 90;
const MOST_ARROWS = 400;

export function pitchOf(count) {
  return Math.max(22, Math.min(46, 420 / count));
}

const xOf = (step) => LEFT + 24 + step * STEP;

/** An arrow's ends; one that has not arrived ends soon after it was sent, wherever the story is. */
function arrowOf(flight, pitch) {
  const yOf = (node) => TOP + 14 + node * pitch;
  const end = flight.received ?? flight.lost;
  const arrow = {
    flight,
    x1: xOf(flight.sent),
    y1: yOf(flight.from),
    x2: 0,
    y2: yOf(flight.to),
    gone: end == null || flight.received == null,
  };
  arrow.x2 = xOf(end ?? flight.sent + 1);
  if (end === flight.sent) arrow.x2 = arrow.x1 + STEP * 0.7;
  if (end == null || end === flight.sent) {
    arrow.x2 = arrow.x1 + (arrow.x2 - arrow.x1) * 0.6;
    arrow.y2 = arrow.y1 + (arrow.y2 - arrow.y1) * 0.6;
  }
  return arrow;
}

const Arrow = memo(({ flight, x1, y1, x2, y2, gone, later, scenario }) => {
  const colour = kindColour(scenario, flight.kind);
  const far = Math.hypot(x2 - x1, y2 - y1) || 1;
  const short = gone ? 0 : 4 / far;
  const end = `${(x2 - (x2 - x1) * short).toFixed(1)} ${(y2 - (y2 - y1) * short).toFixed(1)}`;
  const d =
    flight.from === flight.to
      ? `M${x1} ${y1}Q${(x1 + x2) / 2} ${y1 - 22} ${x2} ${y2 - 2}`
      : `M${x1.toFixed(1)} ${y1.toFixed(1)}L${end}`;
  return html`<g class=${classes("flight", `k${colour}`, later && "later", gone && "gone")}>
    <title>${flight.text} from ${nameOf(scenario, flight.from)} to ${nameOf(scenario, flight.to)}</title>
    <path class="shaft" d=${d} marker-end=${gone ? null : `url(#head${colour})`} />
    ${flight.lost != null && html`<${Mark} kind="lost" x=${x2} y=${y2} />`}
  </g>`;
});

function isLater(flight, cursor) {
  return flight.sent > cursor || (flight.received ?? flight.lost ?? 0) > cursor;
}

/** Points on the plane that keep a distance: those near a point are found without looking at all. */
class Points {
  constructor(distance) {
    this.distance = distance;
    this.cells = new Map();
  }

  cell(column, row) {
    return this.cells.get(column * 65536 + row);
  }

  isNear({ x, y }) {
    const [column, row] = [Math.floor(x / this.distance), Math.floor(y / this.distance)];
    for (let i = column - 1; i <= column + 1; i++)
      for (let j = row - 1; j <= row + 1; j++)
        if (this.cell(i, j)?.some((p) => (p.x - x) ** 2 + (p.y - y) ** 2 < this.distance ** 2)) return true;
    return false;
  }

  add(point) {
    const [column, row] = [Math.floor(point.x / this.distance), Math.floor(point.y / this.distance)];
    const cell = this.cell(column, row);
    if (cell) cell.push(point);
    else this.cells.set(column * 65536 + row, [point]);
  }
}

/** Puts what messages say along their arrows where there is room for it. */
function labels(arrows, scenario) {
  if (arrows.length > MOST_LABELS) return [];
  const taken = new Points(13);
  const found = [];
  for (const arrow of arrows) {
    const { flight, x1, y1, x2, y2 } = arrow;
    const far = Math.hypot(x2 - x1, y2 - y1);
    const texts = [flight.text, flight.kind].filter((text) => text.length * 6.6 + 16 < far);
    if (!texts.length || flight.from === flight.to) continue;
    const half = (texts[0].length * 6.6) / far / 2;
    for (const share of [0.5, 0.4, 0.6, 0.3, 0.7]) {
      const points = [-1, -0.5, 0, 0.5, 1].map((part) => ({
        x: x1 + (x2 - x1) * (share + part * half),
        y: y1 + (y2 - y1) * (share + part * half),
      }));
      if (share - half < 0.02 || share + half > 0.98 || points.some((p) => taken.isNear(p))) continue;
      for (const point of points) taken.add(point);
      const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
      found.push(html`<text key=${flight.serial} class=${`label k${kindColour(scenario, flight.kind)}`} y="-4"
        transform=${`translate(${points[2].x.toFixed(1)} ${points[2].y.toFixed(1)}) rotate(${angle.toFixed(1)})`}>${texts[0]}</text>`);
      break;
    }
  }
  return found;
}

/** The line of a node, broken where it is down, thick where it waits or is inside. */
function LifeLine({ turns, down, y, right, from, to }) {
  const parts = [];
  let began = LEFT;
  let kind = down ? "down-line" : "life";
  const close = (x, next) => {
    if (x > began && x >= from && began <= to)
      parts.push(html`<line key=${began} class=${kind} x1=${began} y1=${y} x2=${x} y2=${y} />`);
    began = x;
    kind = next;
  };
  for (const turn of turns ?? []) close(xOf(turn.depth), turn.kind);
  close(right, kind);
  return parts;
}

const Legend = memo(({ scenario, marks }) => {
  const kinds = scenario.kinds.map(({ name }) => name);
  const seen = new Set(marks.split(" "));
  return html`<ul class="legend" aria-label="what the colours and marks mean">
    ${kinds.map(
      (kind) => html`<li key=${kind} class=${`k${kindColour(scenario, kind)}`}>
      <svg width="26" height="10" aria-hidden="true"><path class="shaft" d="M0 5H24" marker-end=${`url(#head${kindColour(scenario, kind)})`} /></svg>
      ${kind}</li>`,
    )}
    ${Object.keys(MEANINGS)
      .filter((mark) => seen.has(mark))
      .map(
        (mark) => html`<li key=${mark}>
      <svg width="18" height="18" aria-hidden="true"><${Mark} kind=${mark} x=${9} y=${9} /></svg>${meaningOf(scenario, mark)}</li>`,
      )}
  </ul>`;
});

/** The marks of a story, in words that are the same as long as they are. */
function marksIn(story) {
  return [...lineOf(story).marks].flatMap(([mark, count]) => (count ? [mark] : [])).join(" ");
}

/** Heads of arrows, one per colour. */
export const ArrowHeads = memo(() => {
  return html`<defs>${[0, 1, 2, 3, 4, 5, 6, 7].map(
    (kind) => html`<marker key=${kind} id=${`head${kind}`}
      viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">
    <path class=${`head k${kind}`} d="M0 1.2L10 5L0 8.8L2.4 5z" /></marker>`,
  )}</defs>`;
});

/** What is in sight of a box that scrolls, in the units of a picture that is drawn `scale` times as large. */
export function useSight(box, scale = 1) {
  const [sight, setSight] = useState({ left: 0, right: 1600, top: 0, bottom: 900 });
  useEffect(() => {
    const it = box.current;
    const look = () =>
      setSight({
        left: it.scrollLeft / scale,
        right: (it.scrollLeft + it.clientWidth) / scale,
        top: it.scrollTop / scale,
        bottom: (it.scrollTop + it.clientHeight) / scale,
      });
    look();
    it.addEventListener("scroll", look, { passive: true });
    const watch = new ResizeObserver(look);
    watch.observe(it);
    return () => {
      it.removeEventListener("scroll", look);
      watch.disconnect();
    };
  }, [scale]);
  return sight;
}

/** The marks of a step at its node, side by side. */
const StepMarks = memo(({ place, y, later, scenario }) => {
  const { entry, depth } = place;
  const marks = marksOf(entry);
  return html`<g class=${classes(later && "later")}>
    ${(entry.sent?.length || !marks.length) && html`<${Mark} kind="dot" x=${xOf(depth)} y=${y} />`}
    ${marks.map(
      (mark, i) => html`<${Mark} key=${mark} kind=${mark} x=${xOf(depth) + i * 15} y=${y}
      title=${`${nameOf(scenario, entry.node)} ${meaningOf(scenario, mark)}`} />`,
    )}
  </g>`;
});

/** A step: where one clicks to go there. */
const Column = memo(({ place, later, here, height, onGo }) => {
  const { entry, depth } = place;
  const x = xOf(depth);
  const violated = entry?.violated?.length > 0;
  return html`<g class=${classes("column", later && "later", violated && "violated", here && "here", entry?.type === "cut" && "splits", entry?.type === "heal" && "joins")}>
    <rect class="target" x=${x - STEP / 2} y="0" width=${STEP} height=${height} data-step=${depth}
      onClick=${onGo && (() => onGo(place))}><title>${entry?.text ?? "the start"}</title></rect>
    <line class="grid" x1=${x} y1=${TOP - 6} x2=${x} y2=${height} />
    <text class="tick" x=${x} y=${TOP - 11}>${violated ? "⚑ " : ""}${depth}</text>
  </g>`;
});

const LineName = memo(({ name, y }) => {
  return html`<g class="line-name" transform=${`translate(6 ${y})`}>
    <rect y="-10" width=${LEFT - 20} height="20" rx="10" /><text x=${(LEFT - 20) / 2} y="4.5">${name}</text></g>`;
});

/**
 * The messages that are seen in steps first..last, but not too many: those that arrive there are drawn before those that
 * are sent there, and these before those that are on their way all the time.
 */
function flightsIn(flights, first, last, seen, most) {
  const [arriving, leaving, passing] = [[], [], []];
  for (const flight of flights.values()) {
    const end = flight.received ?? flight.lost;
    if (flight.sent > last || (end ?? flight.sent + 1) < first || !(seen(flight.from) || seen(flight.to))) continue;
    if (end != null && end <= last) arriving.push(flight);
    else if (flight.sent >= first) leaving.push(flight);
    else passing.push(flight);
  }
  return arriving.concat(leaving, passing).slice(0, most);
}

/** What two branches have in common, where they part, and what is one's own. */
function Common({ depth, height, end }) {
  const fork = xOf(depth) + STEP / 2;
  return html`<g class="apart">
    <rect class="in-common" x=${LEFT} y="0" width=${fork - LEFT} height=${height}><title>both branches have this in common</title></rect>
    ${end > fork && html`<rect class="own" x=${fork} y="0" width=${end - fork} height=${height} />`}
    <line class="fork" x1=${fork} y1="0" x2=${fork} y2=${height} />
  </g>`;
}

/** The drawing itself, of the steps and nodes in a window. */
export function DiagramPicture({ scenario, story, window, onGo, whole, steps: wide, common, label, letters = 1 }) {
  const { line, cursor } = story;
  const nodes = scenario.nodes.length;
  const pitch = pitchOf(nodes);
  const yOf = (node) => TOP + 14 + node * pitch;
  const width = xOf(Math.max(line.length, wide ?? 0)) + 40; // a branch beside another has the other's width
  const height = TOP + nodes * pitch + 8;
  const first = Math.max(0, Math.floor((window.left - LEFT) / STEP) - MARGIN);
  const last = Math.min(line.length - 1, Math.ceil((window.right - LEFT) / STEP) + MARGIN);
  const seen = (node) => yOf(node) >= window.top - MARGIN * pitch && yOf(node) <= window.bottom + MARGIN * pitch;
  const { flights, turns } = lineOf(story);
  const most = whole ? Number.POSITIVE_INFINITY : MOST_ARROWS;
  const arrows = flightsIn(flights, first, last, seen, most).map((flight) => arrowOf(flight, pitch));
  const steps = line.slice(first, last + 1);
  const ids = scenario.nodes.map(({ node }) => node).filter(seen);
  return html`<svg class="diagram-picture" width=${width * letters} height=${height * letters} viewBox=${`0 0 ${width} ${height}`} role="img"
      aria-label=${`${label ?? "space-time diagram"}, step ${cursor.depth} of ${line.length - 1}`}>
    <${ArrowHeads} />
    ${common != null && html`<${Common} depth=${common} height=${height} end=${xOf(line.length - 1) + STEP / 2} />`}
    ${steps.map(
      (
        place,
      ) => html`<${Column} key=${place.id} place=${place} later=${place.depth > cursor.depth} here=${place === cursor}
        height=${height} onGo=${onGo} />`,
    )}
    <g class="drawn">
      ${ids.map(
        (
          node,
        ) => html`<${LifeLine} key=${node} turns=${turns.get(node)} down=${scenario.down.includes(node)} y=${yOf(node)} right=${width - 30}
        from=${window.left - STEP} to=${window.right + STEP} />`,
      )}
      ${arrows.map(
        (arrow) =>
          html`<${Arrow} key=${arrow.flight.serial} ...${arrow} later=${isLater(arrow.flight, cursor.depth)} scenario=${scenario} />`,
      )}
      ${steps.map(
        (place) =>
          place.entry?.node != null &&
          seen(place.entry.node) &&
          html`<${StepMarks} key=${place.id} place=${place} y=${yOf(place.entry.node)} later=${place.depth > cursor.depth}
            scenario=${scenario} />`,
      )}
      ${labels(arrows, scenario)}
    </g>
    <g transform=${whole ? null : `translate(${window.left} 0)`}>
      ${!whole && window.left > 0 && html`<rect class="names" width=${LEFT - 8} height=${height} />`}
      ${ids.map((node) => html`<${LineName} key=${node} name=${nameOf(scenario, node)} y=${yOf(node)} />`)}
    </g>
  </svg>`;
}

/** Boxes of diagrams that stand beside each other scroll together; their pictures have the same width. */
function useTogether(box, together) {
  useEffect(() => {
    if (!together) return undefined;
    const it = box.current;
    const follow = () => {
      for (const other of together)
        if (other !== it && other.scrollLeft !== it.scrollLeft) other.scrollLeft = it.scrollLeft;
    };
    together.add(it);
    it.addEventListener("scroll", follow, { passive: true });
    return () => {
      together.delete(it);
      it.removeEventListener("scroll", follow);
    };
  }, [together]);
}

export function Diagram({ scenario, story, onGo, together, steps, common, side, label, letters }) {
  const box = useRef(null);
  const sight = useSight(box, letters);
  useTogether(box, together);
  const { cursor, line } = story;
  useLayoutEffect(() => {
    const x = xOf(cursor.depth);
    const width = sight.right - sight.left; // asking the box itself would lay out the whole page
    if (x > sight.right - STEP * 2 || x < sight.left + LEFT + STEP)
      box.current.scrollLeft = Math.max(0, x - width * 0.6) * letters;
  }, [cursor, line.length, letters]);
  return html`<section class=${classes("diagram", side)} aria-label=${label ?? "space-time diagram"}>
    ${side && html`<p><span class=${`flag-${side}`}>${side}</span> <span class="dim">${common == null ? "" : `the same until step ${common}`}</span></p>`}
    <div class="scroll" ref=${box} tabindex="0" role="region" aria-label=${side ? `the steps of the branch ${side}` : "the steps so far, to be scrolled"}>
      <${DiagramPicture} scenario=${scenario} story=${story} window=${sight} onGo=${onGo} steps=${steps} common=${common} label=${label} letters=${letters} />
    </div>
    ${side !== "there" && html`<${Legend} scenario=${scenario} marks=${marksIn(story)} />`}
  </section>`;
}
