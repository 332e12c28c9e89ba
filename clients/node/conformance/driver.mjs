// SPDX-License-Identifier: MIT
// Does what the conformance suite says, a line of JSON each, by this client.

import readline from "node:readline";

import { Client, ConclaveError } from "../src/index.js";

const holds = {};
const waits = {};
const runs = {};
let client;

function tell(what) {
  process.stdout.write(`${JSON.stringify({ ...what, at: Number(process.hrtime.bigint()) / 1e6 })}\n`);
}

/** A leader or the holder of a lock, or the members of a group. */
function describe(told) {
  if (Array.isArray(told)) return { values: told.map(({ value }) => value ?? "").join(","), count: told.length };
  return { leader: told?.id ?? null, fence: told?.fence ?? 0, value: told?.value ?? null };
}

/** How long a step waits; another step may cancel it. */
function waiting(step) {
  waits[step.hold] = new AbortController();
  return { waitMs: step.wait, signal: waits[step.hold].signal };
}

const lost = (step) => () => tell({ event: "lost", hold: step.hold });

const verbs = {
  open({ options }) {
    const { servers, timeout: timeoutMs, key } = options;
    const { tls_ca: tlsCa, tls_certificate: tlsCertificate, tls_private_key: tlsPrivateKey } = options;
    client = new Client({ servers, timeoutMs, key, tlsCa, tlsCertificate, tlsPrivateKey });
    return { cannot: [] };
  },
  close: () => client.close(),

  // ---- locks and leadership ----

  async lock(step) {
    const { ttl: ttlMs, shared, permits, priority, value, reentrant, hold } = step;
    const onAskback = (_, asker) => tell({ event: "askback", hold, asker });
    const onPosition = (position) => tell({ event: "position", hold, position });
    const options = { ttlMs, shared, permits, priority, value, reentrant, onLost: lost(step), onAskback, onPosition };
    Object.assign(options, waiting(step));
    if (step.do === "twice") await verbs.nested(step, options);
    else holds[hold] = await client[step.names ? "lockAll" : step.do](step.names ?? step.name, options);
    return { fence: holds[hold].fence, fences: holds[hold].fences };
  },
  /** The end of the body is one release, so it takes it once more there. */
  nested: ({ name, hold }, options) =>
    client.withLock(name, options, async () => {
      await client.lock(name, { reentrant: true, waitMs: 0 });
      holds[hold] = await client.lock(name, { reentrant: true, waitMs: 0 });
    }),
  twice: (step) => verbs.lock(step),
  campaign: (step) => verbs.lock(step),
  lock_all: (step) => verbs.lock(step),
  release: ({ hold }) => holds[hold].release(),
  held: ({ hold }) => ({ held: holds[hold].held }),
  cancel: ({ hold }) => waits[hold].abort(),
  upgrade: async (step) => ({ fence: await holds[step.hold].upgrade(waiting(step)) }),
  downgrade: async ({ hold }) => ({ fence: await holds[hold].downgrade() }),
  leader: async ({ name }) => describe(await client.leader(name)),
  observe({ do: verb, name, watch }) {
    (async () => {
      for await (const told of client[verb](name)) tell({ event: "news", watch, ...describe(told) });
    })();
  },
  watch: (step) => verbs.observe(step),
  watch_members: (step) => verbs.observe({ ...step, do: "watchMembers" }),
  askback: async ({ name }) => ({ count: await client.askBack(name) }),
  waiters: async ({ name }) => ({ count: (await client.waiters(name)).length }),

  // ---- recipes ----

  sequence: async ({ name, count, within: waitMs }) => ({ fence: await client.sequence(name, count, { waitMs }) }),
  barrier: async (step) => ({ number: await client.barrier(step.name, step.parties, waiting(step)) }),
  async enter(step) {
    const options = { ...waiting(step), onLost: lost(step) };
    holds[step.hold] = await client.enterBarrier(step.name, step.parties, options);
    return { number: holds[step.hold].number };
  },
  leave: async (step) => void (await holds[step.hold].leave(waiting(step))),
  latch_set: async ({ name, count }) => ({ number: Number(await client.latch(name).set(count)) }),
  latch_down: async ({ name, count }) => ({ number: await client.latch(name).down(count) }),
  latch_wait: (step) => client.latch(step.name).wait(waiting(step)),
  latch_left: async ({ name }) => ({ number: (await client.latch(name).left()) ?? -1 }),
  latch_clear: ({ name }) => client.latch(name).clear(),
  async join({ name, value, hold }) {
    holds[hold] = await client.join(name, { value, onChange: (number) => tell({ event: "number", hold, number }) });
    return { number: holds[hold].number };
  },
  members: async ({ name }) => describe(await client.members(name)),
  /** Its body ends when the suite says so. */
  once: (step) =>
    new Promise((resolve, reject) => {
      const body = (run) => {
        holds[step.hold] = run;
        resolve({ fence: run.fence });
        return new Promise((finish, giveUp) => {
          Object.assign(runs[step.hold], { finish, giveUp });
        });
      };
      const ended = client.once(step.name, { everyMs: step.every, onLost: lost(step) }, body);
      runs[step.hold] = { ended };
      ended.then(() => resolve({}), reject);
    }),
  async finish({ hold }) {
    runs[hold].finish();
    await runs[hold].ended;
  },
  async give_up({ hold }) {
    runs[hold].giveUp(new Error("given up"));
    await runs[hold].ended.catch(() => {});
  },
  last_run: async ({ name }) => ({ fence: (await client.lastRun(name)).fence ?? 0 }),
};

async function follow(step) {
  try {
    tell({ id: step.id, ok: (await verbs[step.do](step)) ?? {} });
  } catch (error) {
    const kind = error instanceof ConclaveError ? error.kind : error.name === "AbortError" ? "cancelled" : "bug";
    tell({ id: step.id, error: kind, why: kind === "bug" ? error.stack : error.message });
  }
}

readline
  .createInterface({ input: process.stdin })
  .on("line", (line) => follow(JSON.parse(line)))
  .on("close", () => process.exit(0));
