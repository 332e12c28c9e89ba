// SPDX-License-Identifier: MIT
/*
 * The engine's WebAssembly module. It does no I/O; the C library that is linked with it imports a few functions of
 * WASI all the same, which say here that there is nothing.
 *
 * A handler that fails an assertion calls cv_failed(). No call can jump back over others in WebAssembly, so that ends
 * the call by an exception, and the engine is asked to complete the step (src/explore/wasm/wasm_trap.c).
 */
const NOT_HERE = 52; // WASI's ENOSYS

class Failure extends Error {}

/** A C string. */
function readText(memory, place) {
  const bytes = new Uint8Array(memory.buffer);
  return new TextDecoder().decode(bytes.subarray(place, bytes.indexOf(0, place)));
}

function imports(module, memory) {
  const functions = {
    fd_write(_file, parts, count, written) {
      const view = new DataView(memory().buffer);
      let bytes = 0;
      let text = "";
      for (let i = 0; i < count; i++) {
        const length = view.getUint32(parts + 8 * i + 4, true);
        text += new TextDecoder().decode(new Uint8Array(memory().buffer, view.getUint32(parts + 8 * i, true), length));
        bytes += length;
      }
      console.error(text.trimEnd());
      view.setUint32(written, bytes, true);
      return 0;
    },
    clock_time_get(_clock, _precision, time) {
      new DataView(memory().buffer).setBigUint64(time, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    proc_exit(code) {
      throw new Error(`the engine ended with ${code}`);
    },
    cv_failed(text) {
      throw new Failure(readText(memory(), text));
    },
  };
  const found = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    if (kind !== "function") continue;
    found[from] ??= {};
    found[from][name] = functions[name] ?? (() => NOT_HERE);
  }
  return found;
}

/** call(name, arguments): the engine's answer, as text. */
export async function loadEngine(module) {
  let instance = null;
  const memory = () => instance.exports.memory;
  instance = await WebAssembly.instantiate(module, imports(module, memory));
  const engine = instance.exports;
  engine._initialize?.();

  function give(text) {
    const bytes = new TextEncoder().encode(text);
    const place = engine.cv_wasm_alloc(bytes.length + 1);
    if (!place) throw new Error("the engine is out of memory");
    const target = new Uint8Array(memory().buffer, place, bytes.length + 1);
    target.set(bytes);
    target[bytes.length] = 0;
    return place;
  }

  function call(name, words) {
    const stack = engine.__stack_pointer.value;
    try {
      return readText(memory(), engine.cv_wasm_call(give(name), give(JSON.stringify(words))));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      engine.__stack_pointer.value = stack;
      return call("failed", { why: error.message });
    }
  }

  return call;
}
