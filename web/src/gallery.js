// SPDX-License-Identifier: MIT
/*
 * The gallery: a few stories to begin with, every scenario of the texts, every algorithm. The page is built with it
 * (scripts/page.py): scenarios/, docs/texts.md and the head comments of the algorithms.
 */
import { Breakers } from "./breaks.js";
import { joinWords, splitWords } from "./link.js";
import { html, useEffect, useMemo, useRef, useState } from "./view.js";

const PROBLEMS = {
  election: "Elections",
  mutex: "Mutual exclusion",
  synchronizer: "Synchronizers",
  synchronous: "Synchronous algorithms",
  paths: "Shortest paths",
};

const MAEKAWA =
  "maekawa-plain --ids 0..5 --set quorums=sets:0:0-1-2,1:1-3-5,2:2-4-5,3:1-2-3,4:1-2-4,5:1-2-5 " +
  "--request 0@0,1@0,2@0 --lag 1:5:request=2 --lag 2:2:request=2 --lag 0:1:request=2";
const WIRELESS =
  "wireless --labels a..j --lag 3:5:election=2 --lag 4:6:election=2 --ids 1..10 --attr 4,6,3,2,1,4,2,8,5,4 " +
  "--graph edges:1-2,1-10,2-3,2-7,7-10,3-4,3-5,4-5,4-6,5-7,5-6,7-8,8-9,6-9 --start 1";

const FEATURED = [
  {
    title: "Split brain",
    about: "The network falls into two, and each half elects a leader of its own.",
    line: "bully --ids 0..3 --partition 0,1/2,3@0..60 --start 0,2 --detect 99",
    play: true, // until both halves have a leader
  },
  {
    title: "The bully",
    about: "Process 7 has died. 4 notices it and calls an election.",
    line: "bully --ids 0..7 --crash 7@0 --start 4",
  },
  {
    title: "A ring elects",
    about: "Messages go round; only the best id survives.",
    line: "chang-roberts --ids 3,32,5,80,6,12 --start 3,32",
  },
  {
    title: "A lock without a server",
    about: "Everybody asks everybody; the earliest request wins.",
    line: "ricart-agrawala --ids 0..3 --request 0@0,2@0",
  },
  { title: "Votes that deadlock", about: "Three processes each hold a vote that another needs.", line: MAEKAWA },
  {
    title: "A tree over the air",
    about: "Nodes that know only who is in range elect the best of all.",
    line: WIRELESS,
  },
];

/** A line of words in which no option is broken in two. */
function Line({ words }) {
  const parts = joinWords(words).split(" ");
  return html`<code>${parts.map((part, i) => [i ? " " : "", /^--/.test(part) ? html`<span class="option">${part}</span>` : part])}</code>`;
}

/** The first words of a text: enough to recognize it. */
function Story({ title, about, words, verdict, play, onOpen }) {
  return html`<button class="story" data-words=${joinWords(words)} onClick=${() => onOpen({ words, about: { title, about }, overlay: verdict === "search" ? "break" : null, play })}>
    <span class="story-title">${title}</span>
    ${about && html`<span class="story-about">${about}</span>`}
    <${Line} words=${words} />
    ${verdict === "violated" && html`<span class="bad">ends with a violation</span>`}
  </button>`;
}

/** An item of a text as stories: the runs of its scenario, or its own command. */
function storiesOf(item, scenarios) {
  if (!item.scenario) return [{ ...item, about: null }];
  const { runs } = scenarios[item.scenario] ?? { runs: [] };
  return runs.map(({ words, about, verdict }, i) => ({
    title: i ? `${item.title} (${i + 1})` : item.title,
    about,
    words,
    verdict,
  }));
}

function Text({ text, scenarios, matches, onOpen }) {
  const stories = text.items
    .flatMap((item) => storiesOf(item, scenarios))
    .filter((story) => matches(story.title, joinWords(story.words)));
  if (!stories.length) return null;
  return html`<section><h3>${text.name}</h3><div class="stories">
    ${stories.map((story, i) => html`<${Story} key=${i} ...${story} onOpen=${onOpen} />`)}</div></section>`;
}

/** The first sentence of an algorithm's idea. */
function inShort(idea) {
  const text = idea?.idea.find(({ drawing }) => !drawing)?.text ?? "";
  return /^.*?\.(?= |$)/.exec(text)?.[0] ?? text;
}

function Algorithm({ algorithm, about, onOpen }) {
  return html`<${Story} title=${algorithm.title} about=${about} words=${defaultWords(algorithm)} onOpen=${onOpen} />`;
}

/** A group that shows an algorithm well. */
export function defaultWords(algorithm) {
  if (algorithm.problem === "election" && algorithm.topology.startsWith("ring"))
    return [algorithm.name, "--ids", "3,7,1,9,4", "--start", "all"];
  if (algorithm.topology === "graph") return [algorithm.name, "-n", "6"];
  return [algorithm.name, "-n", algorithm.problem === "election" ? "5" : "4"];
}

export function Gallery({ gallery, catalogue, canClose, onOpen, onFiles, onClose }) {
  const [wanted, setWanted] = useState("");
  const box = useRef(null);
  useEffect(() => box.current?.focus(), []);
  const matches = (...texts) => !wanted || texts.some((text) => text.toLowerCase().includes(wanted.toLowerCase()));
  const openChosen = async ({ currentTarget }) => {
    const texts = await Promise.all([...currentTarget.files].map((file) => file.text()));
    if (texts.length) onFiles(texts);
  };
  const problems = useMemo(() => Object.entries(PROBLEMS), []);
  const featured = FEATURED.filter(({ title, about, line }) => matches(title, about, line));
  return html`<div class="overlay gallery" role="dialog" aria-modal="true" aria-label="scenarios">
    <header>
      <h2>Choose a story</h2>
      <input type="search" ref=${box} placeholder="search: token, crash, maekawa …" aria-label="search the scenarios" value=${wanted}
        onInput=${(event) => setWanted(event.currentTarget.value)} />
      <label class="quiet file">Open a file<input type="file" multiple aria-label="open a replay or trace file" onChange=${openChosen} /></label>
      ${canClose && html`<button class="quiet close" aria-label="close" onClick=${onClose}>✕</button>`}
    </header>
    <div class="overlay-body" tabindex="0" role="region" aria-label="stories">
      ${
        featured.length > 0 &&
        html`<section><div class="stories featured">${featured.map(
          ({ title, about, line, play }) => html`<${Story} key=${title} title=${title} about=${about} play=${play}
        words=${splitWords(line)} onOpen=${onOpen} />`,
        )}</div></section>`
      }
      ${problems.map(([problem, title]) => {
        const algorithms = (catalogue ?? [])
          .filter((it) => it.problem === problem)
          .map((it) => ({ algorithm: it, about: inShort(gallery.ideas[it.name]) }))
          .filter(({ algorithm: { title, name }, about }) => matches(title, name, about));
        return (
          algorithms.length > 0 &&
          html`<section key=${problem}><h3>${title}</h3><div class="stories small">
          ${algorithms.map(({ algorithm, about }) => html`<${Algorithm} key=${algorithm.name} algorithm=${algorithm} about=${about} onOpen=${onOpen} />`)}</div></section>`
        );
      })}
      ${gallery.texts.map((text) => html`<${Text} key=${text.name} text=${text} scenarios=${gallery.scenarios} matches=${matches} onOpen=${onOpen} />`)}
    </div>
  </div>`;
}

/** What an algorithm is about: its idea, what it costs and assumes, what breaks it. */
export function Idea({ scenario, catalogue, gallery, about, controller }) {
  const ideas = [scenario.algorithm, scenario.app].map((name) => gallery.ideas[name]).filter(Boolean);
  const algorithm = catalogue?.find(({ name }) => name === scenario.algorithm);
  return html`<section class="card idea" aria-label="the algorithm">
    <h2>${scenario.title}</h2>
    ${about && html`<p class="about"><b>${about.title}.</b> ${about.about}</p>`}
    ${ideas.map((idea) => html`<${IdeaText} key=${idea.citation} idea=${idea} />`)}
    ${ideas.length === 0 && algorithm && html`<p class="dim citation">${algorithm.citation}</p>`}
    <${Breakers} controller=${controller} gallery=${gallery} />
  </section>`;
}

function IdeaText({ idea }) {
  const part = ({ drawing, text }, i) =>
    drawing ? html`<pre tabindex="0" key=${i}>${text}</pre>` : html`<p key=${i}>${text}</p>`;
  return html`<div>
    ${idea.idea.map(part)}
    <dl class="rows">${idea.rows.map(([name, text]) => html`<div key=${name}><dt>${name}</dt><dd>${text}</dd></div>`)}</dl>
    <p class="dim citation">${idea.citation}</p>
  </div>`;
}
