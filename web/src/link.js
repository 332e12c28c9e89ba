// SPDX-License-Identifier: MIT
/*
 * A link that holds a story: the words of the scenario and the indices of the events that were chosen.
 *
 *   #s=bully+-n+5&i=AAB~DC     the words; the steps
 *   &f=NAME:CONTENT            a file that the words name
 *
 * An index is a base-64 digit of five bits, or several with a sixth bit that says "more follows". One that is a text, as
 * it is where no number says which way an event went, stands in parentheses. ~N repeats the index before it N times more.
 */
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const SHORTEST_REPEAT = 3;

function writeNumber(number) {
  let text = "";
  let rest = number;
  for (; rest >= 32; rest = Math.floor(rest / 32)) text += DIGITS[32 + (rest % 32)];
  return text + DIGITS[rest];
}

function writeIndex(index) {
  return typeof index === "string" ? `(${writeText(index)})` : writeNumber(index);
}

export function packIndices(indices) {
  let text = "";
  for (let i = 0; i < indices.length; ) {
    let same = 1;
    while (indices[i + same] === indices[i]) same++;
    const one = writeIndex(indices[i]);
    text += same > SHORTEST_REPEAT ? `${one}~${writeNumber(same - 1)}` : one.repeat(same);
    i += same;
  }
  return text;
}

export function unpackIndices(text) {
  const indices = [];
  let value = 0;
  let scale = 1;
  let repeats = false;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (letter === "(") {
      const end = text.indexOf(")", at);
      if (end < 0 || scale > 1 || repeats) throw new Error("a text that does not end, or not as a step");
      indices.push(readText(text.slice(at + 1, end)));
      at = end;
      continue;
    }
    if (letter === "~") {
      if (repeats || !indices.length) throw new Error("a repeat without a step before it");
      repeats = true;
      continue;
    }
    const digit = DIGITS.indexOf(letter);
    if (digit < 0) throw new Error(`${letter} is no step`);
    value += (digit % 32) * scale;
    scale *= 32;
    if (digit >= 32) continue;
    if (repeats && value > 100000) throw new Error("too many steps");
    if (repeats) for (let i = 0; i < value; i++) indices.push(indices[indices.length - 1]);
    else indices.push(value);
    [value, scale, repeats] = [0, 1, false];
  }
  if (scale > 1 || repeats) throw new Error("it ends in the middle of a step");
  return indices;
}

function writeText(text) {
  return encodeURIComponent(text)
    .replace(/%20/g, "+")
    .replace(/%(2C|3A|40|2F|3D)/g, (code) => decodeURIComponent(code));
}

function readText(text) {
  return decodeURIComponent(text.replace(/\+/g, " "));
}

/** Splits what a person types, as a shell does; quotes keep spaces together. */
export function splitWords(line) {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? match[3]);
}

export function joinWords(words) {
  return words.map((word) => (word === "" || /[\s"']/.test(word) ? `'${word}'` : word)).join(" ");
}

/** The part of an address after #. */
export function writeLink(words, files, indices) {
  let text = `s=${writeText(joinWords(words))}`;
  for (const [name, content] of Object.entries(files ?? {})) text += `&f=${writeText(`${name}:${content}`)}`;
  return indices.length ? `${text}&i=${packIndices(indices)}` : text;
}

/** {words, files, indices}, or null if there is no story in it. Throws if there is one that cannot be read. */
export function readLink(hash) {
  const story = { words: null, files: {}, indices: [] };
  for (const part of hash.replace(/^#/, "").split("&")) {
    const key = part.slice(0, 2);
    const value = part.slice(2);
    if (key === "s=") story.words = splitWords(readText(value));
    else if (key === "i=") story.indices = unpackIndices(value);
    else if (key === "f=") {
      const [, name, content] = /^([^:]*):([\s\S]*)$/.exec(readText(value)) ?? [];
      if (name) story.files[name] = content;
    }
  }
  return story.words?.length ? story : null;
}
