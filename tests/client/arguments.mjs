// SPDX-License-Identifier: MIT
// Arguments that make no sense are told at once, as Invalid: there is no server here that could be asked.

import assert from "node:assert/strict";
import { Client } from "conclave-client";

const client = new Client({ servers: "127.0.0.1:1" });
const body = () => assert.fail("the body ran");
const wrong = [
  () => client.lock("x", { shared: true, permits: 3 }),
  () => client.lock("x", { priority: 3 }),
  () => client.lock("x", { onLost: 5 }),
  () => client.lock("x", null),
  () => client.lock("x", { waitMs: 1.5 }),
  () => client.lock("x", { waitMs: 2 ** 41 }),
  () => client.lock("x", { permits: 0 }),
  () => client.lock("x", { permits: 1.5 }),
  () => client.lock("x", { permits: Number.NaN }),
  () => client.campaign("x", { priority: -1 }),
  () => client.sequence("x", 0),
  () => client.sequence("x", 1, { wait: 5 }),
  () => client.barrier("x", 1.5),
  () => client.latch("x").set("3"),
  () => client.campaign("x", { shared: true }),
  () => client.campaign("x", { value: "y".repeat(1025) }),
  () => client.lockAll("orders"),
  () => client.lockAll(["x"], { shared: true }),
  () => client.withLock("x"),
  () => client.withLock("x", {}, 5),
  () => client.whileLeading("x", {}),
  () => client.doubleBarrier("x", 2),
  () => client.barrier("x", 2, { wait: 5 }),
  () => client.enterBarrier("x", 2, { ttlMs: 5 }),
  () => client.join("x", { val: "v" }),
  () => client.join("x", "v"),
  () => client.join("x", { value: "y".repeat(1025) }),
  () => client.latch("x").wait({ wait: 5 }),
  () => client.once("x", { every: 5, everyMs: 5 }, body),
  () => client.once("x", { everyMs: 0 }, body),
  () => client.once("x"),
  () => client.once("x", { everyMs: 5 }),
  () => client.observe("x", { sig: 1 }).next(),
  () => client.watchMembers("x", { wait: 1 }).next(),
  () => client.execute(),
  () => new Client({ server: "127.0.0.1:1" }),
  () => new Client({ timeout: 5 }),
  () => new Client({ timeoutMs: 0 }),
  () => new Client({ name: "two words" }),
];
for (const ask of wrong)
  await assert.rejects(async () => ask(), { kind: "invalid", message: /^[^\n]+$/ }, String(ask));
await assert.rejects(client.lock("x", { ttlMs: undefined, permits: undefined }), { kind: "no-server" });
const closing = client.close();
for (const ask of [() => client.lock("z"), () => client.leader("z"), () => client.join("z")])
  await assert.rejects(ask, { kind: "invalid", message: "the client is closed" });
await closing;
await assert.rejects(client.lock("z"), { kind: "invalid" });
