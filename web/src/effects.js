// SPDX-License-Identifier: MIT
/* What a step did, in words. */
import { nameOf, nameOfId } from "./marks.js";

const MOST_NAMES = 6;

function listed(names) {
  if (names.length <= 1) return names.join("");
  if (names.length > MOST_NAMES) return `${names.length} nodes`;
  return `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

/** The effects of a step's handler, one phrase each; messages that say the same are one. */
export function effectsOf(scenario, entry) {
  const phrases = [];
  const sent = new Map();
  for (const { text, to } of entry.sent ?? []) sent.set(text, [...(sent.get(text) ?? []), nameOf(scenario, to)]);
  if (entry.elected != null) {
    const own = scenario.nodes[entry.node]?.id === entry.elected;
    phrases.push(own ? "takes the lead" : `follows ${nameOfId(scenario, entry.elected)}`);
  }
  if (entry.entered != null) phrases.push("enters the critical section");
  if (entry.left) phrases.push("leaves the critical section");
  for (const [text, names] of sent) phrases.push(`sends ${text} to ${listed(names)}`);
  if (entry.note) phrases.push(entry.note);
  return phrases;
}

export function summaryOf(scenario, entry) {
  return effectsOf(scenario, entry).join(", ") || "does nothing more";
}
