// SPDX-License-Identifier: MIT
// What callers say, before a server hears of it: an argument that makes no sense is Invalid.

import { Invalid } from "./errors.js";

const VALUE_BYTES = 1024;
// What servers accept at most.
export const MOST_PERMITS = 1000000;
export const MOST_PARTIES = 500;
export const MOST_NUMBERS = 4096;
export const MOST_PRIORITY = 2 ** 32 - 1;
const LONGEST_MS = 2 ** 40;

/** An option that is not known is a mistake: `ttl` in place of `ttlMs` would silently be ten seconds. */
export function known(options, names) {
  const list = names.split(" ");
  if (typeof options !== "object" || options === null) throw new Invalid(`options ${options}: expected an object`);
  for (const key of Object.keys(options))
    if (options[key] !== undefined && !list.includes(key))
      throw new Invalid(`no option ${key}: expected some of ${list.join(", ")}`);
  for (const [key, value] of Object.entries(options))
    if (/^on[A-Z]/.test(key) && value !== undefined) expectFunction(key, value);
  return options;
}

function brief(value) {
  const shown = String(value);
  return shown.length <= 60 ? shown : `${shown.slice(0, 57)}...`;
}

export function whole(what, value, least, most) {
  if (!Number.isSafeInteger(value) || value < least || value > most)
    throw new Invalid(`${what} ${brief(value)}: expected a whole number, ${least} to ${most}`);
  return value;
}

export function expectFunction(what, value) {
  if (typeof value !== "function") throw new Invalid(`${what} ${String(value)}: expected a function`);
  return value;
}

function expectName(name) {
  const length = typeof name === "string" ? Buffer.byteLength(name) : 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
  if (!length || length > 512 || /[\x00-\x1f\x7f]/.test(name) || name.isWellFormed?.() === false)
    throw new Invalid("a name has 1 to 512 bytes and no control characters");
}

/** The names, and the options that may be given with them. */
export function checked(names, options = {}, allowed = "") {
  if (!Array.isArray(names)) throw new Invalid(`several names at once are an array, not ${typeof names}`);
  for (const name of names) expectName(name);
  const { waitMs, ttlMs = 10000, everyMs, signal, onLost, onAskback, onPosition } = known(options, allowed);
  for (const [key, value] of Object.entries({ waitMs, ttlMs, everyMs }))
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 0 && value <= LONGEST_MS))
      throw new Invalid(`${key} ${brief(value)}: expected whole milliseconds, 0 to ${LONGEST_MS}`);
  return { names, name: names.join(", "), waitMs, ttlMs, signal, onLost, onAskback, onPosition };
}

/** As an option of a command. */
export function published(value) {
  if (value === undefined || value === null) return [];
  const length = Buffer.byteLength(String(value));
  if (length > VALUE_BYTES) throw new Invalid(`a value of ${length} bytes: expected at most ${VALUE_BYTES}`);
  return ["VALUE", value];
}
