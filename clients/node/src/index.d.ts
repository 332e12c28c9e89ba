// SPDX-License-Identifier: MIT

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
  /** The first of so many numbers that nobody else gets, above all that were given for that name before. */
  sequence(name: string, count?: number): Promise<number>;
  leader(name: string): Promise<Leader | null>;
  /** The present leader and every change. */
  observe(name: string, options?: { signal?: AbortSignal }): AsyncGenerator<Leader | null>;
  /** The same for a lock: who got it last, and null when it was given back. A short hold may be missed. */
  watch(name: string, options?: { signal?: AbortSignal }): AsyncGenerator<Leader | null>;
  /** Any command that does not wait. */
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
  /** Rejects with LockLost if it was lost. If no server answers, it ends by itself when its time is over. */
  release(): Promise<void>;
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
