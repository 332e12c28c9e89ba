// SPDX-License-Identifier: MIT
// What can go wrong. Each error has a `kind`, the same word in every client of Conclave.

export class ConclaveError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
  get kind() {
    return "error";
  }
}

/** Somebody else held it for as long as the caller wanted to wait. */
export class WaitTimeout extends ConclaveError {
  get kind() {
    return "timeout";
  }
}

/** It is not held, or not any more. */
export class LockLost extends ConclaveError {
  get kind() {
    return "lost";
  }
}

/** No server can be reached. */
export class NoServer extends ConclaveError {
  get kind() {
    return "no-server";
  }
}

/** The servers have no majority. */
export class NoQuorum extends ConclaveError {
  get kind() {
    return "no-quorum";
  }
}

/** The server does not allow it. */
export class Denied extends ConclaveError {
  get kind() {
    return "denied";
  }
}

/** The server answered with another error. */
export class Refused extends ConclaveError {
  get kind() {
    return "refused";
  }
}

/** An argument makes no sense. */
export class Invalid extends ConclaveError {
  get kind() {
    return "invalid";
  }
}

const WORDS = {
  LOST: LockLost,
  NOQUORUM: NoQuorum,
  LOADING: NoQuorum,
  NOAUTH: Denied,
  WRONGPASS: Denied,
  NOPERM: Denied,
};

/** The error that a server's line means. */
export function ofReply(text) {
  return new (WORDS[text.split(" ", 1)[0]] ?? Refused)(text);
}
