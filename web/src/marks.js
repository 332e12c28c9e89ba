// SPDX-License-Identifier: MIT
/* The marks of pictures, as `conclave sim --svg` draws them, and the colours of message kinds. */
import { html } from "./view.js";

const KINDS = 8;

/** The number of a kind's colour. */
export function kindColour(scenario, kind) {
  const index = scenario.kinds.findIndex(({ name }) => name === kind);
  return (index < 0 ? KINDS - 1 : index) % KINDS;
}

const ROOMY = 4; // among so few nodes there is room for a kind's name

/** A message in as few letters as there is room for: what stands in the parentheses, or its kind, or how that begins. */
export function shortText(message, nodes) {
  const inside = /\(([^)]*)\)/.exec(message.text)?.[1];
  if (inside && inside.length <= 5) return inside;
  if (message.kind === "token") return ""; // a coin says it
  return nodes <= ROOMY || message.kind.length <= 4 ? message.kind : message.kind.slice(0, 3);
}

/** What people call a node: its label, or its id. */
export function nameOf(scenario, node) {
  const it = scenario.nodes[node];
  return it ? String(it.label ?? it.id) : "?";
}

const named = new WeakMap(); // by scenario: the nodes by id

export function nameOfId(scenario, id) {
  if (!named.has(scenario)) named.set(scenario, new Map(scenario.nodes.map((node) => [node.id, node])));
  const it = named.get(scenario).get(id);
  return it ? String(it.label ?? it.id) : String(id);
}

function starPoints(radius) {
  return Array.from({ length: 10 }, (_, i) => {
    const angle = -Math.PI / 2 + (i * Math.PI) / 5;
    const far = i % 2 ? radius * 0.42 : radius;
    return `${(far * Math.cos(angle)).toFixed(1)},${(far * Math.sin(angle)).toFixed(1)}`;
  }).join(" ");
}

const SHAPES = {
  call: () => html`<path class="mark solid" d="M0-5.5l5.5 5.5-5.5 5.5-5.5-5.5z" />`,
  timeout: () => html`<circle class="mark" r="6" /><path class="mark bare" d="M0 0v-3.6m0 3.6h2.6" />`,
  suspect: () => html`<circle class="mark suspect" r="6.5" /><text class="inmark" y="3.6">?</text>`,
  elected: () => html`<polygon class="mark star" points=${starPoints(8)} />`,
  enter: () => html`<rect class="inside" x="-5" y="-6" width="10" height="12" rx="2" />`,
  leave: () => html`<rect class="wait" x="-5" y="-6" width="10" height="12" rx="2" />`,
  request: () => html`<path class="mark wants" d="M-5-5h10l-5 10z" />`,
  crash: () => html`<path class="cross thick" d="M-6-6l12 12m0-12l-12 12" />`,
  lost: () => html`<path class="cross" d="M-3.5-3.5l7 7m0-7l-7 7" />`,
  recover: () => html`<circle class="mark back" r="5.5" />`,
  dot: () => html`<circle class="dot" r="2.6" />`,
};

export const MEANINGS = {
  call: "calls an election",
  timeout: "times out",
  suspect: "suspects somebody",
  elected: "knows the leader",
  request: "wants to enter",
  enter: "enters",
  leave: "leaves",
  crash: "crashes",
  recover: "comes back",
  lost: "lost",
};

/** What a mark means: only elections are called, everything else is started. */
export function meaningOf(scenario, mark) {
  return mark === "call" && scenario.problem !== "election" ? "starts" : MEANINGS[mark];
}

export function Mark({ kind, x, y, title }) {
  return html`<g transform=${`translate(${x.toFixed(1)} ${y.toFixed(1)})`}>
    ${title && html`<title>${title}</title>`}${SHAPES[kind]?.()}
  </g>`;
}

/** The marks that a step leaves on its node's line, in the order in which they happen. */
export function marksOf(entry) {
  const marks = [];
  if (entry.type === "crash" || entry.type === "miss" || entry.crashed != null) marks.push("crash");
  else if (entry.type === "recover") marks.push("recover");
  else if (entry.type === "timeout") marks.push("timeout");
  else if (entry.type === "suspect" || entry.type === "tell") marks.push("suspect");
  else if (entry.type === "request") marks.push("request");
  if (entry.called || (entry.type === "start" && !marks.length)) marks.push("call");
  if (entry.left || entry.type === "leave") marks.push("leave");
  if (entry.entered != null) marks.push("enter");
  if (entry.elected != null) marks.push("elected");
  return marks;
}
