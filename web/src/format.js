// SPDX-License-Identifier: MIT
/* Numbers and times as people read them, in the explorer and on the node's page. */

/** A number of things in words: count(1, "step"), count(2, "branch", "branches"). */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

const VIEW_BITS = 34; // CV_VIEW_BITS of conclave/algorithm.h

/** A fence as everywhere: in a later view 1·3, the epoch and the entry. */
export function fence(number) {
  const epoch = Math.floor(number / 2 ** VIEW_BITS);
  return epoch ? `${epoch}·${number % 2 ** VIEW_BITS}` : String(number);
}

/** How long something lasts: 340 ms, 12 s, 3 min 5 s, 2 h, 4 d 1 h. */
export function age(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (large, unit, small, rest) => (small ? `${large} ${unit} ${small} ${rest}` : `${large} ${unit}`);
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return two(Math.floor(seconds / 60), "min", seconds % 60, "s");
  if (seconds < 86400) return two(Math.floor(seconds / 3600), "h", Math.floor(seconds / 60) % 60, "min");
  return two(Math.floor(seconds / 86400), "d", Math.floor(seconds / 3600) % 24, "h");
}

/** The same with one decimal place where that tells something. */
export function seconds(ms) {
  if (ms >= 10000) return `${Math.round(ms / 1000)} s`;
  return ms >= 1000 ? `${Number((ms / 1000).toFixed(1))} s` : `${ms} ms`;
}

/** The time of day. */
export function clock(time) {
  return new Date(time).toLocaleTimeString("en-GB");
}
