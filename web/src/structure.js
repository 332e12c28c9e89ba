// SPDX-License-Identifier: MIT
/* What an algorithm has built over the network: trees, clusters, voting sets, the token; and which links are cut. */
import { along } from "./layout.js";
import { nameOf } from "./marks.js";
import { classes, count, html } from "./view.js";

const COLOURS = 6;
const MOST_SETS = 36; // in a list

// ---- clusters and trees ----

/** The pieces of a cluster's area: the tree that holds it together, so that it never covers a node of another. */
export function clusterPath(members, parents, places) {
  const at = (node) => `${places[node].x.toFixed(1)} ${places[node].y.toFixed(1)}`;
  return members.map((node) => `M${at(node)}L${at(parents[node])}`).join("");
}

/** A cluster of one tree over all nodes says nothing that the tree does not. */
function clustersOf(scenario) {
  const clusters = scenario.clusters ?? [];
  return scenario.parents && clusters.length > 1 ? clusters : [];
}

export function clusterOf(scenario, node) {
  return clustersOf(scenario).find(({ members }) => members.includes(node)) ?? null;
}

function Clusters({ scenario, places, radius, chosen }) {
  return clustersOf(scenario).map(
    (
      { head, members },
      i,
    ) => html`<g key=${head} class=${classes("cluster", `c${i % COLOURS}`, members.includes(chosen) && "chosen")} data-cluster=${head}>
      <title>the cluster of ${nameOf(scenario, head)}: ${members.map((node) => nameOf(scenario, node)).join(", ")}</title>
      <path class="area" style=${{ strokeWidth: `${2 * radius + 26}px` }} d=${clusterPath(members, scenario.parents, places)} />
      <circle class="cluster-head" cx=${places[head].x} cy=${places[head].y} r=${radius + 4.5} />
    </g>`,
  );
}

/** The parent of a node in a tree: as it knows it by itself, or as the scenario has it. */
export function parentOf(scenario, { node, parent }) {
  const found = parent ?? scenario.parents?.[node];
  return found === node ? null : (found ?? null);
}

/** An arrow from each node to the one that `target` names. */
function Arrows({ kind, target, now, places, radius }) {
  return now.nodes.map((node) => {
    const goal = target(node);
    if (goal == null || goal === node.node || !node.alive || !places[goal]) return null;
    const [from, to] = [places[node.node], places[goal]];
    const far = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const end = along(from, to, 1 - (radius + 6) / far, 0);
    return html`<line key=${node.node} class=${kind} data-child=${node.node} x1=${from.x} y1=${from.y} x2=${end.x} y2=${end.y}
      marker-end="url(#up)" />`;
  });
}

function Lines({ pairs, kind, places }) {
  return pairs.map(
    ([a, b]) =>
      html`<line key=${`${a}-${b}`} class=${kind} x1=${places[a].x} y1=${places[a].y} x2=${places[b].x} y2=${places[b].y} />`,
  );
}

// ---- voting sets ----

/** Whose voting sets matter now: of those that want to enter or are inside, and of the node that is looked at. */
export function askers(scenario, now, chosen) {
  if (!scenario.quorums?.length) return [];
  return now.nodes.filter((node) => node.alive && (node.waiting || node.inside || node.node === chosen));
}

function VotingSets({ scenario, now, places, radius, chosen }) {
  return askers(scenario, now, chosen).map(({ node, inside }) => {
    const kind = classes("voters", `c${node % COLOURS}`, inside && "entered", node === chosen && "chosen");
    const others = scenario.quorums[node].filter((voter) => voter !== node);
    return html`<g key=${node} class=${kind} data-voters-of=${node}>
      <title>the voting set of ${nameOf(scenario, node)}: ${scenario.quorums[node].map((voter) => nameOf(scenario, voter)).join(", ")}</title>
      ${others.map((voter) => {
        const end = along(places[node], places[voter], 0.5, 14);
        return html`<path key=${voter} d=${`M${places[node].x} ${places[node].y}Q${end.x} ${end.y} ${places[voter].x} ${places[voter].y}`} />`;
      })}
      ${
        node === chosen &&
        scenario.quorums[node].map(
          (voter) =>
            html`<circle key=${voter} class="member" cx=${places[voter].x} cy=${places[voter].y} r=${radius + 7} />`,
        )
      }
    </g>`;
  });
}

/** Everything that lies between the links and the nodes. */
export function Structure({ scenario, now, places, radius, chosen }) {
  return html`
    <${Clusters} scenario=${scenario} places=${places} radius=${radius} chosen=${chosen} />
    <${Lines} kind="preferred" pairs=${scenario.preferred ?? []} places=${places} />
    <${Arrows} kind="tree" target=${(node) => parentOf(scenario, node)} now=${now} places=${places} radius=${radius} />
    <${Arrows} kind="tree way" target=${({ via }) => via} now=${now} places=${places} radius=${radius} />
    <${Lines} kind="cut" pairs=${now.cuts ?? []} places=${places} />
    <${VotingSets} scenario=${scenario} now=${now} places=${places} radius=${radius} chosen=${chosen} />`;
}

/** The sets in words, each with the colour that it has on the picture. */
export function Sets({ scenario, node, onSelect }) {
  const names = (members) => members.map((member) => nameOf(scenario, member)).join(", ");
  const clusters = clustersOf(scenario).map(({ head, members }, i) => ({ of: head, members, colour: i % COLOURS }));
  const voting = (scenario.quorums ?? []).map((members, of) => ({ of, members, colour: of % COLOURS }));
  const sets = (clusters.length ? clusters : voting).slice(0, MOST_SETS);
  if (!sets.length) return null;
  return html`<section class="card sets" aria-label=${clusters.length ? "clusters" : "voting sets"}>
    <h2>${clusters.length ? `${count(clusters.length, "cluster")}, each with its tree` : "Voting sets"}</h2>
    <ul>${sets.map(
      ({ of, members, colour }) => html`<li key=${of}>
      <button class="quiet" aria-pressed=${node === of ? "true" : "false"} data-set=${of} onClick=${() => onSelect(of)}>
        <span class=${`swatch c${colour}`} aria-hidden="true"></span>${nameOf(scenario, of)}</button>
      <span>${names(members)}</span></li>`,
    )}</ul>
    ${clusters.length > 0 && scenario.preferred?.length > 0 && html`<p class="dim">Thick lines join clusters: the preferred edges.</p>`}
  </section>`;
}

// ---- the token ----

export const isToken = ({ kind }) => kind === "token";

/** Is the token here? An algorithm with a token has a flag for it in its state. */
export function holdsToken(scenario, node) {
  if (!node.alive || !scenario.kinds.some(({ name }) => name === "token")) return false;
  const field = node.state?.find(({ name }) => name === "holds" || name === "token");
  return field != null && /^(yes|true|1)$/.test(String(field.value));
}

/** Where the tokens are, in words; null if the algorithm has none. */
export function tokenLine(scenario, now) {
  if (scenario.problem !== "mutex" || !scenario.kinds.some(({ name }) => name === "token")) return null;
  const held = now.nodes.filter((node) => holdsToken(scenario, node)).map(({ node }) => `at ${nameOf(scenario, node)}`);
  const flying = now.messages
    .filter(isToken)
    .map(({ from, to }) => `on its way from ${nameOf(scenario, from)} to ${nameOf(scenario, to)}`);
  const places = [...held, ...flying];
  if (!places.length) return "the token is lost";
  if (places.length === 1) return `the token is ${places[0]}`;
  return `${places.length} tokens: ${places.join(", ")}`;
}
