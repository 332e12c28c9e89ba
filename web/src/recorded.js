// SPDX-License-Identifier: MIT
/*
 * A story that live nodes have recorded. It is looked at like any other, forwards and backwards; but no algorithm runs,
 * so nothing else can happen in it.
 */
import { html } from "./view.js";

export const WHY_NOTHING_ELSE =
  "This story was recorded by live nodes. The files hold what the nodes did, not the states of their algorithms, so nothing else can happen in it.";
export const WHY_NO_LINK = "A link cannot hold what live nodes have recorded. Save the story as a page, and send that.";

/** Is it a file that a live node has recorded? */
export function isRecording(text) {
  try {
    return JSON.parse(text.slice(0, text.search(/\n|$/))).type === "live";
  } catch {
    return false;
  }
}

/** What texts of files begin with. */
export function beginOf(texts) {
  return isRecording(texts[0]) ? { recordings: texts, fromStart: true } : { replay: texts[0], fromStart: true };
}

function titleOf({ subject, name, algorithm }) {
  return `${subject}${name ? ` ${name}` : ""}, by ${algorithm}`;
}

/** Microseconds, as people read them. */
export function readTime(microseconds) {
  if (microseconds < 1000) return `${microseconds} µs`;
  if (microseconds < 1000000) return `${(microseconds / 1000).toFixed(1)} ms`;
  return `${(microseconds / 1000000).toFixed(3)} s`;
}

/** In the place of what can happen next: why there is no such list, when it was, and of which name this is told. */
export function Recorded({ recording, entry, onChoose }) {
  const { names, chosen, missing } = recording;
  return html`<section class="card recorded" aria-label="a recorded story">
    <h2>Recorded</h2>
    <p>${WHY_NOTHING_ELSE}</p>
    <label class="field">of <select data-do="name" value=${chosen} onChange=${(event) => onChoose(Number(event.currentTarget.value))}>
      ${names.map((name, i) => html`<option key=${i} value=${i}>${titleOf(name)} (${name.lines})</option>`)}</select></label>
    <p class="moment">${readTime(entry?.time ?? 0)} after the beginning</p>
    ${missing.length > 0 && html`<p class="dim">There is no file of ${missing.join(", ")}: what went on there is known only as far as the others tell.</p>`}
    <p class="dim"><code>conclave judge</code> says whether it held.</p>
  </section>`;
}
