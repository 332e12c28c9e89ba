// SPDX-License-Identifier: MIT
/* "Predict the next step": before a step is shown, the class says what the node will do. */
import { summaryOf } from "./effects.js";
import { html } from "./view.js";

const CHOICES = 4;

/** Plausible wrong answers: what steps of this story did elsewhere, and what nodes of this algorithm can do. */
function wrongAnswers(scenario, line, entry, right) {
  const found = new Set();
  for (const place of line) if (place.entry) found.add(summaryOf(scenario, place.entry));
  found.add("does nothing more");
  const peer = scenario.nodes[(entry.node + 1) % scenario.nodes.length];
  for (const { name } of scenario.kinds) found.add(`sends ${name} to ${peer.label ?? peer.id}`);
  if (scenario.problem === "election") found.add("takes the lead");
  if (scenario.problem === "mutex") found.add("enters the critical section");
  found.delete(right);
  return [...found];
}

/** {text, choices, right}: what will the node do? Null if the step has no node to ask about. */
export function makeQuestion(scenario, line, event, entry) {
  if (entry.node == null) return null;
  const right = summaryOf(scenario, entry);
  const wrong = wrongAnswers(scenario, line, entry, right);
  const choices = [];
  for (let i = 0; i < CHOICES - 1 && wrong.length; i++)
    choices.push(wrong.splice((event.index * 7 + line.length * 3 + i) % wrong.length, 1)[0]);
  choices.splice((line.length + event.index) % (choices.length + 1), 0, right);
  return { index: event.index, text: event.text, node: entry.node, choices, right };
}

export function Predict({ scenario, predict, onAnswer, onEnd }) {
  const { question, right, asked, last } = predict;
  return html`<section class="card predict" role="dialog" aria-label="predict the next step">
    <h2>Predict <span class="number">${right} of ${asked}</span></h2>
    ${last && html`<p class=${last.was ? "good" : "bad"}>${last.was ? "Right." : "No:"} ${last.text}</p>`}
    ${
      question
        ? html`<p><b>${question.text}.</b> What will ${scenario.nodes[question.node].label ?? scenario.nodes[question.node].id} do?</p>
          <ul>${question.choices.map((choice) => html`<li key=${choice}><button class="event" data-choice=${choice === question.right ? "right" : "wrong"} onClick=${() => onAnswer(choice)}>${choice}</button></li>`)}</ul>`
        : html`<p class="dim">Press Step: you are asked before it happens.</p>`
    }
    <button class="quiet" onClick=${onEnd}>No more questions <kbd>q</kbd></button>
  </section>`;
}
