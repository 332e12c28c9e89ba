// SPDX-License-Identifier: MIT
/*
 * What the page asks of an engine, made of the engine's own calls (src/explore/explore.h), so that a step costs one
 * message to the worker and one answer. `call(name, arguments)` gives the engine's answer, at once or later.
 */
const SLICE_MS = 40;
const FIRST_SLICE = 200; // states

export class EngineError extends Error {}

async function ask(call, name, words = {}) {
  const answer = await call(name, words);
  if (answer?.error) throw new EngineError(answer.error);
  return answer;
}

/** What is drawn: the present state, what can happen, and the steps since `from`. */
async function look(call, from, node) {
  const now = await ask(call, "now");
  const events = await ask(call, "events");
  const history = now.step > from ? await ask(call, "history", { from, to: now.step }) : [];
  const own = node == null || now.nodes.length <= 16 ? [] : await ask(call, "events", { node });
  return { now, events, own, history };
}

async function takeAll(call, indices) {
  for (let i = 0; i < indices.length; i++)
    try {
      await ask(call, "do", { index: indices[i] });
    } catch (error) {
      if (error instanceof EngineError) throw new EngineError(`step ${i + 1}: ${error.message}`);
      throw error;
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
    return { scenario, files: loaded?.files, trouble, ...(await look(call, 0)) };
  },

  /** Goes back to a step and takes others from there. */
  async travel(call, { from, back, indices, node }) {
    if (back != null) await ask(call, "go", { step: back });
    await takeAll(call, indices);
    return look(call, back ?? from, node);
  },

  /** Takes one step. */
  async step(call, { from, index, node }) {
    const did = await ask(call, "do", { index });
    return { did, ...(await look(call, from, node)) };
  },

  async run(call, { from, count }) {
    const ran = await ask(call, "run", { count });
    return { ran, ...(await look(call, from)) };
  },

  /** What concerns a node. */
  async own(call, { node }) {
    return ask(call, "events", { node });
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
