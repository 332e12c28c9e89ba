// SPDX-License-Identifier: MIT
/*
 * What the page asks of an engine, made of the engine's own calls (src/explore/explore.h), so that a step costs one
 * message to the worker and one answer. `call(name, arguments)` gives the engine's answer as text, at once or later.
 *
 * What is drawn goes to the page as the engine's text: a text is copied quickly, a tree of objects is not.
 */
const SLICE_MS = 40;
const FIRST_SLICE = 200; // states

export class EngineError extends Error {}

async function ask(call, name, words = {}) {
  const answer = JSON.parse(await call(name, words));
  if (answer?.error) throw new EngineError(answer.error);
  return answer;
}

/** What is drawn: the present state, what can happen, what concerns a node and a message, the steps since `from`. */
async function look(call, { from, node, message }) {
  const words = {};
  if (from != null) words.from = from;
  if (node != null) words.node = node;
  if (message != null) words.message = message;
  const seen = await call("look", words);
  if (seen.startsWith('{"error"')) throw new EngineError(JSON.parse(seen).error);
  return { seen };
}

/** An answer as the page reads it: what is drawn stands in it by name. */
export function unpack(answer) {
  if (answer?.seen == null) return answer;
  const { seen, ...rest } = answer;
  return { own: [], ...rest, ...JSON.parse(seen) };
}

/** A step whose handler fails ends the engine's call; the steps after it are asked for again. */
async function takeAll(call, indices) {
  if (!indices.length) return;
  const { step: start } = await ask(call, "take", { indices: [] });
  for (let done = 0; done < indices.length; ) {
    const { step, trouble } = await ask(call, "take", { indices: indices.slice(done) });
    done = step - start;
    if (trouble) throw new EngineError(`step ${done + 1}: index ${indices[done]}: ${trouble}`);
  }
}

export const operations = {
  async catalogue(call) {
    return ask(call, "catalogue");
  },

  /** Begins a scenario, or plays files; takes the steps of a link. */
  async open(call, { words, files, replay, recordings, name, indices }) {
    let steps = indices ?? [];
    let loaded = null;
    if (replay != null || recordings) {
      loaded = await ask(call, "load", recordings ? { recordings, name } : { file: replay, files: files ?? {} });
      steps = (await ask(call, "history", { from: 0, to: loaded.step })).map(({ index }) => index);
      await ask(call, "go", { step: 0 });
    } else await ask(call, "begin", { words, files: files ?? {} });
    const down = (await ask(call, "now")).nodes.filter(({ alive }) => !alive).map(({ node }) => node);
    let trouble = loaded?.trouble ?? null;
    try {
      if (recordings) await ask(call, "run", { count: steps.length });
      else await takeAll(call, steps);
    } catch (error) {
      trouble = error.message;
    }
    const scenario = { ...(await ask(call, "scenario")), down, recording: recordings ? loaded : null };
    return { scenario, files: loaded?.files, trouble, ...(await look(call, { from: 0 })) };
  },

  /** Goes back to a step and takes others from there. */
  async travel(call, { back, indices, ...wanted }) {
    if (back != null) await ask(call, "go", { step: back });
    await takeAll(call, indices);
    return look(call, wanted);
  },

  /** Takes one step. */
  async step(call, { index, ...wanted }) {
    await ask(call, "do", { index });
    return look(call, wanted);
  },

  async run(call, { count, ...wanted }) {
    await ask(call, "run", { count });
    return look(call, wanted);
  },

  /** Looks again, as at another node. */
  async look(call, wanted) {
    return look(call, wanted);
  },

  /** The ways in which an event can go. */
  async ways(call, { index }) {
    return ask(call, "variants", { index });
  },

  async text(call, { name, words }) {
    return ask(call, name, words);
  },

  /** Looks for a state ahead; `tell` hears how far it has come, and its answer false ends the search. */
  async search(call, { goal, limits }, tell) {
    await ask(call, "search", { goal, limits });
    for (let slice = FIRST_SLICE; ; ) {
      const began = performance.now();
      const found = await ask(call, "search_more", { states: slice });
      if (found.done) return found;
      if (!(await tell(found))) return { ...found, done: true, found: false, complete: false, stopped: true };
      const took = Math.max(performance.now() - began, 1);
      slice = Math.max(FIRST_SLICE, Math.round(slice * Math.min(4, SLICE_MS / took)));
    }
  },
};
