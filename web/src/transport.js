// SPDX-License-Identifier: MIT
/* Through time: back, the primary button that goes on, a slider, playing by itself. */
import { firstViolation } from "./story.js";
import { html } from "./view.js";

const ICONS = {
  start: "M4 4v12M16 4L7 10l9 6z",
  end: "M16 4v12M4 4l9 6-9 6z",
  play: "M5 3l11 7-11 7z",
  pause: "M6 4v12M14 4v12",
};

function Icon({ name }) {
  return html`<svg class="icon-picture" width="20" height="20" viewBox="0 0 20 20" aria-hidden="true"><path d=${ICONS[name]} /></svg>`;
}

export function Transport({ story, playing, next, controller }) {
  const { cursor, line } = story;
  const end = line.length - 1;
  const ahead = Boolean(cursor.next);
  const violation = firstViolation(story);
  const can = ahead || Boolean(next);
  return html`<nav class="transport" aria-label="time">
    <button class="icon" title="to the start (Home)" aria-label="to the start" data-do="start" disabled=${cursor.depth === 0} onClick=${() => controller.toStart()}><${Icon} name="start" /></button>
    <button class="icon wide" title="back (←)" aria-label="one step back" data-do="back" disabled=${cursor.depth === 0} onClick=${() => controller.back()}>← Back</button>
    <button class="primary" title="what is likely next (→ or Space)" data-do="step" disabled=${!can} onClick=${() => controller.forward()}>
      ${ahead ? "Forward" : "Step"} →</button>
    <button class="icon" title="to the end of this branch, or let all happen (End)" aria-label="to the end" data-do="end" disabled=${!can}
      onClick=${() => (ahead ? controller.toEnd() : controller.run())}><${Icon} name="end" /></button>
    <button class="icon" title="play (p)" aria-label=${playing ? "pause" : "play"} aria-pressed=${playing ? "true" : "false"} data-do="play" disabled=${!can && !playing}
      onClick=${() => controller.play()}><${Icon} name=${playing ? "pause" : "play"} /></button>
    <label class="slider">
      <span class="step-number">step <b>${cursor.depth}</b> of ${end}</span>
      <span class="track">
        <input type="range" min="0" max=${end} value=${cursor.depth} aria-label="step" data-do="slider"
          onInput=${(event) => controller.goToDepth(Number(event.currentTarget.value))} />
        ${violation && end > 0 && html`<span class="flag" style=${{ left: `${(100 * violation.depth) / end}%` }} title=${`violated at step ${violation.depth}`} aria-hidden="true">⚑</span>`}
      </span>
    </label>
  </nav>`;
}
