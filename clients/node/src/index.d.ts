// SPDX-License-Identifier: MIT
/// <reference lib="esnext.disposable" />

export interface ClientOptions {
  /** host:port, [address]:port or paths of sockets; $CONCLAVE_SERVER, or 127.0.0.1:7700. */
  servers?: string | string[];
  /** How long a server may take to answer; 2000. */
  timeoutMs?: number;
  /** What others see of this client; user@host:pid:program. */
  name?: string;
  /** The file of a key, by `conclave keygen`; $CONCLAVE_KEY. */
  key?: string;
  /** PEM files; $CONCLAVE_TLS_CA, $CONCLAVE_TLS_CERTIFICATE, $CONCLAVE_TLS_PRIVATE_KEY. */
  tlsCa?: string;
  tlsCertificate?: string;
  tlsPrivateKey?: string;
}

export interface HoldOptions {
  /** 0 tries once; without it, waits for as long as it takes. */
  waitMs?: number;
  /** The servers promise it for that long, and it is renewed in the background; 10000. 0: it ends with its connection. */
  ttlMs?: number;
  /** Gives up waiting. */
  signal?: AbortSignal;
  /** As soon as it is lost. */
  onLost?: (hold: Hold) => void;
  /** When somebody asks for it, with their name. */
  onAskback?: (hold: Hold, asker: string | null) => void;
  /** While it waits: its place in the queue, whenever that has changed. */
  onPosition?: (place: number) => void;
}

export interface LockOptions extends HoldOptions {
  /** Together with others that share. */
  shared?: boolean;
  /** One of up to so many. */
  permits?: number;
  /** Inside the body of withLock() of that name it is the same hold again, to be released once more. */
  reentrant?: boolean;
}

export interface CampaignOptions extends HoldOptions {
  /** The highest of the candidates is preferred. */
  priority?: number;
  /** What all members tell about this leader, an address for example. */
  value?: string;
}

export interface Leader {
  id: string;
  fence: number;
  value: string | null;
}

export interface WaitOptions {
  /** Then WaitTimeout; without it, waits for as long as it takes. */
  waitMs?: number;
  /** Gives up waiting. */
  signal?: AbortSignal;
}

export interface BarrierOptions extends WaitOptions {
  /** Of a double barrier: its connection ended, so others take this client for gone. */
  onLost?: (inside: Inside) => void;
}

export interface Waiter {
  position: number;
  /** "lock", "election"; "more" or "unanswered": there are others. */
  kind: string;
  waiter: string | null;
  client: string | null;
  node: number;
  waited_ms: number;
  shared: boolean | number;
  priority: number;
}

export interface Member {
  number: number;
  client: string | null;
  value: string | null;
}

export interface LastRun {
  ended: Date | null;
  fence: number | null;
  client: string | null;
  /** Who does it now. */
  running: string | null;
}

export type Reply = string | number | boolean | null | Reply[] | { [key: string]: Reply };

export class Client implements AsyncDisposable {
  constructor(options?: ClientOptions | string | string[]);
  lock(name: string, options?: LockOptions): Promise<Hold>;
  /** All of these names or none, without deadlock. If one of them is lost, all are. */
  lockAll(names: string[], options?: HoldOptions): Promise<Hold>;
  campaign(name: string, options?: CampaignOptions): Promise<Hold>;
  /** Runs `body` while it holds the lock. LockLost if that was lost meanwhile; `hold.signal` tells at once. */
  withLock<T>(name: string, body: (hold: Hold) => T | Promise<T>): Promise<T>;
  withLock<T>(name: string, options: LockOptions, body: (hold: Hold) => T | Promise<T>): Promise<T>;
  whileLeading<T>(name: string, body: (hold: Hold) => T | Promise<T>): Promise<T>;
  whileLeading<T>(name: string, options: CampaignOptions, body: (hold: Hold) => T | Promise<T>): Promise<T>;
  /** The first of so many numbers that nobody else gets, above all that were given for that name before. WaitTimeout: somebody holds it. */
  sequence(name: string, count?: number, options?: WaitOptions): Promise<number>;
  leader(name: string): Promise<Leader | null>;
  /** The present leader and every change. */
  observe(name: string, options?: { signal?: AbortSignal }): AsyncGenerator<Leader | null>;
  /** The same for a lock: who got it last, and null when it was given back. A short hold may be missed. */
  watch(name: string, options?: { signal?: AbortSignal }): AsyncGenerator<Leader | null>;
  /** Who waits for it, the next one first. */
  waiters(name: string): Promise<Waiter[]>;
  /** Asks the holders to give it back: how many were asked. They hear of it by onAskback. */
  askBack(name: string): Promise<number>;
  /**
   * Waits until so many have come: the meeting's number, the same for all and above the last one. WaitTimeout: this one does
   * not count any more. LockLost: the connection broke, and the others may have met.
   */
  barrier(name: string, parties: number, options?: WaitOptions): Promise<number>;
  /** Runs `body` when so many have come, and returns when all of them have left or gone. */
  doubleBarrier<T>(name: string, parties: number, body: (inside: Inside) => T | Promise<T>): Promise<T>;
  doubleBarrier<T>(
    name: string,
    parties: number,
    options: BarrierOptions,
    body: (inside: Inside) => T | Promise<T>,
  ): Promise<T>;
  /** The first half of a double barrier; leave() is the second. */
  enterBarrier(name: string, parties: number, options?: BarrierOptions): Promise<Inside>;
  /** A latch by its name, whether it was set or not. */
  latch(name: string): Latch;
  /** A member of a group, with a value that others see. onChange: it had to join anew; null meanwhile. */
  join(
    name: string,
    options?: { value?: string; onChange?: (number: number | null) => void },
  ): Promise<Membership>;
  /** In the order in which they joined. */
  members(name: string): Promise<Member[]>;
  /** The present members, and every change. */
  watchMembers(name: string, options?: { signal?: AbortSignal }): AsyncGenerator<Member[]>;
  /**
   * Runs `body` if nobody has begun it in this period, counted from 1970; false: somebody has. It is done when `body` ends
   * well; otherwise whoever asks next does it.
   */
  once<T>(
    name: string,
    options: { everyMs: number; onLost?: (run: Run) => void },
    body: (run: Run) => T | Promise<T>,
  ): Promise<boolean>;
  /** When it was done last, and who does it now. */
  lastRun(name: string): Promise<LastRun>;
  /** Any command that does not wait. If a server does not answer, another one is asked the same. */
  execute(...words: (string | number)[]): Promise<Reply>;
  /** Gives back all that it holds. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export class Hold implements AsyncDisposable {
  private constructor();
  readonly name: string;
  readonly fence: number;
  /** Of several names: a fence each. */
  readonly fences: number[];
  /** Surely held, by this process's own clock. */
  readonly held: boolean;
  /** For so many milliseconds; 0 if it is not held. */
  readonly left: number;
  readonly lost: boolean;
  /** Aborted, with a LockLost, as soon as it is lost. */
  readonly signal: AbortSignal;
  /** Throws LockLost if it is not held. */
  check(): void;
  /**
   * Waits until all others that share it have left: from then on it is held alone, by the new fence. WaitTimeout: it is shared
   * as before. Refused: another one waits for that already, or it was renewed by another server meanwhile.
   */
  upgrade(options?: WaitOptions): Promise<number>;
  /** Shares it from now on, by the new fence, without a moment in which nobody holds it. */
  downgrade(): Promise<number>;
  /** Rejects with LockLost if it was lost. If no server answers, it ends by itself when its time is over. */
  release(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Opens, once and for all who wait, when it was counted down to 0. It outlasts clients and servers. */
export class Latch {
  private constructor();
  readonly name: string;
  /** False: there is one already that is not open yet. */
  set(count: number): Promise<boolean>;
  /** What is left; 0: it is open. Refused if none was set. NoServer: it may have been counted or not. */
  down(count?: number): Promise<number>;
  /** Until it is open. Refused if none was set, or if it was cleared. */
  wait(options?: WaitOptions): Promise<void>;
  /** null: there is no latch. */
  left(): Promise<number | null>;
  clear(): Promise<void>;
}

/** What lasts as long as its connection. */
declare class Stay {
  readonly name: string;
  readonly held: boolean;
  /** Aborted, with a LockLost, as soon as it is lost. */
  readonly signal: AbortSignal;
  /** Throws LockLost if its connection has ended, or if it is over. */
  check(): void;
}

/** At a double barrier, after everybody has come and before everybody has gone. */
export class Inside extends Stay implements AsyncDisposable {
  private constructor();
  readonly number: number;
  /** Waits until all the others have left, too, or have gone. WaitTimeout: they have not, and it is still inside. */
  leave(options?: WaitOptions): Promise<number>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Something that this client is to do, once in this period. */
export class Run extends Stay {
  private constructor();
  readonly fence: number;
}

/** A member of a group, until it leaves. If its connection ends it joins anew, with another number. */
export class Membership implements AsyncDisposable {
  private constructor();
  readonly name: string;
  /** null: it is no member at the moment. */
  readonly number: number | null;
  leave(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export class ConclaveError extends Error {
  readonly kind: "timeout" | "lost" | "no-server" | "no-quorum" | "denied" | "refused" | "invalid" | "error";
}
export class WaitTimeout extends ConclaveError {}
export class LockLost extends ConclaveError {}
export class NoServer extends ConclaveError {}
export class NoQuorum extends ConclaveError {}
export class Denied extends ConclaveError {}
export class Refused extends ConclaveError {}
export class Invalid extends ConclaveError {}
