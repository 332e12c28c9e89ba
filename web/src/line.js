// SPDX-License-Identifier: MIT
/*
 * What the steps of a line say together: the messages, where the line of a node changes, which marks there are, the
 * first violation. It is kept up while the line grows and is left for another branch, so that a step costs the same
 * however long the story is.
 */
import { marksOf } from "./marks.js";

const lines = new WeakMap(); // by story

function makeLine() {
  return { places: [], undo: [], flights: new Map(), turns: new Map(), marks: new Map(), violation: null };
}

/** How the line of a node goes on after these marks; null: as before. */
function kindAfter(marks, before) {
  if (marks.includes("crash")) return "down-line";
  if (marks.includes("enter")) return "inside-line";
  if (marks.includes("leave") || marks.includes("recover")) return "life";
  return marks.includes("request") && before === "life" ? "wait-line" : null;
}

/** Messages are replaced, not changed: who has drawn one sees at once that it is another. */
function addFlights({ flights, undo }, { entry, depth }) {
  const before = [];
  const put = (serial, flight) => {
    before.push([serial, flights.get(serial)]);
    flights.set(serial, flight);
  };
  for (const message of entry.sent ?? []) put(message.serial, { ...message, sent: depth, received: null, lost: null });
  if (flights.has(entry.received)) put(entry.received, { ...flights.get(entry.received), received: depth });
  for (const serial of entry.lost ?? []) if (flights.has(serial)) put(serial, { ...flights.get(serial), lost: depth });
  undo.push(before);
}

function removeFlights({ flights, undo }) {
  for (const [serial, flight] of undo.pop().reverse())
    if (flight) flights.set(serial, flight);
    else flights.delete(serial);
}

function add(line, place) {
  const { entry, depth } = place;
  line.places.push(place);
  if (!entry) return;
  addFlights(line, place);
  const marks = marksOf(entry);
  for (const mark of marks) line.marks.set(mark, (line.marks.get(mark) ?? 0) + 1);
  const turns = line.turns.get(entry.node) ?? [];
  const kind = kindAfter(marks, turns.at(-1)?.kind ?? "life");
  if (kind) turns.push({ depth, kind });
  line.turns.set(entry.node, turns);
  if (!line.violation && entry.violated?.length) line.violation = place;
}

function remove(line) {
  const place = line.places.pop();
  const { entry, depth } = place;
  if (!entry) return;
  removeFlights(line);
  for (const mark of marksOf(entry)) line.marks.set(mark, line.marks.get(mark) - 1);
  const turns = line.turns.get(entry.node);
  if (turns?.at(-1)?.depth === depth) turns.pop();
  if (line.violation === place) line.violation = null;
}

/**
 * @returns {{flights: Map<number, {serial, from, to, kind, text, sent, received, lost}>, turns: Map<number, {depth,
 *   kind}[]>, marks: Map<string, number>, violation: object|null}}  turns: by node; marks: how many there are of each
 */
export function lineOf(story) {
  let line = lines.get(story);
  if (!line) {
    line = makeLine();
    lines.set(story, line);
  }
  const { places } = line;
  // A place has one way to it, so that a line that has it agrees with another up to there.
  while (places.length > story.line.length || (places.length && places.at(-1) !== story.line[places.length - 1]))
    remove(line);
  for (let depth = places.length; depth < story.line.length; depth++) add(line, story.line[depth]);
  return line;
}
