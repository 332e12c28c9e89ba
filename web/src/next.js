// SPDX-License-Identifier: MIT
/* What can happen next: the likely first, the rest on demand. */
import { kindColour, nameOf } from "./marks.js";
import { classes, html, useState } from "./view.js";
import { canGoSeveralWays, Ways, WaysButton } from "./ways.js";

const MOST_SHOWN = 40;

const OTHERS = [
  ["start", "Somebody calls"],
  ["request", "Somebody wants to enter"],
  ["leave", "Somebody leaves"],
  ["deliver", "A message arrives sooner"],
  ["tell", "A node learns of a crash"],
  ["crash", "A node crashes"],
  ["miss", "A node crashes, and nobody is told"],
  ["recover", "A node comes back"],
  ["suspect", "A node suspects another"],
  ["trust", "A node trusts again"],
  ["cut", "A link is cut"],
  ["heal", "A link is mended"],
  ["drop", "A message is lost"],
  ["duplicate", "A message comes twice"],
  ["timeout", "A timer fires early"],
];

/** The events as the list shows them: {likely, others: [[title, events]]}. */
export function groupEvents(events) {
  const likely = [];
  const lists = new Map(OTHERS.map(([type]) => [type, []]));
  for (const event of events) (event.likely || event.next ? likely : lists.get(event.type))?.push(event);
  const others = OTHERS.map(([type, title]) => [title, lists.get(type)]);
  return { likely, others: others.filter(([, list]) => list.length) };
}

/** Those that concern a node, if one is looked at. `own` has them all in a large group. */
export function eventsAt(node, events, own) {
  if (node == null) return events;
  return (own.length ? own : events).filter((event) => event.node === node || event.peer === node);
}

function EventButton({ event, scenario, kind, digit, first, ways, onWays, onTake }) {
  return html`<li>
    <div class="event-row"><button class=${classes("event", first && "first")} data-event=${event.type} data-index=${event.index}
        onClick=${() => onTake(event.index)}>
      ${kind != null && html`<span class=${`swatch k${kindColour(scenario, kind)}`} aria-hidden="true"></span>`}
      <span class="what">${event.text}</span>
      ${digit && html`<kbd>${digit}</kbd>`}
    </button>
    ${onWays && canGoSeveralWays(event) && html`<${WaysButton} event=${event} ways=${ways} onWays=${onWays} />`}</div>
    ${ways?.index === event.index && html`<${Ways} ways=${ways} ways=${ways} onWays=${onWays} onTake=${onTake} />`}
  </li>`;
}

function Others({ title, list, scenario, ways, onWays, onTake, untold }) {
  const [open, setOpen] = useState(false);
  const all = list.length + untold;
  return html`<details class="others" data-others=${list[0].type} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>${title} <span class="dim">${all}</span></summary>
    <ul>${open && list.slice(0, MOST_SHOWN).map((event) => html`<${EventButton} key=${event.index} event=${event} scenario=${scenario} ways=${ways} onWays=${onWays} onTake=${onTake} />`)}</ul>
    ${open && all > MOST_SHOWN && html`<p class="dim">${all - MOST_SHOWN} more: choose a node to see its own.</p>`}
  </details>`;
}

export function Next({ scenario, now, events, own, node, ways, onWays, onTake, untold }) {
  const { likely, others } = groupEvents(eventsAt(node, events, own));
  const beside = node == null ? untold : {};
  const all = likely.length + (beside.likely ?? 0);
  const kinds = new Map(now.messages.map((message) => [message.serial, message.kind]));
  const next = events.find((event) => event.next) ?? events.find((event) => event.likely);
  return html`<section class="next" aria-label="what can happen next">
    <h2>What can happen ${node == null ? "next" : html`at <b>${nameOf(scenario, node)}</b>`}</h2>
    ${!likely.length && html`<p class="dim">${node == null ? "Nothing is left to happen, unless something goes wrong." : "Nothing is due here."}</p>`}
    <ul class="likely">
      ${likely.slice(0, MOST_SHOWN).map(
        (event, i) => html`<${EventButton} key=${event.index} event=${event} scenario=${scenario}
        kind=${kinds.get(event.message)} digit=${i < 9 ? i + 1 : null} first=${event === next} ways=${ways} onWays=${onWays} onTake=${onTake} />`,
      )}
    </ul>
    ${all > MOST_SHOWN && html`<p class="dim">and ${all - MOST_SHOWN} more</p>`}
    ${others.length > 0 && html`<h3>What else can happen</h3>`}
    ${others.map(([title, list]) => html`<${Others} key=${title} title=${title} list=${list} scenario=${scenario} ways=${ways} onWays=${onWays} onTake=${onTake} untold=${beside[list[0].type] ?? 0} />`)}
  </section>`;
}

/** The choices for one message: deliver, drop, duplicate. */
export function MessageMenu({ scenario, now, events, own, serial, ways, onWays, onTake, onClose }) {
  const message = now.messages.find((it) => it.serial === serial);
  if (!message) return null;
  const choices = (own.length ? own : events).filter((event) => event.message === serial);
  return html`<section class="card message-menu" role="dialog" aria-label="a message">
    <h2><span class=${`swatch k${kindColour(scenario, message.kind)}`} aria-hidden="true"></span>${message.text}</h2>
    <p class="dim">from ${nameOf(scenario, message.from)} to ${nameOf(scenario, message.to)}</p>
    ${message.fields?.length > 0 && html`<dl class="fields">${message.fields.map(({ name, value }) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`}
    <ul>${choices.map((event) => html`<${EventButton} key=${event.index} event=${event} scenario=${scenario} ways=${ways} onWays=${onWays} onTake=${onTake} />`)}</ul>
    <button class="quiet" onClick=${onClose}>Close</button>
  </section>`;
}
