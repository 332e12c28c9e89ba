// SPDX-License-Identifier: MIT
/* The network: nodes with what they are, and messages under way. */

import { fence } from "./format.js";
import { along, layOut, linksOf, lookCloser, nodeRadius } from "./layout.js";
import { kindColour, nameOf, nameOfId, shortText } from "./marks.js";
import { CROSS, CROWN, nameSize } from "./shapes.js";
import { holdsToken, isToken, Structure } from "./structure.js";
import { classes, count, html, memo, onActivate, useMemo } from "./view.js";

const BEND = 16;

/** One or two words on what a node does at the moment. */
export function roleOf(scenario, node) {
  if (!node.alive) return "down";
  if (node.inside) return node.fence == null ? "inside" : `inside, ${fence(node.fence)}`;
  if (node.waiting) return "waits";
  const id = scenario.nodes[node.node].id;
  const field = scenario.state?.find(({ kind }) => kind === "mode")?.name;
  const mode = field && node.state?.find(({ name }) => name === field)?.value;
  if (node.leader === id) return "leads";
  if (node.result != null) return `= ${node.result}`;
  if (mode && !/^(idle|outside|released)$/.test(mode)) return mode;
  if (node.leader != null) return `follows ${nameOfId(scenario, node.leader)}`;
  return mode ?? "";
}

const Links = memo(({ scenario, places, radius }) => {
  return linksOf(scenario).map(({ a, b, weight, oneWay }) => {
    const [from, to] = [places[a], places[b]];
    const far = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const stop = oneWay ? 1 - (radius + 5) / far : 1;
    const end = along(from, to, stop, 0);
    const middle = along(from, to, 0.5, 9);
    return html`<g key=${`${a}-${b}`}>
      <line class="link" x1=${from.x} y1=${from.y} x2=${end.x} y2=${end.y} marker-end=${oneWay ? "url(#way)" : null} />
      ${weight != null && weight !== 1 && html`<text class="weight" x=${middle.x} y=${middle.y + 4}>${weight}</text>`}
    </g>`;
  });
});

/** A coin: here is the token, or there it goes. */
function Token({ x, y, size }) {
  return html`<g class="token" transform=${`translate(${x.toFixed(1)} ${y.toFixed(1)})`}>
    <circle r=${size} /><circle class="rim" r=${size * 0.62} /></g>`;
}

/*
 * What changes rarely is a component of its own that is given only what it shows. To keep what it drew (useMemo) would
 * not do: preact links it to all that was drawn with it, which would then be kept for ever.
 */
const NodePicture = memo(({ scenario, node, place, radius, shown, role, token, chosen, onSelect }) => {
  const name = nameOf(scenario, node);
  const { attr, id } = scenario.nodes[node];
  const small = radius < 14;
  const told = attr != null && attr !== id && !small ? attr : null;
  const has = (part) => shown.split(" ").includes(part);
  const choose = () => onSelect(node);
  return html`<g class=${shown} transform=${`translate(${place.x.toFixed(1)} ${place.y.toFixed(1)})`} role="button"
      tabindex="0" aria-pressed=${chosen ? "true" : "false"} aria-label=${["node", name, told, small ? null : role, token && "has the token"].filter((part) => part != null && part !== "" && part !== false).join(" ")}
      data-node=${node} onClick=${choose}
      onKeyDown=${onActivate(choose)}>
    <circle class="halo" r=${radius + 5} />
    <circle class="body" r=${radius} />
    <text class="name" y=${small ? 3.5 : 5} style=${{ fontSize: `${nameSize(radius)}px` }}>${name}</text>
    ${told != null && html`<text class="attr" x=${radius + 3} y=${-radius + 6}>${` ${told}`}</text>`}
    ${has("dead") && !small && html`<path class="cross thick" transform=${`translate(${radius * 0.75} ${-radius * 0.75})`} d=${CROSS} />`}
    ${has("leads") && !small && html`<path class="crown" transform=${`translate(0 ${-radius - 4})`} d=${CROWN} />`}
    ${token && html`<${Token} x=${radius * 0.8} y=${-radius * 0.8} size=${small ? 5 : 8} />`}
    ${!small && html`<text class="role" y=${radius + 15}>${` ${role}`}</text>`}
  </g>`;
});

function NodeMark({ scenario, node, place, radius, chosen, acted, differs, onSelect }) {
  const leads = node.leader === scenario.nodes[node.node].id;
  const role = roleOf(scenario, node);
  const changed = node.state?.some((field) => field.changed);
  const shown = classes(
    "node",
    !node.alive && "dead",
    leads && node.alive && "leads",
    node.inside && "within",
    node.waiting && "waiting",
    /red/.test(role) && "red",
    chosen && "chosen",
    acted && "acted",
    changed && "changed",
    differs && "differs",
  );
  return html`<${NodePicture} scenario=${scenario} node=${node.node} place=${place} radius=${radius} shown=${shown} role=${role}
    token=${holdsToken(scenario, node)} chosen=${chosen} onSelect=${onSelect} />`;
}

/** Where messages stand: the first of a channel nearest to its receiver, none upon its sender. */
export function placeMessages(messages, places, radius) {
  const waiting = new Map();
  return messages.map((message) => {
    const channel = `${message.from}>${message.to}`;
    const ahead = waiting.get(channel) ?? 0;
    waiting.set(channel, ahead + 1);
    const [from, to] = [places[message.from], places[message.to]];
    if (message.from === message.to) return { message, x: from.x + radius, y: from.y - radius - 12 * (ahead + 1) };
    const far = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const least = Math.min(0.5, (radius + 14) / far);
    const first = Math.max(least, Math.min(0.68, 1 - (radius + 40) / far));
    const share = first - (ahead * 30) / far;
    const aside = Math.max(0, (least - share) * far * 0.8); // where the way is too short, they queue beside it
    return { message, ...along(from, to, Math.max(least, share), BEND + aside) };
  });
}

const MessageMark = memo(
  ({ scenario, serial, kind, text, from, to, deliverable, x, y, start, chosen, onDeliver, onChoose }) => {
    const short = shortText({ kind, text }, scenario.nodes.length);
    const width = Math.max(20, short.length * 7.4 + 10);
    const title = `${text} from ${nameOf(scenario, from)} to ${nameOf(scenario, to)}`;
    const label = `${short}: ${deliverable ? `deliver ${title}` : `${title}, waits behind another`}`;
    const act = (event) => {
      event.stopPropagation();
      if (event.shiftKey || !deliverable) onChoose(serial);
      else onDeliver(serial);
    };
    const more = (event) => {
      event.preventDefault();
      onChoose(serial);
    };
    const coin = isToken({ kind });
    const shown = classes(
      "message",
      `k${kindColour(scenario, kind)}`,
      !deliverable && "later",
      chosen && "chosen",
      coin && "coin",
    );
    const way = { "--from-x": `${(start.x - x).toFixed(0)}px`, "--from-y": `${(start.y - y).toFixed(0)}px` };
    return html`<g class=${shown} transform=${`translate(${x.toFixed(1)} ${y.toFixed(1)})`} role="button" tabindex="0"
      data-serial=${serial} aria-label=${label} onClick=${act} onContextMenu=${more} onKeyDown=${onActivate(act)}>
    <title>${title}${deliverable ? " — click to deliver, right-click for more" : ""}</title>
    <g class="flies" style=${way}>
      <circle class="reach" r="18" />
      ${coin && html`<${Token} x=${0} y=${0} size=${16} />`}
      <rect class="pill" x=${-width / 2} y="-10" width=${width} height="20" rx="10" />
      <text y="4">${short}</text>
    </g>
  </g>`;
  },
);

/** The message that has just arrived, on its last way. */
function Arrival({ scenario, entry, flight, places }) {
  if (!flight || entry?.received == null) return null;
  const to = places[flight.to];
  const from = along(places[flight.from], to, 0.6, BEND);
  return html`<g key=${`a${entry.step}`} class=${`arrival k${kindColour(scenario, flight.kind)}`}
      transform=${`translate(${to.x.toFixed(1)} ${to.y.toFixed(1)})`} aria-hidden="true">
    <g class="flies" style=${{ "--from-x": `${(from.x - to.x).toFixed(0)}px`, "--from-y": `${(from.y - to.y).toFixed(0)}px` }}>
      <rect class="pill" x="-12" y="-10" width="24" height="20" rx="10" />
    </g>
  </g>`;
}

export function Network({
  scenario,
  now,
  entry,
  flight,
  chosen,
  message,
  differs,
  label,
  zoom,
  onSelect,
  onDeliver,
  onChoose,
}) {
  const usual = useMemo(() => layOut(scenario), [scenario]);
  const { places, width, height } = useMemo(() => lookCloser(usual, zoom), [usual, zoom]);
  const radius = nodeRadius(scenario.nodes.length);
  const spots = placeMessages(now.messages, places, radius);
  return html`<svg class=${`network ${scenario.topology}`} viewBox=${`0 0 ${width.toFixed(0)} ${height.toFixed(0)}`} role="group" aria-label=${label ?? "network"}>
    <defs>
      <marker id="way" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">
        <path class="tip" d="M0 1.2L10 5L0 8.8L2.4 5z" />
      </marker>
      <marker id="up" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="5" markerHeight="5" orient="auto">
        <path class="tip strong" d="M0 1.2L10 5L0 8.8L2.4 5z" />
      </marker>
    </defs>
    <${Links} scenario=${scenario} places=${places} radius=${radius} />
    <${Structure} scenario=${scenario} now=${now} places=${places} radius=${radius} chosen=${chosen} />
    ${now.nodes.map(
      (node) => html`<${NodeMark} key=${node.node} scenario=${scenario} node=${node} place=${places[node.node]}
        radius=${radius} chosen=${chosen === node.node} acted=${entry?.node === node.node} differs=${differs?.has(node.node)} onSelect=${onSelect} />`,
    )}
    <${Arrival} scenario=${scenario} entry=${entry} flight=${flight} places=${places} />
    ${now.messages_untold > 0 && html`<text class="weight" x=${width / 2} y=${height - 6}>and ${count(now.messages_untold, "message")} more under way</text>`}
    ${spots.map(
      ({
        message: { serial, kind, text, from, to, deliverable },
        x,
        y,
      }) => html`<${MessageMark} key=${serial} scenario=${scenario}
        serial=${serial} kind=${kind} text=${text} from=${from} to=${to} deliverable=${deliverable} x=${x} y=${y}
        start=${places[from]} chosen=${message === serial} onDeliver=${onDeliver} onChoose=${onChoose} />`,
    )}
  </svg>`;
}
