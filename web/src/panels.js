// SPDX-License-Identifier: MIT
/* What is known at this moment: the step just taken, a node's state, counts beside the formula, properties. */
import { fence } from "./format.js";
import { kindColour, nameOf, nameOfId } from "./marks.js";
import { roleOf } from "./network.js";
import { tokenLine } from "./structure.js";
import { classes, html, useState } from "./view.js";

/** One line for the leaders, or for who is inside: what one looks for first. */
export function Verdict({ scenario, now }) {
  const alive = now.nodes.filter((node) => node.alive);
  const named = (nodes) => nodes.map((node) => nameOf(scenario, node.node)).join(" and ");
  if (scenario.problem === "mutex") {
    const inside = alive.filter((node) => node.inside);
    const text = inside.length ? `${named(inside)} ${inside.length > 1 ? "are" : "is"} inside` : "nobody is inside";
    const token = tokenLine(scenario, now);
    return html`<p class=${inside.length > 1 ? "verdict-line bad" : "verdict-line"}>${text}${
      token && html`<span class=${/lost|tokens/.test(token) ? "token-line bad" : "token-line"}>${`, ${token}`}</span>`
    }</p>`;
  }
  if (scenario.problem === "election") {
    const leaders = alive.filter((node) => node.leader === scenario.nodes[node.node].id);
    const text = leaders.length
      ? `${named(leaders)} ${leaders.length > 1 ? "lead: split brain" : "leads"}`
      : "no leader";
    return html`<p class=${leaders.length > 1 ? "verdict-line bad" : "verdict-line"}>${text}</p>`;
  }
  return null;
}

/** The step that led here, in words, and which handler of the algorithm ran. */
export function Explanation({ place, why, onWhy }) {
  const { entry, depth } = place;
  if (!entry) return html`<p class="explanation" role="status"><b>The start.</b> Nothing has happened yet.</p>`;
  return html`<div class="explanation" role="status">
    <p><b>Step ${depth}.</b> ${entry.text}. <button class="quiet why" data-do="why" aria-pressed=${why ? "true" : "false"} title="which handler ran, and why (h)" onClick=${onWhy}>why?</button></p>
    ${entry.violated?.length > 0 && html`<p class="bad">⚑ This step violates <b>${entry.violated.join(", ")}</b>.</p>`}
  </div>`;
}

function Facts({ scenario, now, node }) {
  const it = now.nodes[node];
  const facts = [
    ["state", roleOf(scenario, it) || "at rest"],
    it.leader != null && ["leader", nameOfId(scenario, it.leader)],
    it.parent != null && ["parent", nameOf(scenario, it.parent)],
    it.fence != null && ["fence", fence(it.fence)],
    ["Lamport clock", it.clock],
    it.timers?.length > 0 && ["timers", it.timers.map(({ name }) => name).join(", ")],
    it.suspects?.length > 0 && ["suspects", it.suspects.map((peer) => nameOf(scenario, peer)).join(", ")],
    scenario.quorums?.[node] && ["voting set", scenario.quorums[node].map((peer) => nameOf(scenario, peer)).join(", ")],
  ].filter(Boolean);
  return facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`);
}

export function NodeCard({ scenario, now, node, onClose }) {
  const it = now.nodes[node];
  const queue = now.messages.filter((message) => message.to === node);
  return html`<section class="card node-card" aria-label=${`node ${nameOf(scenario, node)}`}>
    <h2>Node ${nameOf(scenario, node)} <button class="quiet close" aria-label="close" onClick=${onClose}>✕</button></h2>
    <dl class="fields"><${Facts} scenario=${scenario} now=${now} node=${node} /></dl>
    ${
      it.state?.length > 0 &&
      html`<h3>Its variables</h3>
      <dl class="fields state">${it.state.map(
        ({ name, value, changed }) => html`<div key=${name} class=${classes(changed && "changed")}>
        <dt>${name}</dt><dd>${value}${changed && html`<span class="new" title="changed by the last step">new</span>`}</dd></div>`,
      )}</dl>`
    }
    <h3>On their way to it</h3>
    ${queue.length === 0 && html`<p class="dim">no message</p>`}
    <ul class="queue">${queue.slice(0, 20).map(
      (message) => html`<li key=${message.serial}>
      <span class=${`swatch k${kindColour(scenario, message.kind)}`} aria-hidden="true"></span>${message.text}
      <span class="dim"> from ${nameOf(scenario, message.from)}</span></li>`,
    )}</ul>
  </section>`;
}

/** All nodes in a table: what a screen reader reads in place of the picture. */
export function NodeTable({ scenario, now, onSelect }) {
  const [open, setOpen] = useState(false);
  return html`<details class="node-table" onToggle=${(event) => setOpen(event.currentTarget.open)}><summary>All nodes as a table</summary>
    ${open && html`<${NodeRows} scenario=${scenario} now=${now} onSelect=${onSelect} />`}</details>`;
}

function NodeRows({ scenario, now, onSelect }) {
  const shown = (scenario.state ?? []).slice(0, 6);
  return html`<div class="scroll-x" tabindex="0" role="region" aria-label="all nodes"><table>
      <thead><tr><th scope="col">node</th><th scope="col">is</th>${shown.map(({ name }) => html`<th key=${name} scope="col">${name}</th>`)}</tr></thead>
      <tbody>${now.nodes.slice(0, 200).map(
        (node) => html`<tr key=${node.node} class=${classes(!node.alive && "dim")}>
        <th scope="row"><button class="quiet" onClick=${() => onSelect(node.node)}>${nameOf(scenario, node.node)}</button></th>
        <td>${roleOf(scenario, node)}</td>
        ${shown.map(({ name }) => {
          const field = node.state?.find((it) => it.name === name);
          return html`<td key=${name} class=${classes(field?.changed && "changed")}>${field?.value ?? ""}</td>`;
        })}</tr>`,
      )}</tbody>
    </table></div>`;
}

function Theory({ what, measured, theory }) {
  if (!theory) return null;
  const most = theory.relation === "=" ? "" : "at most ";
  const formula = `${most}${theory.formula} = ${theory.value}`;
  return html`<p class=${classes("theory", theory.holds === false && "bad")}><b>${measured}</b> ${what}. The formula says <b>${formula}</b>
    ${theory.case && html`<span class="dim">${` (${theory.case})`}</span>`}</p>`;
}

export function Counts({ scenario, now }) {
  const { total, by_kind: byKind } = now.counts;
  const most = Math.max(1, ...Object.values(byKind));
  return html`<section class="card counts" aria-label="messages counted">
    <h2>Messages <span class="number">${total}</span></h2>
    <ul>${Object.entries(byKind)
      .filter(([, number]) => number > 0)
      .map(
        ([kind, number]) => html`<li key=${kind}>
      <span class="kind">${kind}</span>
      <span class=${`bar k${kindColour(scenario, kind)}`} style=${{ "--share": number / most }} aria-hidden="true"></span>
      <span class="number">${number}</span></li>`,
      )}</ul>
    <${Theory} what="messages" measured=${now.theory?.messages?.counted ?? total} theory=${now.theory?.messages} />
    <${Theory} what="message times" measured=${now.theory?.delay?.counted} theory=${now.theory?.delay} />
  </section>`;
}

const VERDICTS = {
  held: ["✓", "holds"],
  violated: ["⚑", "violated"],
  open: ["…", "open"],
  disclaimed: ["–", "not claimed"],
};

export function Properties({ now, violation, onGo }) {
  return html`<section class="card properties" aria-label="properties">
    <h2>What must hold</h2>
    <ul>${now.properties.map(
      ({ name, kind, verdict, detail }) => html`<li key=${name} class=${verdict} title=${detail ?? ""}>
      <span class="sign" aria-hidden="true">${VERDICTS[verdict]?.[0] ?? "…"}</span>
      <span class="what">${name} <span class="dim">${kind}</span></span>
      <span class="verdict">${VERDICTS[verdict]?.[1] ?? verdict}</span>
      ${verdict === "violated" && detail && html`<span class="detail">${detail}</span>`}</li>`,
    )}</ul>
    ${violation && html`<button class="quiet" data-key="v" onClick=${() => onGo(violation)}>Go to the moment: step ${violation.depth} <kbd>v</kbd></button>`}
  </section>`;
}
