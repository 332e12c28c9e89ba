// SPDX-License-Identifier: MIT
// Leaders as they change. If the server is lost or hangs, it goes on with another one.

import { within } from "./connection.js";

const LOOK_AGAIN_MS = 2000; // an observed election is asked about so often: a server that hangs pushes nothing
const PAUSE_MS = 50;

/** A leader as LEADER and OBSERVE tell it; null: nobody leads. */
export function readLeader(items) {
  return items && { id: items[0], fence: items[1], value: items[3] ?? null };
}

export async function* observe(client, name, verbs, signal) {
  let last;
  let connection = null;
  const news = [];
  let wake = () => {};
  const see = (leader) => {
    if (last !== undefined && last?.fence === leader?.fence && last?.id === leader?.id) return;
    last = leader;
    news.push(leader);
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
          connection.onPush = ([kind, of, id, fence, ...more]) => {
            if (kind === verbs.push && of === name) see(id ? readLeader([id, fence, null, ...more]) : null);
          };
          see(readLeader(await within(client.timeoutMs, connection.ask(verbs.first, name))));
        } else if (!news.length) {
          see(readLeader(await within(client.timeoutMs, connection.ask(verbs.again, name))));
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
