// SPDX-License-Identifier: MIT
/* The worker: an engine in WebAssembly, and nothing that draws. */
import { operations } from "./session.js";
import { loadEngine } from "./wasm.js";

let call = null;
let stopped = false;

/** Lets messages in, such as a wish to stop. */
function breathe() {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

async function answer({ id, name, data }) {
  try {
    const tell = async (progress) => {
      self.postMessage({ id, progress });
      await breathe();
      return !stopped;
    };
    self.postMessage({ id, result: await operations[name](call, data ?? {}, tell) });
  } catch (error) {
    self.postMessage({ id, error: error.message, kind: error.constructor.name });
  }
}

self.onmessage = async ({ data }) => {
  if (data.module) {
    call = await loadEngine(data.module);
    self.postMessage({ ready: true });
  } else if (data.stop) {
    stopped = true;
  } else {
    stopped = false;
    await answer(data);
  }
};
