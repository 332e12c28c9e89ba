// SPDX-License-Identifier: MIT
// A lock or a leadership that is held: renewed in the background, and its loss told at once.

import { setTimeout as sleep } from "node:timers/promises";

import { known } from "./arguments.js";
import { clock, within } from "./connection.js";
import { Invalid, LockLost, WaitTimeout } from "./errors.js";

const PAUSE_MS = 50; // before another server is tried
const LONGEST_MS = 2 ** 31 - 1; // that a timer knows

export class Hold {
  #client;
  #want;
  #connection;
  #ended = null; // "lost" or "released"
  #why = null;
  #ends = Infinity;
  #renewAt = Infinity;
  #alarm = null;
  #timer = null;
  #renewing = false;
  #abort = new AbortController();
  #begun = false;
  #again = 0; // how often it was taken again, and not given back
  #side = null; // upgrade() and downgrade() have the connection for themselves; meanwhile this one renews

  constructor(client, want, connection, asked, fences, leftMs) {
    this.#client = client;
    this.#want = want;
    this.#connection = connection;
    this.name = want.name;
    this.fence = fences[0];
    this.fences = fences;
    this.#extend(asked, leftMs);
  }

  /** Of several names nobody has told how long they last. False: they may be over. */
  async confirm() {
    return Boolean(this.#want.several) && (await this.#renew()) && this.held;
  }

  begin() {
    this.#begun = true;
    this.#client.holds.add(this);
    this.#listen();
    this.#plan();
    if (this.#connection.closed) this.#broken(this.#connection.closed);
    return this;
  }

  // ---- what a holder asks ----

  /** Milliseconds for which it is surely held, by this process's own clock; 0 if it is not. */
  get left() {
    const left = this.#ended ? 0 : this.#ends - clock();
    if (left <= 0 && !this.#ended && this.#begun) this.#lose("its time ran out");
    return Math.max(0, left);
  }

  /** The clock decides, so a process that was stopped learns it here, first. */
  get held() {
    return this.left > 0;
  }

  get lost() {
    return !this.held && this.#ended === "lost";
  }

  /** Aborted as soon as it is lost. */
  get signal() {
    return this.#abort.signal;
  }

  check() {
    if (!this.held) throw this.loss();
  }

  loss(cause) {
    return new LockLost(`${this.name}, fence ${this.fence}: ${this.#why ?? "given back"}`, { cause });
  }

  /** True if it is a lock of that name, not shared, and held. */
  takeAgain(name) {
    const { several, kind, ending } = this.#want;
    const mine = !several && !kind.length && ending === "UNLOCK" && this.name === name && this.held;
    if (mine) this.#again++;
    return mine;
  }

  async release(entirely = false) {
    if (this.#ended === "released") return;
    this.check();
    if (this.#again && entirely !== true) {
      this.#again--;
      return;
    }
    this.#end("released", null);
    const { ending, ttlMs } = this.#want;
    const proof = ttlMs ? ["SECRET", this.#client.secret] : [];
    for (let attempt = 0; attempt <= this.#client.servers.length && clock() < this.#ends; attempt++) {
      if (this.#connection.closed && !ttlMs) return; // it has ended with its connection
      let released;
      try {
        if (this.#connection.closed) this.#connection = await this.#client.connect();
        released = await this.#askAll(this.#connection, this.#client.timeoutMs, ending, ...proof);
      } catch (error) {
        this.#client.giveUp();
        this.#connection.close(error.message);
        continue; // if no server answers, it ends by itself when its time is over
      }
      this.#client.keep(this.#connection);
      if (!released.every(Boolean) && !attempt) {
        this.#why = "it was not held any more";
        throw this.loss();
      }
      return;
    }
  }

  [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    return this.release();
  }

  /** The answers about each of its names. */
  #askAll(connection, patienceMs, verb, ...more) {
    const questions = this.fences.map((fence, i) => connection.ask(verb, this.#want.names[i], fence, ...more));
    return within(patienceMs, Promise.all(questions));
  }

  // ---- from shared to alone, and back ----

  async upgrade(options = {}) {
    const { waitMs, signal } = known(options, "waitMs signal");
    return this.#exchange("UPGRADE", { waitMs, signal }, ["SHARED"], []);
  }

  async downgrade() {
    return this.#exchange("DOWNGRADE", {}, [], ["SHARED"]);
  }

  async #exchange(verb, { waitMs, signal }, before, after) {
    this.check();
    const { kind, several, ending, ttlMs } = this.#want;
    if (String(kind) !== String(before) || several || ending !== "UNLOCK" || !ttlMs || this.#again || this.#side)
      throw new Invalid(`${this.name}: ${verb} expects a lock of the other kind, with a time to live, taken once`);
    const until = this.#client.until(waitMs);
    this.#side = await this.#client.connect();
    let fence = null;
    try {
      const words = [verb, this.name, this.fence];
      fence = await this.#client.wait(this.#connection, { words, signal, borrowed: true }, until);
    } finally {
      this.#client.keep(this.#side);
      this.#side = null;
      if (fence !== null) {
        this.#want.kind = after;
        this.fence = fence;
        this.fences = [fence];
      }
      this.#renewAt = 0; // how long it lasts now is not told
      this.#plan();
    }
    if (fence === null) throw new WaitTimeout(`${this.name}: others still share it`);
    return fence;
  }

  // ---- its end ----

  #end(how, why) {
    this.#ended = how;
    this.#why = why;
    this.#client.holds.delete(this);
    clearTimeout(this.#alarm);
    clearTimeout(this.#timer);
    this.#connection.onPush = this.#connection.onClose = () => {};
  }

  #lose(why) {
    if (this.#ended) return;
    this.#end("lost", why);
    if (!this.#begun) return; // nobody has it yet
    this.#cleanUp();
    this.#abort.abort(this.loss());
    // What a callback throws is no business of whoever found out.
    if (this.#want.onLost) queueMicrotask(() => this.#want.onLost(this));
  }

  /** What is lost here may not be over there yet, and the next one waits for it. */
  async #cleanUp() {
    const proof = ["SECRET", this.#client.secret];
    if (this.#want.ttlMs && !this.#connection.closed)
      await this.#askAll(this.#connection, this.#client.timeoutMs, this.#want.ending, ...proof).catch(() => {});
    this.#connection.close("lost");
  }

  // ---- its renewal ----

  #listen() {
    this.#connection.onPush = ([kind, name, fence, more]) => {
      if (fence === undefined || this.fences[this.#want.names.indexOf(name)] !== fence) return;
      if (kind === "lost") this.#lose(more ?? "the server says so");
      if (kind === "askback") queueMicrotask(() => this.#want.onAskback?.(this, more));
    };
    this.#connection.onClose = (why) => this.#broken(why);
  }

  #broken(why) {
    if (!this.#want.ttlMs) this.#lose(why);
    else this.#renewOn();
  }

  /** So many milliseconds from then on. It ends a tenth earlier here, so that there is time to stop. */
  #extend(asked, leftMs) {
    const term = this.#want.ttlMs || leftMs;
    this.#ends = leftMs < 0 ? Infinity : asked + leftMs - term / 10;
    this.#renewAt = leftMs < 0 ? Infinity : asked + leftMs - (term * 2) / 3;
  }

  #plan() {
    clearTimeout(this.#alarm);
    clearTimeout(this.#timer);
    if (this.#ended || this.#ends === Infinity) return;
    const now = clock();
    this.#alarm = setTimeout(() => this.#look(), Math.min(LONGEST_MS, Math.max(0, this.#ends - now)));
    this.#timer = setTimeout(() => this.#renewOn(), Math.min(LONGEST_MS, Math.max(0, this.#renewAt - now)));
  }

  /** Timers may be a millisecond early. */
  #look() {
    if (this.held) this.#alarm = setTimeout(() => this.#look(), Math.min(LONGEST_MS, this.left + 1));
  }

  async #renewOn() {
    if (this.#renewing) return;
    this.#renewing = true;
    while (!this.#ended && (this.#connection.closed || clock() >= this.#renewAt))
      if (!(await this.#renew())) await sleep(PAUSE_MS);
    this.#renewing = false;
    this.#plan();
  }

  /** By a connection that works. False: there is one. */
  #replace(connection) {
    if (this.#side) this.#side = connection;
    else if (!this.#connection.closed) return false;
    else {
      this.#connection = connection;
      this.#listen();
    }
    return true;
  }

  /** True if a server answered. */
  async #renew() {
    const { ttlMs, kind } = this.#want;
    const words = ttlMs ? ["SECRET", this.#client.secret, "TTL", ttlMs, ...kind] : [];
    const patienceMs = ttlMs ? Math.min(this.#client.timeoutMs, Math.max(50, ttlMs / 8)) : this.#client.timeoutMs;
    const fences = this.fences;
    let connection = this.#side ?? this.#connection;
    let left;
    let asked = clock();
    try {
      if (connection.closed) {
        connection = await this.#client.connect(patienceMs);
        if (this.#ended || !this.#replace(connection)) {
          this.#client.keep(connection);
          return true;
        }
        asked = clock();
      }
      const answers = await this.#askAll(connection, patienceMs, "RENEW", ...words);
      left = answers.includes(null) ? null : Math.min(...answers);
    } catch (error) {
      // The server may recover until it is asked again, or another one may answer.
      if (ttlMs && !this.#ended) {
        this.#client.giveUp();
        connection.close(error.message);
      }
      return false;
    }
    if (this.#ended) return true;
    if (left === null && (this.#side || fences !== this.fences)) return false; // that was the fence before
    if (left === null) this.#lose("the servers have given it to nobody, or to somebody else");
    else this.#extend(asked, left);
    return true;
  }
}
