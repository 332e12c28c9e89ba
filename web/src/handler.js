// SPDX-License-Identifier: MIT
/*
 * Why the step just taken did what it did: which handler ran, what made it run, and its pseudo-code. The page is built
 * with the code of all algorithms (scripts/pseudo_code.py); an algorithm of one's own has only the handler's name.
 */
import { nameOf } from "./marks.js";
import { classes, html } from "./view.js";

/** What happens to a node from outside runs none of its handlers. */
const OUTSIDE = {
  crash: "A crash asks nobody: the node stops where it stands. The failure detector tells the others later.",
  miss: "A crash asks nobody: the node stops where it stands, and the failure detector does not see it.",
  drop: "The network loses a message. The receiver cannot know, so none of its handlers runs.",
  duplicate: "The network delivers a message a second time later on. So far nothing has changed at a node.",
  cut: "A link is cut. Messages on it are lost; nodes notice it only by silence.",
  heal: "A link works again. Nodes notice it when messages arrive.",
  view: "A node has died or come back, and all others know. Messages on their way are dropped, every member begins anew, and whoever waited asks again; a node that is inside stays there.",
};

const CAUSES = {
  start: (scenario) =>
    scenario.problem === "mutex"
      ? "a view begins, and whoever wants to enter at once has asked"
      : "it was asked to begin",
  request: () => "its program wants to enter",
  leave: () => "its program has left the critical section",
  deliver: (scenario, entry, flight) =>
    `${flight?.text ?? "a message"} has arrived from ${nameOf(scenario, flight?.from ?? entry.peer)}`,
  timeout: (_scenario, entry) => `its timer “${entry.timer}” has run out`,
  tell: (scenario, entry) => `the failure detector reports that ${nameOf(scenario, entry.peer)} is gone`,
  suspect: (scenario, entry) => `the failure detector takes ${nameOf(scenario, entry.peer)} for dead, by mistake`,
  trust: (scenario, entry) => `the failure detector reports that ${nameOf(scenario, entry.peer)} is back`,
  recover: () => "it is back, and has forgotten everything",
};

/** Why a handler ran, in words; null if none did. */
export function causeOf(scenario, entry, flight) {
  return CAUSES[entry.type]?.(scenario, entry, flight) ?? null;
}

/** The functions that a step called first: [{algorithm, name}]. A synchronizer may have begun a round of what it hosts. */
export function handlersOf(scenario, code, entry, flight) {
  const hosts = scenario.app && scenario.app === scenario.algorithm ? "lockstep" : scenario.algorithm;
  const names = [];
  const table = code[hosts]?.handlers;
  const function_ = entry.handler === "receive" ? table?.receive[flight?.kind] : table?.[entry.handler];
  if (function_) names.push({ algorithm: hosts, name: function_ });
  const pulse = entry.round != null && code[scenario.app]?.handlers.pulse;
  if (pulse) names.push({ algorithm: scenario.app, name: pulse });
  return names;
}

/** Did this step do what that line says? Only effects that can be seen from outside are told. */
export function hasHappened(line, entry) {
  const text = line.trim();
  const sent = /^send ([A-Z_]+)/.exec(text)?.[1]?.toLowerCase().replaceAll("_", "-");
  if (sent) return (entry.sent ?? []).some(({ kind }) => kind === sent);
  if (/^enter\b/.test(text)) return entry.entered != null;
  if (/^elect\b/.test(text)) return entry.elected != null;
  if (/^call an election/.test(text)) return Boolean(entry.called);
  return false;
}

function Code({ it, entry, first }) {
  return html`<details class="code" open=${first}>
    <summary><code>${it.title}</code></summary>
    ${it.about && html`<p class="dim">${it.about}</p>`}
    <pre tabindex="0">${it.lines.map((line, i) => html`<span key=${i} class=${classes("line", hasHappened(line, entry) && "did")}>${line}</span>`)}</pre>
  </details>`;
}

/** A handler, and what it calls, in the order in which one meets it. */
function Listing({ code, handler, entry }) {
  const { functions } = code[handler.algorithm];
  const order = [handler.name];
  for (let i = 0; i < order.length; i++)
    for (const name of functions[order[i]].calls) if (!order.includes(name)) order.push(name);
  return order.map(
    (name, i) =>
      html`<${Code} key=${`${entry.step} ${name}`} it=${functions[name]} entry=${entry} first=${i === 0 || functions[name].lines.some((line) => hasHappened(line, entry))} />`,
  );
}

export function Why({ scenario, now, place, flight, code, onClose }) {
  const { entry } = place;
  const changed = entry?.node == null ? [] : (now.nodes[entry.node]?.state?.filter((field) => field.changed) ?? []);
  const handlers = entry ? handlersOf(scenario, code, entry, flight) : [];
  const cause = entry && causeOf(scenario, entry, flight);
  return html`<section class="card why-card" aria-label="why">
    <h2>Why <button class="quiet close" aria-label="close" onClick=${onClose}>✕</button></h2>
    ${!entry && html`<p class="dim">No step has been taken yet.</p>`}
    ${entry && OUTSIDE[entry.type] && html`<p>${OUTSIDE[entry.type]}</p>`}
    ${cause && html`<p>At <b>${nameOf(scenario, entry.node)}</b>, <code>${handlers[0]?.name ?? entry.handler}</code> runs: ${cause}.</p>`}
    ${
      changed.length > 0 &&
      html`<p>It changes ${changed.map(({ name, value }, i) => html`${i > 0 && ", "}<code>${name}</code> to <b>${value === "" ? "nothing" : value}</b>`)}.</p>`
    }
    ${handlers.map((handler) => html`<${Listing} key=${handler.algorithm} code=${code} handler=${handler} entry=${entry} />`)}
  </section>`;
}
