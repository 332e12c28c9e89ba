// SPDX-License-Identifier: MIT
/* What opens over the page: help, saving, and the search for a way to break it. */
import { KEYS } from "./keys.js";
import { savePage, savePng, saveSvg, saveText } from "./save.js";
import { classes, count, html, useEffect, useRef, useState } from "./view.js";

function Sheet({ title, wide, onClose, children }) {
  const box = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    (box.current?.querySelector(".overlay-body :is(select, button)") ?? box.current?.querySelector("button"))?.focus();
    return () => before?.focus?.();
  }, []);
  return html`<div class="shade" onClick=${(event) => event.target === event.currentTarget && onClose()}>
    <div class=${classes("overlay sheet", wide && "wide")} ref=${box} role="dialog" aria-modal="true" aria-label=${title}>
      <header><h2>${title}</h2><button class="quiet close" aria-label="close" onClick=${onClose}>✕</button></header>
      <div class="overlay-body" tabindex="0" role="region" aria-label=${title}>${children}</div>
    </div>
  </div>`;
}

export function Help({ onClose }) {
  return html`<${Sheet} title="Keys" wide=${true} onClose=${onClose}>
    <dl class="keys">${KEYS.filter(({ show }) => show).map(({ show, help }) => html`<div key=${show}><dt>${show.split(" ").map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${help}</dd></div>`)}</dl>
    <p>Click a message to deliver it; right-click it to lose or double it. Click a node to see what it knows and what can happen to it. Click anywhere in the diagram to go there. What you do after going back becomes a branch.</p>
  <//>`;
}

export function Save({ controller, source, onClose }) {
  const { state } = controller;
  const rows = [
    [
      "The diagram",
      [
        ["SVG", () => saveSvg("diagram", state)],
        ["PNG", () => savePng("diagram", state)],
      ],
    ],
    [
      "The network as it is now",
      [
        ["SVG", () => saveSvg("network", state)],
        ["PNG", () => savePng("network", state)],
      ],
    ],
    ["The story as a page that plays", [["HTML", () => savePage(source, controller)]]],
    ["The story in words", [["Text", () => saveText(controller, "story")]]],
    ["For conclave sim --replay", [["File", () => saveText(controller, "export")]]],
  ];
  const act = async (save) => {
    try {
      await save();
      controller.set({ overlay: null, notice: "Saved." });
    } catch (error) {
      controller.set({ overlay: null, error: error.message });
    }
  };
  return html`<${Sheet} title="Save" onClose=${onClose}>
    <dl class="save">${rows.map(
      ([what, ways]) => html`<div key=${what}><dt>${what}</dt>
      <dd>${ways.map(([name, save]) => html`<button key=${name} onClick=${() => act(save)}>${name}</button>`)}</dd></div>`,
    )}</dl>
  <//>`;
}

function goalsOf(scenario) {
  const goals = [["Anything that must hold is violated", { kind: "violation" }]];
  if (scenario.problem === "election") goals.push(["There are two leaders", { kind: "state", leaders: 2 }]);
  if (scenario.problem === "mutex") goals.push(["Two are inside", { kind: "state", inside: 2 }]);
  for (const { name, claimed } of scenario.properties ?? [])
    if (claimed !== false) goals.push([`${name} is violated`, { kind: "property", name }]);
  return goals;
}

const LIMITS = [
  ["crashes", "crashes", 0],
  ["suspicions", "wrong suspicions", 0],
  ["cuts", "cuts", 0],
  ["drops", "lost messages", 0],
];

export function BreakIt({ controller, onClose, children }) {
  const { scenario, search } = controller.state;
  const [goal, setGoal] = useState(0);
  const [early, setEarly] = useState(true);
  const [limits, setLimits] = useState(Object.fromEntries(LIMITS.map(([name, , least]) => [name, least])));
  const goals = goalsOf(scenario);
  const running = search && !search.done;
  const go = () =>
    controller.search(goals[goal][1], { ...limits, timeouts: early ? "any" : "accurate", states: 1000000 });
  return html`<${Sheet} title="Break it from here" onClose=${onClose}>
    <p>Every order of events that can follow this moment is tried, the shortest first. What is found becomes a branch.</p>
    <label class="field">Can it still happen that
      <select value=${goal} onChange=${(event) => setGoal(Number(event.currentTarget.value))}>
        ${goals.map(([text], i) => html`<option key=${text} value=${i}>${text}</option>`)}</select></label>
    <fieldset><legend>if there are at most</legend>
      ${LIMITS.map(
        ([
          name,
          text,
        ]) => html`<label key=${name} class="field small"><input type="number" min="0" max="9" value=${limits[name]} data-limit=${name}
        onInput=${(event) => setLimits({ ...limits, [name]: Number(event.currentTarget.value) })} /> ${text}</label>`,
      )}
      <label class="field small"><input type="checkbox" checked=${early} onChange=${(event) => setEarly(event.currentTarget.checked)} /> timers may fire early</label>
    </fieldset>
    <p><button class="primary" data-do="search" disabled=${running} onClick=${go}>Search</button>
      ${running && html` <button data-do="stop-search" onClick=${() => controller.stopSearch()}>Stop</button>`}</p>
    <${SearchState} search=${search} />
    ${children}
  <//>`;
}

export function SearchState({ search }) {
  if (!search) return null;
  if (!search.done)
    return html`<p class="search-state" role="status">${count(search.states ?? 0, "state")} so far …</p>`;
  if (search.found)
    return html`<p class="search-state found" role="status">Found after ${count(search.indices.length, "step")}, among ${count(search.states ?? 0, "state")}. You are at its end: go back to see how it came about.</p>`;
  return html`<p class="search-state" role="status">${
    search.complete
      ? `No: none of the ${count(search.states ?? 0, "state")} that can follow is such a state.`
      : `Not found among ${count(search.states ?? 0, "state")}${search.stopped ? ", then stopped" : "; there are more"}.`
  }</p>`;
}
