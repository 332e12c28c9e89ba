// SPDX-License-Identifier: MIT
/* The keyboard. One table: what a key does and what the help says about it. */
import { eventsAt, groupEvents } from "./next.js";

export const KEYS = [
  {
    keys: ["ArrowRight", " ", "n"],
    show: "→ Space",
    help: "forward, or the likely next step",
    run: (c) => c.forward(),
  },
  { keys: ["ArrowLeft", "Backspace"], show: "←", help: "one step back", run: (c) => c.back() },
  { keys: ["Home"], show: "Home", help: "to the start", run: (c) => c.toStart() },
  {
    keys: ["End"],
    show: "End",
    help: "to the end of the branch, or let all happen",
    run: (c) => (c.state.story.cursor.next ? c.toEnd() : c.run()),
  },
  { keys: ["p"], show: "p", help: "play, pause", run: (c) => c.play() },
  {
    keys: ["1", "2", "3", "4", "5", "6", "7", "8", "9"],
    show: "1 … 9",
    help: "do what stands there in the list",
    run: takeDigit,
  },
  { keys: ["y"], show: "y", help: "the ways in which the next step can go", run: showWays },
  { keys: ["ArrowDown", "j"], show: "↓", help: "look at the next node", run: (c) => selectBy(c, 1) },
  { keys: ["ArrowUp", "k"], show: "↑", help: "look at the node before", run: (c) => selectBy(c, -1) },
  { keys: ["x"], show: "x", help: "crash the node, or bring it back", run: crash },
  { keys: ["t"], show: "t", help: "let a timer of the node fire", run: (c) => takeOfNode(c, "timeout") },
  { keys: ["b"], show: "b", help: "break it from here", run: (c) => c.overlay("break") },
  { keys: ["v"], show: "v", help: "to the moment of the violation", run: (c) => c.toViolation() },
  { keys: ["["], show: "[ ]", help: "the branch before, the next", run: (c) => c.turnBranch(-1) },
  { keys: ["]"], run: (c) => c.turnBranch(1) },
  { keys: ["c"], show: "c", help: "two branches side by side, or one", run: (c) => c.second.toggle() },
  { keys: ["o"], show: "o", help: "another branch beside this one", run: (c) => c.second.turn() },
  { keys: ["w"], show: "w", help: "the two branches change places", run: (c) => c.second.swap() },
  { keys: [","], show: ", .", help: "the branch beside: one step back, forward", run: (c) => c.second.step(-1) },
  { keys: ["."], run: (c) => c.second.step(1) },
  { keys: ["h"], show: "h", help: "why: the handler that ran, as pseudo-code", run: (c) => c.toggleWhy() },
  { keys: ["q"], show: "q", help: "predict each step before it is taken", run: (c) => c.togglePredict() },
  { keys: ["g"], show: "g", help: "the scenarios", run: (c) => c.overlay("gallery") },
  {
    keys: ["e"],
    show: "e",
    help: "change the scenario's words",
    run: () => document.querySelector(".words input")?.focus(),
  },
  { keys: ["l"], show: "l", help: "copy the link to this story", run: (c) => c.copyLink() },
  { keys: ["s"], show: "s", help: "save: pictures, the story", run: (c) => c.overlay("save") },
  { keys: ["d"], show: "d", help: "dark or light", run: (c) => c.look.turnTheme() },
  { keys: ["+", "="], show: "+ −", help: "larger or smaller letters", run: (c) => c.look.resize(1) },
  { keys: ["-"], run: (c) => c.look.resize(-1) },
  { keys: ["?"], show: "?", help: "this page", run: (c) => c.overlay("help") },
  { keys: ["Escape"], show: "Esc", help: "close what is open", run: close },
];

function takeDigit(controller, key) {
  const { node, own, events } = controller.state;
  const mine = eventsAt(node, events, own);
  const event = groupEvents(mine).likely[Number(key) - 1];
  return event && controller.take(event.index);
}

function showWays(controller) {
  const event = controller.likely();
  const open = controller.state.ways?.index === event?.index;
  return event && controller.showWays(open ? null : event.index);
}

function selectBy(controller, by) {
  const { node, scenario } = controller.state;
  const count = scenario.nodes.length;
  return controller.select(node == null ? (by > 0 ? 0 : count - 1) : (node + by + count) % count);
}

function takeOfNode(controller, ...types) {
  const { node, events, own } = controller.state;
  const mine = [...events, ...own].filter((event) => event.node === node && types.includes(event.type));
  return node != null && mine.length ? controller.take(mine[0].index) : null;
}

function crash(controller) {
  return takeOfNode(controller, "crash", "recover");
}

function close(controller) {
  const { overlay, message, node, scenario } = controller.state;
  if (overlay && (overlay !== "gallery" || scenario)) controller.set({ overlay: null });
  else if (message != null) controller.set({ message: null });
  else if (node != null) controller.select(node);
}

/** Fields keep their keys, and a button that has the focus its Space and Enter. */
function isMeant(event, row) {
  const at = event.target instanceof Element ? event.target : document.body;
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (event.key === "Escape") return true;
  if (at.matches("input:not([type=range]), textarea, select")) return false;
  if (at.matches("input[type=range]") && /^(Arrow|Home|End)/.test(event.key)) return false;
  if (event.key === " " && at.closest("button, summary, a, [role=button]")) return false;
  if (/^Arrow|^Home|^End/.test(event.key) && at.closest(".overlay, .scroll, .scroll-x, .tree-box")) return false;
  return Boolean(row);
}

export function listenToKeys(controller) {
  document.addEventListener("keydown", (event) => {
    const row = KEYS.find(({ keys }) => keys.includes(event.key));
    if (!row || !isMeant(event, row)) return;
    const { overlay, scenario } = controller.state;
    if (
      event.key !== "Escape" &&
      ((overlay && !["?", "g", "s", "b", "d", "+", "-", "="].includes(event.key)) || !scenario)
    )
      return;
    event.preventDefault();
    row.run(controller, event.key);
  });
}
