// SPDX-License-Identifier: MIT
/* The ways in which one event can go: what its handler chooses, and after how many messages its node crashes. */
import { html } from "./view.js";

const CALLS_A_HANDLER = /^(start|request|leave|deliver|timeout|tell|trust|suspect|recover)$/;

export function canGoSeveralWays(event) {
  return event.node != null && CALLS_A_HANDLER.test(event.type);
}

export function WaysButton({ event, ways, onWays }) {
  const open = ways?.index === event.index;
  return html`<button class="quiet ways-button" data-ways=${event.index} aria-expanded=${open ? "true" : "false"} aria-label=${`the ways of: ${event.text}`} title="other ways in which it can go (y for the first)"
    onClick=${() => onWays(open ? null : event.index)}>⋯</button>`;
}

/** The list of ways below their event. */
export function Ways({ ways, onTake }) {
  const { variants, choices } = ways;
  if (!variants.length)
    return html`<p class="dim ways">It can go only one way: it sends one message at most, and chooses nothing.</p>`;
  return html`<ul class="ways" aria-label="other ways">
    ${choices.length > 0 && html`<li class="dim">${`if nothing is chosen here: ${choices.map(({ ways: of, chosen }) => `${chosen} of 0..${of - 1}`).join(", ")}`}</li>`}
    ${variants.map(
      ({ index, text, sent }) =>
        html`<li key=${index}><button class="event" data-event=${sent == null ? "choice" : "partial"} data-index=${index} onClick=${() => onTake(index)}><span class="what">${text}</span></button></li>`,
    )}</ul>`;
}
