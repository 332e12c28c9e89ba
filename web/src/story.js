// SPDX-License-Identifier: MIT
/*
 * The steps that were taken, as a tree. The engine knows one line of steps; whoever goes back and does something else
 * begins a branch here. A place is the state after a step: it has the index of the event that led to it and the
 * engine's account of it.
 */
import { lineOf } from "./line.js";

/** @typedef {{id: number, parent: Place|null, depth: number, index: number, entry: object|null, children: Place[],
 *   next: Place|null, branch: Branch}} Place  `next` is the child that was visited last: forward goes there */

/** @typedef {{from: Place, tip: Place, bad: boolean, row: number}} Branch  it leaves another at `from`; `bad`: a property
 *   is violated on it; `row`: its place in the order of the tree, as branchesOf() gives it */

function makePlace(parent, depth, index, entry, branch, id) {
  return { id, parent, depth, index, entry, children: [], next: null, branch };
}

export function makeStory() {
  const branch = { from: null, tip: null, bad: false, row: 0 };
  const root = makePlace(null, 0, -1, null, branch, 0);
  branch.from = branch.tip = root;
  return { root, cursor: root, line: [root], size: 1, branches: [branch], ordered: [branch] };
}

/** The place after that event; a step taken twice from one place is one branch. */
export function addStep(story, parent, index, entry) {
  let place = parent.children.find((child) => child.index === index);
  if (!place) {
    const branch = parent.children.length ? { from: parent, tip: null, bad: false, row: 0 } : parent.branch;
    if (branch !== parent.branch) story.branches.push(branch);
    place = makePlace(parent, parent.depth + 1, index, entry, branch, story.size++);
    branch.tip = place;
    branch.bad ||= Boolean(entry?.violated?.length);
    parent.children.push(place);
  }
  parent.next = place;
  return place;
}

/** Moves the cursor; the line is the way from the root through it to the end of its branch. */
export function moveTo(story, place) {
  const { line } = story;
  const tail = [];
  story.cursor = place;
  let at = place;
  for (; at.parent && line[at.depth] !== at; at = at.parent) {
    at.parent.next = at;
    tail.push(at);
  }
  if (tail.length) line.length = at.depth + 1;
  while (tail.length) line.push(tail.pop());
  let end = place;
  for (; end.next; end = end.next) line[end.depth + 1] = end.next;
  line.length = end.depth + 1;
}

/** All places from the root to that one. */
export function lineTo(place) {
  const line = [];
  for (let at = place; at; at = at.parent) line.push(at);
  return line.reverse();
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

/** All branches in the order of the tree: those that leave one follow it, the last to leave first. */
export function branchesOf(story) {
  if (story.ordered.length === story.branches.length) return story.ordered;
  const leaving = new Map();
  for (const branch of story.branches.slice(1)) {
    const others = leaving.get(branch.from.branch);
    if (others) others.push(branch);
    else leaving.set(branch.from.branch, [branch]);
  }
  story.ordered = [];
  const stack = [story.branches[0]];
  while (stack.length) {
    const branch = stack.pop();
    branch.row = story.ordered.length;
    story.ordered.push(branch);
    const others = leaving.get(branch) ?? [];
    stack.push(...others.reverse().sort((a, b) => a.from.depth - b.from.depth));
  }
  return story.ordered;
}

/** Where branches end, in the order of the tree. */
export function tips(story) {
  return branchesOf(story).map(({ tip }) => tip);
}

/** The end of the branch on which a place is. */
export function tipOf(place) {
  let at = place;
  while (at.next) at = at.next;
  return at;
}

/** Every message of the line, by its number: where and when it was sent, received or lost. */
export function flightsOf(story) {
  return lineOf(story).flights;
}

/** The first place of the line at which a property is violated, or null. */
export function firstViolation(story) {
  return lineOf(story).violation;
}
