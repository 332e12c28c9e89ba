// SPDX-License-Identifier: MIT
/*
 * What breaks an algorithm: for each assumption that it declares, ways to break that assumption in a small group. The
 * engine then looks for a story in which something that must hold does not. Nothing here knows a single algorithm.
 */
import { joinWords } from "./link.js";
import { count, html } from "./view.js";

const SMALL = 3; // nodes: enough to break what can be broken, few enough to try all orders
const STATES = 150000; // that a search may meet

/** Ways to break an assumption, as the catalogue words it. `limits` are a search's; `split` runs over a cut network. */
const WAYS = {
  "reliable links": [
    { what: "a message is lost", limits: { drops: 1 } },
    { what: "a message comes twice", limits: { duplicates: 1 } },
    { what: "the network falls into two", split: true },
  ],
  "FIFO links": [{ what: "messages overtake each other", words: ["--unordered"] }],
  "FIFO links if nodes come back": [
    {
      what: "a node comes back, and messages overtake each other",
      words: ["--unordered"],
      limits: { crashes: 1, recoveries: 1 },
    },
  ],
  "no crash during a run": [{ what: "a node crashes", alone: true, limits: { crashes: 1 } }],
  "delays at most D": [{ what: "a message takes longer than D", limits: { timeouts: "any" } }],
  "failure detector": [
    { what: "a live node is suspected", limits: { suspicions: 1 } },
    { what: "a crash is not noticed", alone: true, limits: { crashes: 1, missed: 1 } },
  ],
  "no return of the dead": [
    { what: "a node crashes and comes back", alone: true, limits: { crashes: 1, recoveries: 1 } },
  ],
  "connected graph": [{ what: "a link is cut", limits: { cuts: 1 } }],
};

function smallWords(algorithm, nodes = SMALL) {
  return [algorithm.name, "-n", String(nodes)];
}

/** The words of a way: a group without new views where a crash is the point, a network in two halves where that is. */
function wordsOf(algorithm, way) {
  if (way.split)
    return [
      ...smallWords(algorithm, 4),
      "--partition",
      "1,2/3,4@0..",
      ...(algorithm.problem === "election" ? ["--start", "all"] : []),
    ];
  const views = way.alone && algorithm.problem === "mutex" ? ["--views", "off"] : [];
  return [...smallWords(algorithm), ...views, ...(way.words ?? [])];
}

/** Everything that one can break about an algorithm: [{assumption, what, words, limits, run}]. */
export function breaksOf(algorithm) {
  const found = [];
  for (const assumption of algorithm?.assumes ?? [])
    for (const way of WAYS[assumption] ?? []) {
      if (way.split && algorithm.topology !== "complete") continue;
      found.push({
        assumption,
        what: way.what,
        words: wordsOf(algorithm, way),
        limits: { timeouts: "accurate", states: STATES, ...way.limits },
        run: Boolean(way.split),
      });
    }
  return found;
}

/** The scenarios of the texts in which this algorithm ends with a violation. */
export function toldBreaks(algorithm, gallery) {
  return Object.values(gallery.scenarios).flatMap(({ title, runs }) =>
    runs
      .filter(({ verdict, words }) => verdict === "violated" && words[0] === algorithm?.name)
      .map(({ about, words }) => ({ title, about, words })),
  );
}

export function Breakers({ controller, gallery }) {
  const { scenario, catalogue } = controller.state;
  const algorithm = catalogue?.find(({ name }) => name === scenario.algorithm);
  const ways = breaksOf(algorithm);
  const told = toldBreaks(algorithm, gallery);
  if (!ways.length && !told.length) return null;
  const assumptions = [...new Set(ways.map(({ assumption }) => assumption))];
  return html`<section class="breakers" aria-label="what breaks it">
    <h3>What breaks it</h3>
    <p class="dim">It assumes the following. Break one: in a group of ${count(SMALL, "node")} every order is tried, and the first violation is shown.</p>
    <dl class="rows">${assumptions.map(
      (assumption) =>
        html`<div key=${assumption}><dt>${assumption}</dt><dd>${ways
          .filter((way) => way.assumption === assumption)
          .map(
            (way) =>
              html`<button key=${way.what} data-break=${way.what} title=${joinWords(way.words)} onClick=${() => controller.breakBy(way)}>${way.what}</button>`,
          )}</dd></div>`,
    )}
    ${
      told.length > 0 &&
      html`<div><dt>in the texts</dt><dd>${told.map(
        ({ title, about, words }, i) =>
          html`<button key=${i} data-told title=${about} onClick=${() => controller.breakBy({ what: title, about, words, run: true })}>${title}</button>`,
      )}</dd></div>`
    }</dl>
  </section>`;
}

/** What the last attempt to break it has shown. */
export function Broken({ controller }) {
  const { broken, search, now } = controller.state;
  if (!broken || (search && !search.done)) return null;
  const violated = now.properties.filter(({ verdict }) => verdict === "violated");
  return html`<section class="card broken" role="status" aria-label="what was broken">
    <h2>${broken.assumption ? `Without “${broken.assumption}”` : broken.what} <button class="quiet close" aria-label="close" onClick=${() => controller.set({ broken: null, search: null })}>✕</button></h2>
    ${broken.assumption && html`<p>Here ${broken.what}.</p>`}
    ${broken.about && html`<p>${broken.about}</p>`}
    ${
      violated.length
        ? html`<p class="bad">⚑ ${violated.map(({ name, detail }) => html`<b key=${name}>${name}</b>${detail ? `: ${detail}. ` : ". "}`)}</p>
          <p><button class="primary" data-do="watch" onClick=${() => controller.watch()}>Watch how it comes about</button></p>`
        : html`<p>Nothing is violated${search ? ` in any of ${count(search.states ?? 0, "state")}${search.complete ? "" : ", and there are more"}` : ""}. It takes more than that.</p>`
    }
  </section>`;
}
