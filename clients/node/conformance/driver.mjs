// SPDX-License-Identifier: MIT
// Does what the conformance suite says, a line of JSON each, by this client.

import readline from "node:readline";

import { Client, ConclaveError } from "../src/index.js";

const holds = {};
const waits = {};
let client;

function tell(what) {
  process.stdout.write(`${JSON.stringify({ ...what, at: Number(process.hrtime.bigint()) / 1e6 })}\n`);
}

function describe(leader) {
  return { leader: leader?.id ?? null, fence: leader?.fence ?? 0, value: leader?.value ?? null };
}

const verbs = {
  open({ options }) {
    const { servers, timeout: timeoutMs, key } = options;
    const { tls_ca: tlsCa, tls_certificate: tlsCertificate, tls_private_key: tlsPrivateKey } = options;
    client = new Client({ servers, timeoutMs, key, tlsCa, tlsCertificate, tlsPrivateKey });
    return { cannot: [] };
  },
  async lock(step) {
    waits[step.hold] = new AbortController();
    const { wait: waitMs, ttl: ttlMs, shared, permits, priority, value } = step;
    const onLost = () => tell({ event: "lost", hold: step.hold });
    const onAskback = (_, asker) => tell({ event: "askback", hold: step.hold, asker });
    const onPosition = (position) => tell({ event: "position", hold: step.hold, position });
    const options = { waitMs, ttlMs, shared, permits, priority, value, onLost, onAskback, onPosition };
    options.signal = waits[step.hold].signal;
    const verb = step.names ? "lockAll" : step.do;
    const hold = await client[verb](step.names ?? step.name, options);
    holds[step.hold] = hold;
    return { fence: hold.fence, fences: hold.fences };
  },
  campaign: (step) => verbs.lock(step),
  lock_all: (step) => verbs.lock(step),
  sequence: async ({ name, count }) => ({ fence: await client.sequence(name, count) }),
  release: ({ hold }) => holds[hold].release(),
  held: ({ hold }) => ({ held: holds[hold].held }),
  cancel: ({ hold }) => waits[hold].abort(),
  leader: async ({ name }) => describe(await client.leader(name)),
  observe({ do: verb, name, watch }) {
    (async () => {
      for await (const leader of client[verb](name)) tell({ event: "leader", watch, ...describe(leader) });
    })();
  },
  watch: (step) => verbs.observe(step),
  askback: async ({ name }) => ({ count: await client.execute("ASKBACK", name) }),
  close: () => client.close(),
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
