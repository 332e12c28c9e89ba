// SPDX-License-Identifier: MIT
// Latches, barriers, groups, and what is done once in each period.

import { setTimeout as sleep } from "node:timers/promises";

import { known, MOST_PERMITS, published, whole } from "./arguments.js";
import { Broken, within } from "./connection.js";
import { ConclaveError, LockLost, NoServer, WaitTimeout } from "./errors.js";

const LOOK_AGAIN_MS = 2000; // a server that hangs closes no connection
const PAUSE_MS = 50;

/** Opens, once and for all who wait, when it was counted down to 0. It outlasts clients and servers. */
export class Latch {
  #client;

  constructor(client, name) {
    this.#client = client;
    this.name = name;
  }

  async set(count) {
    return Boolean(await this.#client.executeOnce("LATCH", this.name, "SET", whole("count", count, 1, MOST_PERMITS)));
  }

  async down(count = 1) {
    return this.#client.executeOnce("LATCH", this.name, "DOWN", whole("count", count, 1, MOST_PERMITS));
  }

  async wait(options = {}) {
    const { waitMs, signal } = known(options, "waitMs signal");
    const want = { words: ["LATCH", this.name, "AWAIT"], waitMs, signal };
    await this.#client.persist(want, async (connection, until) => {
      const left = await this.#client.wait(connection, want, until);
      this.#client.keep(connection);
      if (left === null) throw new WaitTimeout(`${this.name}: waited too long`);
      return true;
    });
  }

  async left() {
    return this.#client.execute("LATCH", this.name);
  }

  async clear() {
    await this.#client.execute("LATCH", this.name, "CLEAR");
  }
}

/** A server may end what lasts on a connection, and say so. */
function closeWhenLost(connection, name) {
  return ([kind, of, , why]) => {
    if (kind === "lost" && of === name) connection.close(why ?? "the server says so");
  };
}

/** Closes a connection whose server hangs. */
class Watchdog {
  #timer;

  constructor(client, connection) {
    this.#timer = setInterval(() => {
      within(client.timeoutMs, connection.ask("PING")).catch((error) => connection.close(error.message));
    }, LOOK_AGAIN_MS);
  }

  stop() {
    clearInterval(this.#timer);
  }
}

/** What lasts as long as its connection. */
class Stay {
  #client;
  #connection;
  #watchdog;
  #why = null; // it has ended
  #abort = new AbortController();

  constructor(client, connection, name, onLost) {
    this.name = name;
    this.#client = client;
    this.#connection = connection;
    this.watch();
    client.stays.add(this);
    connection.onClose = (why) => {
      if (this.#why !== null) return;
      this.#end(why);
      this.#abort.abort(this.loss());
      if (onLost) queueMicrotask(() => onLost(this));
    };
    connection.onPush = closeWhenLost(connection, name);
    if (connection.closed) connection.onClose(connection.closed);
  }

  get held() {
    return this.#why === null;
  }

  /** Aborted as soon as it is lost. */
  get signal() {
    return this.#abort.signal;
  }

  check() {
    if (!this.held) throw this.loss();
  }

  loss(cause) {
    return new LockLost(`${this.name}: ${this.#why ?? "it is over"}`, { cause });
  }

  watch() {
    this.#watchdog = new Watchdog(this.#client, this.#connection);
  }

  /** The connection, for a command that waits: nothing else is answered meanwhile. */
  lend() {
    this.check();
    this.#watchdog.stop();
    return this.#connection;
  }

  #end(why) {
    this.#why = why;
    this.#watchdog.stop();
    this.#client.stays.delete(this);
  }

  /** The connection. From now on its end is no loss. */
  over() {
    this.check();
    this.#end("it is over");
    return this.#connection;
  }

  /** Without a word: others see that its connection has ended. */
  abandon() {
    if (this.held) this.over().close("given up");
  }
}

/** At a double barrier, after everybody has come and before everybody has gone. */
export class Inside extends Stay {
  #client;

  constructor(client, connection, name, number, onLost) {
    super(client, connection, name, onLost);
    this.#client = client;
    this.number = number;
  }

  async leave(options = {}) {
    const { waitMs, signal } = known(options, "waitMs signal");
    const until = this.#client.until(waitMs);
    const connection = this.lend();
    const want = { words: ["BARRIER", this.name, "LEAVE"], signal, borrowed: true };
    let number;
    try {
      number = await this.#client.wait(connection, want, until);
    } catch (error) {
      if (error instanceof NoServer) throw new LockLost(`${this.name}: ${error.message}; it is not inside any more`);
      this.abandon();
      throw error;
    }
    if (number === null) {
      this.watch();
      throw new WaitTimeout(`${this.name}: others are still inside`);
    }
    this.#client.keep(this.over());
    return number;
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.leave();
  }
}

/** Something that this client is to do, once in this period. */
export class Run extends Stay {
  #client;

  constructor(client, connection, name, fence, onLost) {
    super(client, connection, name, onLost);
    this.#client = client;
    this.fence = fence;
  }

  async done() {
    const connection = this.over();
    let remembered = false;
    try {
      remembered = await within(this.#client.timeoutMs, connection.ask("ONCE", this.name, "DONE", this.fence));
      this.#client.keep(connection);
    } catch (error) {
      connection.close(error.message);
      if (error instanceof ConclaveError || error instanceof Broken) throw this.loss(error);
      throw error;
    }
    if (!remembered) throw this.loss();
  }
}

/** [the connection, the meeting's number]. It is not asked for twice: the others may have met before the answer was lost. */
export async function meet(client, want) {
  return client.persist(want, async (connection, until) => {
    let number;
    try {
      number = await client.wait(connection, want, until);
    } catch (error) {
      throw error instanceof NoServer ? new LockLost(`${want.name}: ${error.message}; the others may have met`) : error;
    }
    if (number !== null) return [connection, number];
    client.keep(connection);
    throw new WaitTimeout(`${want.name}: not all of them came`);
  });
}

/** A member of a group, until it leaves. If its connection ends it joins anew, with another number. */
export class Membership {
  #client;
  #words;
  #onChange;
  #connection;
  #watchdog;
  #left = false;

  constructor(client, name, { value, onChange }) {
    this.name = name;
    this.number = null;
    this.#client = client;
    this.#words = ["MEMBERS", name, "JOIN", ...published(value)];
    this.#onChange = onChange;
  }

  async begin() {
    const [connection, number] = await this.#client.ask(...this.#words);
    if (this.#left) {
      connection.close();
      return this;
    }
    this.#connection = connection;
    this.number = number;
    this.#watchdog = new Watchdog(this.#client, connection);
    this.#client.stays.add(this);
    connection.onClose = () => this.#rejoin();
    connection.onPush = closeWhenLost(connection, this.name);
    if (connection.closed) this.#rejoin();
    return this;
  }

  async #rejoin() {
    this.#watchdog.stop();
    this.number = null;
    if (!this.#left) this.#onChange?.(null);
    while (!this.#left && this.number === null) {
      try {
        await this.begin();
        if (!this.#left) this.#onChange?.(this.number);
      } catch (error) {
        if (!(error instanceof ConclaveError)) throw error;
        this.#client.giveUp();
        await sleep(PAUSE_MS);
      }
    }
  }

  async leave() {
    if (this.#left) return;
    this.#left = true;
    this.number = null;
    this.#watchdog.stop();
    this.#client.stays.delete(this);
    const question = this.#connection.ask("MEMBERS", this.name, "LEAVE");
    await within(this.#client.timeoutMs, question).catch(() => {});
    this.#connection.close("left");
  }

  /** When the client is closed. */
  abandon() {
    return this.leave();
  }

  [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    return this.leave();
  }
}
