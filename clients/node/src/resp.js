// SPDX-License-Identifier: MIT
// RESP3, the protocol of Redis: commands out, replies in.

import { ofReply } from "./errors.js";

export function encode(words) {
  const parts = words.map((word) => Buffer.from(String(word)));
  return Buffer.concat([
    Buffer.from(`*${parts.length}\r\n`),
    ...parts.flatMap((part) => [Buffer.from(`$${part.length}\r\n`), part, Buffer.from("\r\n")]),
  ]);
}

function integer(text) {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new Error(`${text} is no safe integer`);
  return number;
}

/** Takes bytes as they come and gives out whole replies: [is a push, value]. An error is a value, too. */
export class Reader {
  #bytes = Buffer.alloc(0);
  #at = 0;

  feed(bytes) {
    this.#bytes = this.#bytes.length ? Buffer.concat([this.#bytes, bytes]) : bytes;
  }

  /** The next reply; undefined: not all of it is there. */
  next() {
    this.#at = 0;
    const push = this.#bytes[0] === 0x3e;
    const value = this.#value();
    if (value === undefined) return undefined;
    this.#bytes = this.#bytes.subarray(this.#at);
    return [push, value];
  }

  #value() {
    const end = this.#bytes.indexOf("\r\n", this.#at);
    if (end < 0) return undefined;
    const kind = String.fromCharCode(this.#bytes[this.#at]);
    const rest = this.#bytes.toString("utf8", this.#at + 1, end);
    this.#at = end + 2;
    switch (kind) {
      case "+":
        return rest;
      case "-":
        return ofReply(rest);
      case ":":
        return integer(rest);
      case ",":
        return Number(rest);
      case "#":
        return rest === "t";
      case "_":
        return null;
      case "$":
      case "=":
        return Number(rest) < 0 ? null : this.#bulk(Number(rest), kind === "=" ? 4 : 0);
      case "*":
      case "~":
      case ">":
        return Number(rest) < 0 ? null : this.#list(Number(rest));
      case "%": {
        const items = this.#list(2 * Number(rest));
        if (items === undefined) return undefined;
        return Object.fromEntries(items.flatMap((key, i) => (i % 2 ? [] : [[key, items[i + 1]]])));
      }
      default:
        throw new Error(`no RESP: ${kind}${rest.slice(0, 40)}`);
    }
  }

  #bulk(length, skip) {
    const start = this.#at + skip;
    if (this.#bytes.length < this.#at + length + 2) return undefined;
    this.#at += length + 2;
    return this.#bytes.toString("utf8", start, this.#at - 2);
  }

  #list(count) {
    const items = [];
    while (items.length < count) {
      const item = this.#value();
      if (item === undefined) return undefined;
      items.push(item);
    }
    return items;
  }
}
