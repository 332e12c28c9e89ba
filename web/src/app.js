// SPDX-License-Identifier: MIT
/* The page as a whole. */
import { Difference, OtherNetwork, TwoDiagrams } from "./beside.js";
import { Branches } from "./branches.js";
import { Breakers, Broken } from "./breaks.js";
import { Diagram } from "./diagram.js";
import { Gallery, Idea } from "./gallery.js";
import { Why } from "./handler.js";
import { Network } from "./network.js";
import { MessageMenu, Next } from "./next.js";
import { BreakIt, Help, Save, SearchState } from "./overlays.js";
import { Counts, Explanation, NodeCard, NodeTable, Properties, Verdict } from "./panels.js";
import { Predict } from "./predict.js";
import { Recorded } from "./recorded.js";
import { firstViolation, flightsOf } from "./story.js";
import { Sets } from "./structure.js";
import { Transport } from "./transport.js";
import { classes, html, memo, useEffect, useState } from "./view.js";

const StillIdea = memo(Idea);

function Words({ controller, line }) {
  const [text, setText] = useState(line);
  useEffect(() => setText(line), [line]);
  const submit = (event) => {
    event.preventDefault();
    controller.openLine(text);
    document.activeElement?.blur();
  };
  return html`<form class="words" onSubmit=${submit}>
    <label><span class="dim">conclave explore</span>
      <input value=${text} spellcheck="false" autocapitalize="off" aria-label="algorithm and options" onInput=${(event) => setText(event.currentTarget.value)} /></label>
  </form>`;
}

function TopBar({ controller, line }) {
  return html`<header class="top">
    <h1>Conclave</h1>
    <button onClick=${() => controller.overlay("gallery")} data-do="gallery">Scenarios</button>
    <${Words} controller=${controller} line=${line} />
    <div class="tools">
      <button data-do="break" title="break it from here (b)" onClick=${() => controller.overlay("break")}>Break it</button>
      <button data-do="link" title="copy the link to this story (l)" onClick=${() => controller.copyLink()}>Share</button>
      <button data-do="save" title="save (s)" onClick=${() => controller.overlay("save")}>Save</button>
      <button class="icon" data-do="predict" title="predict each step (q)" aria-label="?!, predict each step" onClick=${() => controller.togglePredict()}>?!</button>
      <button class="icon" data-do="theme" title="dark or light (d)" aria-label="◐, dark or light" onClick=${() => controller.look.turnTheme()}>◐</button>
      <button class="icon" data-do="larger" title="larger letters (+)" aria-label="A+, larger letters" onClick=${() => controller.look.resize(1)}>A+</button>
      <button class="icon" data-do="smaller" title="smaller letters (−)" aria-label="A−, smaller letters" onClick=${() => controller.look.resize(-1)}>A−</button>
      <button class="icon" data-do="help" title="keys (?)" aria-label="⌨, keys" onClick=${() => controller.overlay("help")}>⌨</button>
    </div>
  </header>`;
}

/** One click mends what is cut, be it a link or the network as a whole. */
function Repair({ controller, events }) {
  const heals = events.filter(({ type }) => type === "heal");
  const whole = heals.find(({ node }) => node == null) ?? (heals.length === 1 ? heals[0] : null);
  if (!whole) return null;
  return html`<button class="repair" data-do="heal" title=${whole.text} onClick=${() => controller.take(whole.index)}>${whole.node == null ? "Heal the network" : "Heal the link"}</button>`;
}

function Stage({ controller, state }) {
  const { scenario, now, story, node, message, other } = state;
  const { entry } = story.cursor;
  return html`<section class=${other ? "stage two" : "stage"} aria-label="the network">
    <div class="branch-stage">
      <div class="stage-head">
        ${other && html`<span class="flag-here">here</span>`}
        <${Verdict} scenario=${scenario} now=${now} />
        <${Explanation} place=${story.cursor} why=${state.why} onWhy=${() => controller.toggleWhy()} />
      </div>
      <div class="picture">
        <${Network} scenario=${scenario} now=${now} entry=${entry} flight=${flightsOf(story).get(entry?.received)} chosen=${node} message=${message}
          zoom=${controller.look.zoom} onSelect=${controller.acts.select} onDeliver=${controller.acts.deliver} onChoose=${controller.acts.selectMessage} />
        <${Repair} controller=${controller} events=${state.events} />
      </div>
    </div>
    ${other && html`<${OtherNetwork} controller=${controller} state=${state} />`}
  </section>`;
}

function Side({ controller, state, gallery }) {
  const { scenario, now, events, own, untold, node, message, predict, search, story } = state;
  const { take, showWays } = controller.acts;
  const ways = { ways: state.ways, onWays: showWays };
  return html`<aside class="side" aria-label="what can happen and what is known">
    ${predict && html`<${Predict} scenario=${scenario} predict=${predict} onAnswer=${(choice) => controller.answer(choice)} onEnd=${() => controller.togglePredict()} />`}
    <${Broken} controller=${controller} />
    ${search?.done && !state.broken && html`<div class="card"><${SearchState} search=${search} /><button class="quiet" onClick=${() => controller.set({ search: null })}>Close</button></div>`}
    ${message != null && html`<${MessageMenu} scenario=${scenario} now=${now} events=${events} own=${own} serial=${message} ...${ways} onTake=${take} onClose=${() => controller.selectMessage(message)} />`}
    ${node != null && html`<${NodeCard} scenario=${scenario} now=${now} node=${node} onClose=${() => controller.select(node)} />`}
    ${scenario.recorded && html`<${Recorded} recording=${scenario.recording} entry=${story.cursor.entry} onChoose=${(name) => controller.chooseName(name)} />`}
    ${state.why && html`<${Why} scenario=${scenario} now=${now} place=${story.cursor} flight=${flightsOf(story).get(story.cursor.entry?.received)} code=${gallery.code} onClose=${() => controller.toggleWhy()} />`}
    ${!predict?.question && !scenario.recorded && html`<${Next} scenario=${scenario} now=${now} events=${events} own=${own} untold=${untold} node=${node} ...${ways} onTake=${take} />`}
    <${Sets} scenario=${scenario} node=${node} onSelect=${controller.acts.select} />
    <${Counts} scenario=${scenario} now=${now} />
    ${!scenario.recorded && html`<${Properties} now=${now} violation=${firstViolation(story)} onGo=${(place) => controller.goTo(place)} />`}
  </aside>`;
}

function Facts({ controller, state, gallery }) {
  const { scenario, story, other, about, catalogue } = state;
  return html`<div class="facts">
    <${StillIdea} scenario=${scenario} catalogue=${catalogue} gallery=${gallery} about=${about} controller=${controller} />
    <${Branches} story=${story} other=${other} controller=${controller} />
  </div>`;
}

/** What went wrong must be seen also while something is open over the page. */
function Lines({ controller, state }) {
  return html`<div class=${classes("lines", state.overlay && "over")} aria-live="polite">
    ${state.error && html`<p class="error" role="alert">${state.error} <button class="quiet" aria-label="close" onClick=${() => controller.set({ error: null })}>✕</button></p>`}
    ${state.notice && html`<p class="notice">${state.notice}</p>`}
  </div>`;
}

export function App({ controller, gallery, source }) {
  const [state, setState] = useState(controller.state);
  useEffect(() => controller.listen(setState), []);
  const { scenario, now, overlay, story, predict } = state;
  const close = () => controller.set({ overlay: null });
  return html`<div class=${classes("page", state.busy && "busy", state.other && "comparing")}>
    <${TopBar} controller=${controller} line=${controller.line()} />
    <${Lines} controller=${controller} state=${state} />
    ${
      scenario &&
      now &&
      html`<main>
      <${Stage} controller=${controller} state=${state} />
      <${Side} controller=${controller} state=${state} gallery=${gallery} />
      <${Transport} story=${story} playing=${state.playing} next=${predict?.question ? null : controller.likely()} controller=${controller} />
      ${
        state.other
          ? html`<div class="diagrams"><${TwoDiagrams} controller=${controller} state=${state} /><${Difference} state=${state} /></div>`
          : html`<${Diagram} scenario=${scenario} story=${story} letters=${controller.look.letters} onGo=${controller.acts.goTo} />`
      }
      <${NodeTable} scenario=${scenario} now=${now} onSelect=${controller.acts.select} />
      <${Facts} controller=${controller} state=${state} gallery=${gallery} />
    </main>`
    }
    ${
      overlay === "gallery" &&
      html`<${Gallery} gallery=${gallery} catalogue=${state.catalogue} canClose=${Boolean(scenario)}
      onOpen=${(begin) => controller.open(begin)} onFiles=${(texts) => controller.openFiles(texts)} onClose=${close} />`
    }
    ${overlay === "help" && html`<${Help} onClose=${close} />`}
    ${overlay === "save" && scenario && html`<${Save} controller=${controller} source=${source} onClose=${close} />`}
    ${overlay === "break" && scenario && html`<${BreakIt} controller=${controller} onClose=${close}><${Breakers} controller=${controller} gallery=${gallery} /><//>`}
  </div>`;
}
