// SPDX-License-Identifier: MIT
// npm's clients and lock libraries, unchanged. Arguments: web/node_modules, and the sockets of three nodes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [modules, ...sockets] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { Redis } = require("ioredis");
const { createClient } = require("redis");
const { default: Redlock } = require("redlock");
const { Mutex } = require("redis-semaphore");

const RELEASE = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end';
const versions = ["ioredis", "redis", "redlock", "redis-semaphore"].map(
  (name) => `${name} ${JSON.parse(readFileSync(`${modules}/${name}/package.json`, "utf8")).version}`,
);

async function ioredis(one, other) {
  assert.equal(await one.set("i", "t", "PX", 60000, "NX"), "OK");
  assert.equal(await other.set("i", "u", "PX", 60000, "NX"), null);
  assert.equal(await other.get("i"), "t");
  one.defineCommand("release", { numberOfKeys: 1, lua: RELEASE });
  assert.equal(await one.release("i", "u"), 0);
  assert.equal(await one.release("i", "t"), 1);
  await assert.rejects(one.incr("i"), /unknown command/);
  await assert.rejects(one.subscribe("i"), /unknown command/);
  const fence = Number(await one.call("LOCK", "i"));
  assert.equal(await one.call("UNLOCK", "i", fence), 1, "a fence is a safe number");
}

async function nodeRedis(path, RESP) {
  const client = await createClient({ socket: { path }, RESP, name: "worker" }).connect();
  assert.equal(await client.set("n", "t", { NX: true, PX: 60000 }), "OK");
  assert.equal(await client.set("n", "u", { NX: true, PX: 60000 }), null);
  assert.equal(await client.get("n"), "t");
  assert.ok((await client.pTTL("n")) > 0);
  assert.equal(await client.eval(RELEASE, { keys: ["n"], arguments: ["t"] }), 1);
  assert.equal(await client.exists("n"), 0);
  await assert.rejects(client.hGetAll("n"), /unknown command/);
  client.destroy();
}

async function redlock(one, other) {
  const locks = new Redlock([one], { retryCount: 0 });
  const others = new Redlock([other], { retryCount: 200, retryDelay: 10 });
  let lock = await locks.acquire(["r1", "r2"], 60000);
  await assert.rejects(new Redlock([other], { retryCount: 0 }).acquire(["r3", "r2"], 60000));
  assert.equal(await one.exists("r3"), 0);
  lock = await lock.extend(120000);
  assert.ok((await one.pttl("r2")) > 60000);
  const next = others.acquire(["r1"], 60000);
  assert.equal((await lock.release()).attempts.length, 1);
  await (await next).release();
  await assert.rejects(lock.release());
  const seen = await locks.using(["r1"], 1000, { automaticExtensionThreshold: 900 }, async (signal) => {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.equal(signal.aborted, false);
    return one.exists("r1");
  });
  assert.equal(seen, 1, "extended by itself");
}

async function semaphore(one, other) {
  const mutex = new Mutex(one, "s", { lockTimeout: 400, refreshInterval: 50 });
  const rival = new Mutex(other, "s", { acquireTimeout: 50, retryInterval: 10 });
  await mutex.acquire();
  assert.equal(await rival.tryAcquire(), false);
  await new Promise((resolve) => setTimeout(resolve, 700));
  assert.equal(mutex.isAcquired, true, "refreshed beyond its time");
  assert.equal(await rival.tryAcquire(), false);
  await mutex.release();
  assert.equal(await rival.tryAcquire(), true);
  await rival.release();
}

const clients = sockets.map((path) => new Redis({ path, connectionName: "worker" }));
await ioredis(clients[0], clients[1]);
await nodeRedis(sockets[0], 2);
await nodeRedis(sockets[1], 3);
await redlock(clients[0], clients[2]);
await semaphore(clients[1], clients[2]);
for (const client of clients) client.disconnect();
console.log(versions.join(", "));
