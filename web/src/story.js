// SPDX-License-Identifier: MIT
/*
 * The steps that were taken, as a tree. The engine knows one line of steps; whoever goes back and does something else
 * begins a branch here. A place is the state after a step: it has the index of the event that led to it and the
 * engine's account of it.
 */

/** @typedef {{id: number, parent: Place|null, depth: number, index: number, entry: object|null, children: Place[],
 *   next: Place|null}} Place  `next` is the child that was visited last: forward goes there */

export function makeStory() {
  const root = { id: 0, parent: null, depth: 0, index: -1, entry: null, children: [], next: null };
  return { root, cursor: root, line: [root], size: 1, flights: null };
}

/** The place after that event; a step taken twice from one place is one branch. */
export function addStep(story, parent, index, entry) {
  let place = parent.children.find((child) => child.index === index);
  if (!place) {
    place = { id: story.size++, parent, depth: parent.depth + 1, index, entry, children: [], next: null };
    parent.children.push(place);
  }
  parent.next = place;
  return place;
}

/** Moves the cursor; the line is the way from the root through it to the end of its branch. */
export function moveTo(story, place) {
  story.cursor = place;
  for (let at = place; at.parent; at = at.parent) at.parent.next = at;
  let agrees = 0;
  for (let at = place; at; at = at.parent)
    if (story.line[at.depth] === at) {
      agrees = at.depth + 1;
      break;
    }
  const tail = [];
  for (let at = place; at && at.depth >= agrees; at = at.parent) tail.push(at);
  const kept = tail.length ? story.line.slice(0, agrees).concat(tail.reverse()) : story.line.slice();
  while (kept[kept.length - 1].next) kept.push(kept[kept.length - 1].next);
  const last = kept.length - 1;
  if (last !== story.line.length - 1 || kept[last] !== story.line[last]) {
    story.line = kept;
    story.flights = null;
  }
}

/** The last place that both ways have in common. */
export function meetingPlace(one, other) {
  let [a, b] = [one, other];
  while (a !== b) {
    if (a.depth >= b.depth) a = a.parent;
    else b = b.parent;
  }
  return a;
}

/** The indices of the events on the way down from an ancestor. */
export function indicesBetween(ancestor, place) {
  const indices = [];
  for (let at = place; at !== ancestor; at = at.parent) indices.push(at.index);
  return indices.reverse();
}

/** Where branches end, in the order of the tree. */
export function tips(story) {
  const found = [];
  const stack = [story.root];
  while (stack.length) {
    const place = stack.pop();
    if (!place.children.length) found.push(place);
    for (let i = place.children.length; i-- > 0; ) stack.push(place.children[i]);
  }
  return found;
}

/** The end of the branch on which a place is. */
export function tipOf(place) {
  let at = place;
  while (at.next) at = at.next;
  return at;
}

/**
 * Every message of the line: where and when it was sent, received or lost. Kept until the line changes.
 * @returns {Map<number, {serial, from, to, kind, text, sent, received, lost}>}
 */
export function flightsOf(story) {
  if (story.flights) return story.flights;
  const flights = new Map();
  for (const { entry, depth } of story.line) {
    if (!entry) continue;
    for (const message of entry.sent ?? [])
      flights.set(message.serial, { ...message, sent: depth, received: null, lost: null });
    const heard = entry.received != null && flights.get(entry.received);
    if (heard) heard.received = depth;
    for (const serial of entry.lost ?? []) {
      const gone = flights.get(serial);
      if (gone) gone.lost = depth;
    }
  }
  story.flights = flights;
  return flights;
}

/** The first place of the line at which a property is violated, or null. */
export function firstViolation(story) {
  return story.line.find((place) => place.entry?.violated?.length) ?? null;
}
