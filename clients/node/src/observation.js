// SPDX-License-Identifier: MIT
// Leaders, holders and members as they change. If the server is lost or hangs, it goes on with another one.

import { within } from "./connection.js";

const LOOK_AGAIN_MS = 2000; // an observed election is asked about so often: a server that hangs pushes nothing
const PAUSE_MS = 50;

/** A leader as LEADER and OBSERVE tell it; null: nobody leads. */
export function readLeader(items) {
  return items && { id: items[0], fence: items[1], value: items[3] ?? null };
}

/** The members of a group, as MEMBERS tells them. */
export function readMembers(items) {
  return items.map(([number, client, value]) => ({ number, client, value }));
}

/** Begins with the words `first` and looks again with others; a push has the word `push`, the name, and what is read. */
export async function* observe(client, name, { first, again, push, read, ofPush }, signal) {
  let last;
  let connection = null;
  const news = [];
  let wake = () => {};
  const see = (told) => {
    const text = JSON.stringify(told);
    if (last === text) return;
    last = text;
    news.push(told);
    wake();
  };
  const nap = (ms) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (signal.aborted) wake();
    });
  const stop = () => wake();
  signal.addEventListener("abort", stop);
  try {
    while (!signal.aborted) {
      try {
        if (!connection || connection.closed) {
          connection = await client.connect();
          connection.onClose = stop;
          connection.onPush = ([kind, of, ...more]) => {
            if (kind === push && of === name) see(ofPush(more));
          };
          see(read(await within(client.timeoutMs, connection.ask(...first))));
        } else if (!news.length) {
          see(read(await within(client.timeoutMs, connection.ask(...again))));
        }
      } catch (error) {
        if (signal.aborted) return;
        connection?.close(error.message);
        client.giveUp();
        await nap(PAUSE_MS);
      }
      while (news.length && !signal.aborted) yield news.shift();
      if (!signal.aborted && !connection?.closed) await nap(LOOK_AGAIN_MS);
    }
  } finally {
    signal.removeEventListener("abort", stop);
    connection?.close();
  }
}
