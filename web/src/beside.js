// SPDX-License-Identifier: MIT
/* Two branches side by side: the networks, the diagrams at the same scale, and in words what differs. */
import { Diagram } from "./diagram.js";
import { nameOf } from "./marks.js";
import { Network, roleOf } from "./network.js";
import { Verdict } from "./panels.js";
import { firstViolation, meetingPlace, tipOf } from "./story.js";
import { count, html, useRef } from "./view.js";

const MOST_NODES = 12; // in the list of what differs

/** The nodes that are not the same in both states. */
export function differingNodes(scenario, now, then) {
  const shown = (node) => JSON.stringify([roleOf(scenario, node), node.alive, node.state?.map(({ value }) => value)]);
  return now.nodes.filter((node, i) => shown(node) !== shown(then.nodes[i])).map(({ node }) => node);
}

/** The step by which a branch leaves the other. */
function firstOwn(line, fork) {
  return line[fork.depth + 1]?.entry?.text ?? "nothing more";
}

function rowsOf(scenario, state, fork) {
  const { now, story, other } = state;
  const here = [now, story.line, story];
  const there = [other.now, other.story.line, other.story];
  const both = (tell) => [tell(...here), tell(...there)];
  const moment = (it) => firstViolation(it)?.depth;
  return [
    ["it leaves the other by", ...both((_now, line) => firstOwn(line, fork))],
    ["at step", ...both((_now, line, it) => `${it.cursor.depth} of ${line.length - 1}`)],
    ["messages", ...both(({ counts }) => counts.total)],
    ["violated", ...both((_now, _line, it) => (moment(it) == null ? "nothing" : `at step ${moment(it)}`))],
    ...differingNodes(scenario, now, other.now)
      .slice(0, MOST_NODES)
      .map((node) => [
        `node ${nameOf(scenario, node)}`,
        ...both((at) => roleOf(scenario, at.nodes[node]) || changedFields(now, other.now, node, at)),
      ]),
  ];
}

/** The variables of a node that differ, as one of the two states has them. */
function changedFields(one, other, node, at) {
  const differs = (i) => one.nodes[node].state[i].value !== other.nodes[node].state[i].value;
  const fields = at.nodes[node].state.filter((_, i) => differs(i));
  return fields.map(({ name, value }) => `${name} ${value}`).join(", ");
}

export function Difference({ state }) {
  const { scenario, story, other } = state;
  const fork = meetingPlace(tipOf(story.cursor), other.tip);
  return html`<section class="difference" aria-label="what differs">
    <div class="scroll-x" tabindex="0" role="region" aria-label="the two branches compared"><table>
      <thead><tr><th scope="col">${count(fork.depth, "step")} in common</th><th scope="col"><span class="flag-here">here</span></th><th scope="col"><span class="flag-there">there</span></th></tr></thead>
      <tbody>${rowsOf(scenario, state, fork).map(
        ([what, here, there]) =>
          html`<tr key=${what} class=${here === there ? "" : "differs"}><th scope="row">${what}</th><td>${here}</td><td>${there}</td></tr>`,
      )}</tbody>
    </table></div>
  </section>`;
}

/** The network of the other branch. */
export function OtherNetwork({ controller, state }) {
  const { scenario, now, other, node } = state;
  const { cursor, line } = other.story;
  const differs = new Set(differingNodes(scenario, now, other.now));
  return html`<div class="branch-stage other">
    <div class="stage-head">
      <span class="flag-there">there</span>
      <${Verdict} scenario=${scenario} now=${other.now} />
      <p class="explanation"><b>Step ${cursor.depth} of ${line.length - 1}.</b> ${cursor.entry ? `${cursor.entry.text}.` : "Nothing has happened yet."}</p>
    </div>
    <${Network} scenario=${scenario} now=${other.now} entry=${cursor.entry} label="network of the other branch" chosen=${node} differs=${differs} zoom=${controller.look.zoom}
      onSelect=${(it) => controller.select(it)} onDeliver=${() => {}} onChoose=${() => {}} />
  </div>`;
}

/** Both diagrams, which scroll together: what both have in common stands at the same place. */
export function TwoDiagrams({ controller, state }) {
  const { scenario, story, other } = state;
  const together = useRef(new Set());
  const fork = meetingPlace(tipOf(story.cursor), other.tip);
  const shared = { scenario, together: together.current, common: fork.depth, letters: controller.look.letters };
  const steps = Math.max(story.line.length, other.story.line.length);
  return html`<div class="two-diagrams">
    <${Diagram} ...${shared} steps=${steps} story=${story} side="here" onGo=${(place) => controller.goTo(place)} />
    <${Diagram} ...${shared} steps=${steps} story=${other.story} side="there" label="space-time diagram of the other branch"
      onGo=${(place) => controller.second.show(other.tip, place)} />
  </div>`;
}
