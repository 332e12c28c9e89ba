// SPDX-License-Identifier: MIT
/*
 * The page's side of an engine: a worker with the WebAssembly module, or, for an algorithm that a program of yours
 * brings, the program that serves this page.
 */
import { EngineError, operations, unpack } from "./session.js";

/** The parts of the page that are no script of its own: the module and the worker's source. */
function part(id) {
  return document.getElementById(id).textContent;
}

let module = null;

async function compiled() {
  if (!module) {
    const bytes = Uint8Array.from(atob(part("engine-module")), (letter) => letter.charCodeAt(0));
    module = WebAssembly.compile(bytes);
  }
  return module;
}

class WorkerEngine {
  constructor() {
    this.waiting = new Map();
    this.last = 0;
  }

  async start() {
    const address = URL.createObjectURL(new Blob([part("engine-worker")], { type: "text/javascript" }));
    this.worker = new Worker(address);
    const ready = new Promise((resolve, reject) => {
      this.worker.onmessage = ({ data }) => (data.ready ? resolve() : this.hear(data));
      this.worker.onerror = (event) => reject(new Error(event.message || "the engine does not start"));
    });
    this.worker.postMessage({ module: await compiled() });
    await ready;
    this.worker.onerror = (event) => this.fail(event.message);
    URL.revokeObjectURL(address);
    return this;
  }

  hear({ id, result, error, kind, progress }) {
    const waiting = this.waiting.get(id);
    if (!waiting) return;
    if (progress) {
      waiting.tell?.(progress);
      return;
    }
    this.waiting.delete(id);
    if (error == null) waiting.resolve(unpack(result));
    else waiting.reject(kind === "EngineError" ? new EngineError(error) : new Error(error));
  }

  fail(message) {
    for (const { reject } of this.waiting.values()) reject(new Error(message));
    this.waiting.clear();
  }

  request(name, data, tell) {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, tell });
      this.worker.postMessage({ id, name, data });
    });
  }

  stop() {
    this.worker.postMessage({ stop: true });
  }

  end() {
    this.worker.terminate();
    this.fail("the engine was ended");
  }
}

class ServedEngine {
  constructor(address) {
    this.address = `${address}/${Math.random().toString(36).slice(2, 12)}`; // a session of its own
    this.stopped = false;
    this.turn = Promise.resolve();
  }

  async start() {
    return this;
  }

  async call(name, words) {
    try {
      const answer = await fetch(`${this.address}/${name}`, { method: "POST", body: JSON.stringify(words) });
      return await answer.text();
    } catch {
      throw new Error("The program that serves this page does not answer. Is conclave explore still running?");
    }
  }

  request(name, data, tell) {
    const before = this.turn;
    this.stopped = false;
    this.turn = (async () => {
      await before.catch(() => {});
      const answer = await operations[name](
        (word, words) => this.call(word, words),
        data ?? {},
        async (progress) => {
          tell?.(progress);
          return !this.stopped;
        },
      );
      return unpack(answer);
    })();
    return this.turn;
  }

  stop() {
    this.stopped = true;
  }

  end() {
    this.stopped = true;
  }
}

/** An engine of its own, ready to be asked. `served`: where the program that serves the page answers, if it does. */
export function startEngine(served) {
  return (served ? new ServedEngine(served) : new WorkerEngine()).start();
}
