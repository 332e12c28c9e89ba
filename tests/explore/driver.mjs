// SPDX-License-Identifier: MIT
/*
 * The explorer's WebAssembly behind a pipe, as driver.c is the native one.
 *
 * usage: node driver.mjs MODULE.wasm [--walks FILE FROM TO]
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const STEPS = 40;
const [path, ...options] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(path));
const decoder = new TextDecoder();
const encoder = new TextEncoder();
let engine = null;

class Failure extends Error {}

function bytesAt(place) {
  const memory = new Uint8Array(engine.memory.buffer);
  return memory.subarray(place, memory.indexOf(0, place));
}

function load() {
  const imports = { env: { cv_failed: (text) => { throw new Failure(decoder.decode(bytesAt(text))); } } };
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] ??= () => 52;
  }
  engine = new WebAssembly.Instance(module, imports).exports;
  engine._initialize?.();
}

function give(text) {
  const bytes = encoder.encode(text);
  const place = engine.cv_wasm_alloc(bytes.length + 1);
  const target = new Uint8Array(engine.memory.buffer, place, bytes.length + 1);
  target.set(bytes);
  target[bytes.length] = 0;
  return place;
}

function call(name, words) {
  const stack = engine.__stack_pointer.value;
  try {
    return bytesAt(engine.cv_wasm_call(give(name), give(words)));
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure;
    engine.__stack_pointer.value = stack;
    return call("failed", JSON.stringify({ why: failure.message }));
  }
}

let hash = 2166136261;
let chance = 0;

function draw(below) {
  chance ^= chance << 13;
  chance ^= chance >>> 17;
  chance ^= chance << 5;
  return (chance >>> 0) % below;
}

function ask(name, words) {
  const answer = call(name, words);
  for (let i = 0; i < answer.length; i++) hash = Math.imul(hash ^ answer[i], 16777619);
  return answer;
}

function step() {
  const events = decoder.decode(ask("events", ""));
  const indices = [...events.matchAll(/\{"index":(\d+)/g)].map((found) => found[1]);
  if (!indices.length) return false;
  const which = draw(2) ? draw(Math.min(indices.length, 4)) : draw(indices.length);
  ask("do", `{"index":${indices[which]}}`);
  ask("now", "");
  return true;
}

function walk(scenario, number) {
  let steps = 0;
  chance = (Math.imul(number, 2654435761) + 1) | 0;
  ask("begin", scenario);
  while (steps < STEPS && step()) steps++;
  ask("history", "");
  ask("story", "");
  ask("export", "");
  ask("go", `{"step":${steps ? draw(steps) : 0}}`);
  ask("run", '{"count":20}');
  ask("now", "");
}

load();
if (options[0] === "--walks") {
  const scenarios = readFileSync(options[1], "utf8").split("\n").filter((line) => line);
  const [from, to] = options.slice(2).map(Number);
  for (let number = from; number < to; number++) walk(scenarios[number % scenarios.length], number);
  console.log(`${to - from} walks, ${(hash >>> 0).toString(16).padStart(8, "0")}`);
} else {
  for await (const line of createInterface({ input: process.stdin })) {
    const space = line.indexOf(" ");
    const [name, words] = space < 0 ? [line, ""] : [line.slice(0, space), line.slice(space + 1)];
    process.stdout.write(`${decoder.decode(call(name, words))}\n`);
  }
}
