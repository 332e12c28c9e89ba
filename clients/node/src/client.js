// SPDX-License-Identifier: MIT
// A hold has a connection of its own. A timer renews it after a third of its time to live, with another server if need be,
// and the hold is over, for this process, a tenth of that time before the servers may give it to somebody else.

import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import {
  checked,
  expectFunction,
  known,
  MOST_NUMBERS,
  MOST_PARTIES,
  MOST_PERMITS,
  MOST_PRIORITY,
  published,
  whole,
} from "./arguments.js";
import { Broken, Connection, clock, ownName, readCredentials, readServers, within } from "./connection.js";
import { ConclaveError, Invalid, NoQuorum, NoServer, WaitTimeout } from "./errors.js";
import { Hold } from "./hold.js";
import { observe, readLeader, readMembers } from "./observation.js";
import { Inside, Latch, Membership, meet, Run } from "./recipes.js";

const PAUSE_MS = 50; // before another server is tried
const PATIENCE_MS = 5000; // so long other servers are tried when none answers during a wait
const PROBE_MS = 3000; // during a wait, a second connection tests so often whether the server hangs
const IDLE = 8; // connections kept for what comes next

const SETTINGS = "servers timeoutMs name key tlsCa tlsCertificate tlsPrivateKey";
const HOLD = "waitMs ttlMs signal onLost onAskback onPosition";

export class Client {
  #secret = randomBytes(16).toString("hex"); // of what it holds: with it other servers renew and end that, too
  #idle = [];
  #turn = 0;
  #closing = false; // what is asked for from now on is refused, and what is held is given back
  #closed = false;
  #end = new AbortController(); // of observations
  #within = new AsyncLocalStorage(); // the holds inside whose bodies this code runs
  holds = new Set();
  stays = new Set();

  constructor(options = {}) {
    const given = typeof options === "string" || Array.isArray(options) ? { servers: options } : options;
    this.servers = readServers(known(given, SETTINGS).servers);
    this.timeoutMs = given.timeoutMs ?? 2000;
    this.credentials = readCredentials(given);
    this.name = given.name ?? ownName();
    if (!(Number.isFinite(this.timeoutMs) && this.timeoutMs > 0))
      throw new Invalid(`timeoutMs ${this.timeoutMs}: expected milliseconds, more than 0`);
    if (!/^[!-~]{1,128}$/.test(this.name))
      throw new Invalid("a client's name has up to 128 printable characters of ASCII, and no spaces");
  }

  // ---- locks and leadership ----

  async lock(name, options = {}) {
    const want = checked([name], options, `${HOLD} shared permits reentrant`);
    if (options.shared && options.permits !== undefined) throw new Invalid(`${name}: permits expects no shared`);
    if (options.reentrant && (options.shared || options.permits !== undefined))
      throw new Invalid(`${name}: reentrant expects neither shared nor permits`);
    const around = options.reentrant && this.#within.getStore()?.find((hold) => hold.takeAgain?.(name));
    if (around) return around;
    const kind = options.shared
      ? ["SHARED"]
      : options.permits === undefined
        ? []
        : ["PERMITS", whole("permits", options.permits, 1, MOST_PERMITS)];
    return this.#acquire({ ...want, words: ["LOCK", name, ...kind], kind, ending: "UNLOCK" });
  }

  async lockAll(names, options = {}) {
    const want = checked(names, options, HOLD);
    if (!names.length || !want.ttlMs) throw new Invalid("several names at once expect a name, and a time to live");
    return this.#acquire({ ...want, several: true, words: ["LOCKALL"], kind: [], ending: "UNLOCK" });
  }

  async campaign(name, options = {}) {
    const want = checked([name], options, `${HOLD} priority value`);
    const value = published(options.value);
    const words = ["CAMPAIGN", name, ...value];
    if (options.priority !== undefined) words.push("PRIORITY", whole("priority", options.priority, 0, MOST_PRIORITY));
    return this.#acquire({ ...want, words, kind: ["LEADER", ...value], ending: "RESIGN" });
  }

  async withLock(name, options, body) {
    if (body === undefined) return this.withLock(name, {}, expectFunction(`the body under ${name}`, options));
    expectFunction(`the body under ${name}`, body);
    return this.#during(this.lock(name, options), body);
  }

  async whileLeading(name, options, body) {
    if (body === undefined) return this.whileLeading(name, {}, expectFunction(`the body under ${name}`, options));
    expectFunction(`the body under ${name}`, body);
    return this.#during(this.campaign(name, options), body);
  }

  async #during(acquired, body, end = (hold) => hold.release(), drop = end) {
    const hold = await acquired;
    let result;
    try {
      result = await this.#within.run([hold, ...(this.#within.getStore() ?? [])], body, hold);
    } catch (error) {
      await Promise.resolve(drop(hold)).catch(() => {}); // the body's own error says more
      throw hold.signal.aborted && error?.name === "AbortError" ? hold.loss(error) : error;
    }
    await end(hold);
    return result;
  }

  async leader(name) {
    return readLeader(await this.execute("LEADER", checked([name]).name));
  }

  observe(name, options) {
    return this.#observe(name, { first: "OBSERVE", again: "LEADER", push: "leader" }, options);
  }

  watch(name, options) {
    return this.#observe(name, { first: "WATCH", again: "WATCH", push: "lock" }, options);
  }

  #observe(name, { first, again, push }, options = {}) {
    const { signal } = checked([name], options, "signal");
    const ofPush = ([id, fence, ...more]) => (id ? readLeader([id, fence, null, ...more]) : null);
    const words = { first: [first, name], again: [again, name], push, read: readLeader, ofPush };
    return observe(this, name, words, this.#ends(signal));
  }

  #ends(signal) {
    return signal ? (AbortSignal.any?.([signal, this.#end.signal]) ?? signal) : this.#end.signal;
  }

  async waiters(name) {
    return this.execute("WAITERS", checked([name]).name);
  }

  async askBack(name) {
    return this.execute("ASKBACK", checked([name]).name);
  }

  // ---- recipes ----

  async sequence(name, count = 1, options = {}) {
    const want = checked([name], options, "waitMs signal");
    const words = ["SEQUENCE", name, whole("count", count, 1, MOST_NUMBERS)];
    return this.persist(want, async (connection, until) => {
      const first = await this.wait(connection, { ...want, words, untold: true }, until);
      this.keep(connection);
      return first;
    });
  }

  async barrier(name, parties, options) {
    const want = checked([name], options, "waitMs signal");
    const [connection, number] = await meet(this, {
      ...want,
      words: ["BARRIER", name, whole("parties", parties, 1, MOST_PARTIES)],
    });
    this.keep(connection);
    return number;
  }

  async enterBarrier(name, parties, options) {
    const words = ["BARRIER", name, whole("parties", parties, 1, MOST_PARTIES), "ENTER"];
    const [connection, number] = await meet(this, { ...checked([name], options, "waitMs signal onLost"), words });
    return new Inside(this, connection, name, number, options?.onLost);
  }

  /** Everybody has come when the body begins, and everybody has gone when this returns. */
  async doubleBarrier(name, parties, options, body) {
    if (body === undefined)
      return this.doubleBarrier(name, parties, {}, expectFunction(`the body inside ${name}`, options));
    expectFunction(`the body inside ${name}`, body);
    const leave = (inside) => inside.leave({ signal: options.signal });
    return this.#during(this.enterBarrier(name, parties, options), body, leave, (inside) => inside.abandon());
  }

  latch(name) {
    return new Latch(this, checked([name]).name);
  }

  async join(name, options = {}) {
    this.expectOpen();
    checked([name]);
    return new Membership(this, name, known(options, "value onChange")).begin();
  }

  async members(name) {
    return readMembers(await this.execute("MEMBERS", checked([name]).name));
  }

  watchMembers(name, options = {}) {
    const { signal } = checked([name], options, "signal");
    const again = ["MEMBERS", name];
    const words = { first: [...again, "WATCH"], again, push: "members", read: readMembers };
    return observe(this, name, { ...words, ofPush: ([items]) => readMembers(items) }, this.#ends(signal));
  }

  async once(name, options, body) {
    this.expectOpen();
    const { onLost } = checked([name], options, "everyMs onLost");
    if (!options?.everyMs) throw new Invalid(`${name}: expected everyMs, whole milliseconds above 0`);
    expectFunction(`what is done for ${name}`, body);
    const words = ["ONCE", name, "EVERY", options.everyMs];
    const [connection, fence] = await this.ask({ once: true }, ...words);
    if (fence === null) {
      this.keep(connection);
      return false;
    }
    const run = new Run(this, connection, name, fence, onLost);
    await this.#during(
      run,
      body,
      () => run.done(),
      () => run.abandon(),
    );
    return true;
  }

  async lastRun(name) {
    const [ended, fence, client, running] = await this.execute("ONCE", checked([name]).name);
    return { ended: ended === null ? null : new Date(ended), fence, client, running };
  }

  // ---- questions ----

  async execute(...words) {
    this.expectOpen();
    const [connection, reply] = await this.ask(...words);
    this.keep(connection);
    return reply;
  }

  /** The same, but no server is asked again. */
  async executeOnce(...words) {
    this.expectOpen();
    const [connection, reply] = await this.ask({ once: true }, ...words);
    this.keep(connection);
    return reply;
  }

  /** [the connection, which is the caller's then, the answer]. */
  async ask(...words) {
    if (!words.length) throw new Invalid("expected the words of a command");
    const once = words[0].once && words.shift();
    let failure;
    for (let attempt = once ? this.servers.length : 0; attempt <= this.servers.length; attempt++) {
      const connection = await this.connect();
      try {
        return [connection, await within(this.timeoutMs, connection.ask(...words))];
      } catch (error) {
        if (!(error instanceof Broken)) {
          this.keep(connection);
          throw error;
        }
        failure = new NoServer(`${connection.server.text}: ${error.message}`);
        connection.close(error.message);
        this.#forsake(connection.server);
      }
    }
    throw failure;
  }

  async close() {
    this.#closing = true;
    this.#end.abort();
    await Promise.allSettled([...this.stays].map((stay) => stay.abandon()));
    await Promise.allSettled([...this.holds].map((hold) => hold.release(true)));
    this.#closed = true;
    for (const connection of this.#idle) connection.close();
  }

  [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    return this.close();
  }

  // ---- connections: for holds and observations ----

  get secret() {
    return this.#secret;
  }

  expectOpen() {
    if (this.#closing) throw new Invalid("the client is closed");
  }

  /** The next question goes to another server. */
  giveUp() {
    this.#turn++;
  }

  /** The same, whatever connections to this one are there. */
  #forsake(server) {
    this.giveUp();
    const [forsaken, others] = [[], []];
    for (const connection of this.#idle) (connection.server === server ? forsaken : others).push(connection);
    this.#idle = others;
    for (const connection of forsaken) connection.close();
  }

  /** Tries each server once, however short a wait is: that is for the lock. */
  async connect(patienceMs = this.timeoutMs) {
    if (this.#closed) throw new Invalid("the client is closed");
    while (this.#idle.length) {
      const connection = this.#idle.pop();
      connection.needed = true;
      if (connection.idle) return connection;
    }
    const first = this.#turn; // others, who connect at the same time, move on as well
    let failure;
    for (let turn = first; turn < first + this.servers.length; turn++) {
      try {
        const connection = await Connection.open(this.servers[turn % this.servers.length], this, patienceMs);
        this.#turn = turn;
        return connection;
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  keep(connection) {
    if (connection.idle && this.#idle.length < IDLE && !this.#closed) {
      connection.onPush = connection.onClose = () => {};
      connection.needed = false;
      this.#idle.push(connection);
    } else {
      connection.close();
    }
  }

  // ---- waiting ----

  until(waitMs) {
    checked([], { waitMs }, "waitMs");
    return waitMs === undefined ? Infinity : clock() + waitMs;
  }

  /** attempt(connection, until) until it has an answer, with other servers if need be. */
  async persist({ waitMs, signal }, attempt) {
    const until = this.until(waitMs);
    this.expectOpen();
    let failing = null;
    let heard = false;
    let tries = 0;
    for (;;) {
      const asked = clock();
      let connection = null;
      try {
        signal?.throwIfAborted();
        connection = await this.connect();
        heard = true;
        const answer = await attempt(connection, until);
        if (answer) return answer;
      } catch (error) {
        if (!(error instanceof NoServer || error instanceof NoQuorum)) throw error;
        if (error instanceof NoServer && !heard) throw error; // there was no server in the first place
        const now = clock();
        failing = failing === null || now - asked > 1000 ? now : failing;
        tries = connection ? tries + 1 : this.servers.length;
        if (tries >= this.servers.length && (now >= until || now >= failing + PATIENCE_MS)) throw error;
        if (connection) this.#forsake(connection.server);
        await sleep(PAUSE_MS);
      }
    }
  }

  async #acquire(want) {
    return this.persist(want, async (connection, until) => {
      const asked = clock();
      const words = [...want.words];
      if (want.ttlMs) words.push("TTL", want.ttlMs, "SECRET", this.#secret);
      connection.onPush = ([kind, of, place]) => {
        if (kind === "position" && want.names.includes(of)) queueMicrotask(() => want.onPosition?.(place));
      };
      const last = want.several ? want.names : ["DEADLINE"];
      const undo = (reply) => this.#giveBack(want, readGrant(want, reply)[0]);
      const reply = await this.wait(connection, { words, last, undo, signal: want.signal }, until);
      const hold = reply && new Hold(this, want, connection, asked, ...readGrant(want, reply));
      if (hold?.held || (await hold?.confirm())) {
        if (!this.#closing) return hold.begin();
        await hold.begin().release(true);
        this.expectOpen();
      }
      this.keep(connection);
      // This process stood still when it was granted, for so long that it may be over.
      if (hold) this.#giveBack(want, hold.fences);
      if (!hold || clock() >= until) throw new WaitTimeout(`${want.name}: waited too long`);
      return null;
    });
  }

  /**
   * The answer to a command that may wait, without losing sight of the server. A wait that ends otherwise is withdrawn:
   * `undo` is called with an answer that was on its way. `borrowed`: after an error the connection is not for others.
   * `untold`: the server knows no WAIT, and this side ends it.
   */
  async wait(connection, { words, last = [], undo, signal, borrowed, untold }, until) {
    const end = untold ? Math.max(until, clock() + this.timeoutMs) : Math.max(until, clock()) + this.timeoutMs;
    const limit = untold || until === Infinity ? [] : ["WAIT", Math.max(0, Math.round(until - clock()))];
    const answer = connection.ask(...words, ...limit, ...last);
    let abort;
    const aborted = new Promise((_, reject) => {
      abort = () => reject(signal.reason);
    });
    signal?.addEventListener("abort", abort, { once: true });
    try {
      for (;;) {
        const left = end - clock();
        const late = await Promise.race([answer, aborted, lateAfter(Math.max(0, Math.min(PROBE_MS, left)), answer)]);
        if (late !== LATE) return late;
        if (left <= PROBE_MS && !untold) throw new Broken("no answer");
        // A server that lets a client wait may be right, or may hang. Does it still answer others?
        (await Promise.race([Connection.open(connection.server, this, this.timeoutMs), aborted])).close();
        if (left <= PROBE_MS && !connection.idle) throw new WaitTimeout(`${words[1]}: waited too long`);
      }
    } catch (error) {
      if (error instanceof ConclaveError && !(error instanceof NoServer)) {
        if (!borrowed) this.keep(connection);
        throw error;
      }
      this.#withdraw(connection, answer, undo);
      if (signal?.aborted) throw signal.reason;
      throw new NoServer(`${connection.server.text}: ${error.message}`);
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** A grant that was on its way is given back: it would block its name for as long as its time to live. */
  async #withdraw(connection, answer, undo) {
    const reply = await connection.lastWords(answer);
    if (reply) await undo?.(reply);
  }

  async #giveBack(want, fences) {
    const each = async (fence, i) =>
      this.keep((await this.ask(want.ending, want.names[i], fence, "SECRET", this.#secret))[0]);
    if (want.ttlMs) await Promise.allSettled(fences.map(each));
  }
}

/** [the fences, for how many milliseconds]; of several names that is not told. */
function readGrant(want, reply) {
  return want.several ? [reply, 0] : [[reply[0]], reply[1]];
}

const LATE = Symbol("late");

async function lateAfter(ms, answer) {
  const end = new AbortController();
  answer.finally(() => end.abort()).catch(() => {});
  return sleep(ms, LATE, { signal: end.signal }).catch(() => answer);
}
