// SPDX-License-Identifier: MIT
// A connection that speaks RESP3, and the servers and credentials to make one.
//
// A library for Redis is no help here. It reconnects and sends a command again by itself, so that a LOCK would be asked for
// twice, and hides for how long a connection was gone. A holder has to know both, at once.

import { createHmac } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import tls from "node:tls";

import { Invalid, NoServer } from "./errors.js";
import { encode, Reader } from "./resp.js";

// ---- time ----

const start = os.uptime() * 1000 - performance.now();

/**
 * Milliseconds by a clock that nobody sets, and that runs on while the machine sleeps. performance.now() does not; what
 * it has missed shows in the machine's uptime, which is coarse.
 */
export function clock() {
  const now = performance.now();
  const slept = os.uptime() * 1000 - now - start;
  return slept > 1100 ? now + slept : now;
}

// ---- servers and credentials ----

/** A list of host:port, [address]:port and paths of sockets, or such a text, or $CONCLAVE_SERVER. */
export function readServers(given) {
  const list = given ?? (process.env.CONCLAVE_SERVER || "127.0.0.1:7700");
  const words = typeof list === "string" ? list.split(/[,\s]+/) : list;
  const servers = words.filter(Boolean).map(readServer);
  if (!servers.length) throw new Invalid("the list of servers is empty");
  return servers;
}

function readServer(text) {
  const secure = text.startsWith("tls://");
  const place = secure ? text.slice("tls://".length) : text;
  if (place.includes("/")) {
    if (secure) throw new Invalid(`${text}: tls:// expects host:port`);
    return { text, path: place, secure };
  }
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(place);
  const port = Number(match?.[3] ?? 7700);
  if (!match || port > 65535) throw new Invalid(`${text}: neither host:port nor the path of a socket`);
  return { text, host: match[1] ?? match[2], port, secure };
}

function readFile(path, mode) {
  try {
    if (mode && fs.statSync(path).mode & 0o77) throw new Error("expected mode 0600: a key is for its owner alone");
    return fs.readFileSync(path);
  } catch (error) {
    throw new Invalid(`${path}: ${error.message}`);
  }
}

/** The options of TLS that the files make: a key, or certificates. null: connections are in plain text. */
export function readCredentials({ key, tlsCa, tlsCertificate, tlsPrivateKey }) {
  const keyFile = key ?? process.env.CONCLAVE_KEY;
  const files = {
    ca: tlsCa ?? process.env.CONCLAVE_TLS_CA,
    cert: tlsCertificate ?? process.env.CONCLAVE_TLS_CERTIFICATE,
    key: tlsPrivateKey ?? process.env.CONCLAVE_TLS_PRIVATE_KEY,
  };
  if (keyFile) return byKey(keyFile);
  if (!Object.values(files).some(Boolean)) return null;
  if (!Object.values(files).every(Boolean))
    throw new Invalid("TLS by certificate expects tlsCa, tlsCertificate and tlsPrivateKey");
  const options = { ca: readFile(files.ca), cert: readFile(files.cert), key: readFile(files.key, true) };
  if (process.env.CONCLAVE_TLS_CRL) options.crl = readFile(process.env.CONCLAVE_TLS_CRL);
  try {
    tls.createSecureContext(options);
  } catch (error) {
    throw new Invalid(`${files.cert}: ${error.message}`);
  }
  return options;
}

function byKey(path) {
  const lines = readFile(path, true).toString().split("\n");
  const words = (lines.find((line) => line && !line.startsWith("#")) ?? "").split(" ");
  if (words.length !== 4 || words[0] !== "conclave-key")
    throw new Invalid(`${path}: expected a key; conclave keygen makes one`);
  const [, name, number, hex] = words;
  let psk = Buffer.from(hex, "hex");
  // HKDF-Expand: the key by which the cluster's own clients are known.
  if (name === "cluster") psk = createHmac("sha256", psk).update("conclave client cluster\x01").digest();
  // The key proves who the server is; one that shows a certificate instead finds no authority.
  return { pskCallback: () => ({ psk, identity: `${name}.${number}` }), ca: [], checkServerIdentity: () => undefined };
}

/** What others see of this process. */
export function ownName() {
  const program = path.basename(process.argv[1] ?? "node");
  return `${os.userInfo().username}@${os.hostname()}:${process.pid}:${program}`.replace(/[^!-~]/g, "_").slice(0, 128);
}

// ---- connections ----

/** The connection ended before the answer came. */
export class Broken extends Error {}

/** Answers come in the order of the questions, pushes in between. */
export class Connection {
  closed = null; // why
  onPush = () => {};
  onClose = () => {};
  #socket;
  #reader = new Reader();
  #questions = [];

  constructor(server, socket) {
    this.server = server;
    this.#socket = socket;
    socket.on("data", (bytes) => this.#received(bytes));
    socket.on("error", (error) => this.close(error.message));
    socket.on("close", () => this.close("the server closed the connection"));
    socket.on("end", () => this.close("the server closed the connection"));
  }

  /** Says HELLO and waits for the answer: a process that hangs accepts connections, but does not answer. */
  static async open(server, { credentials, name }, timeoutMs) {
    const { host, port, secure } = server;
    if (secure && !credentials) throw new Invalid(`${server.text}: expected a key or certificates`);
    const options = server.path
      ? { path: server.path }
      : { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 4000 };
    const socket =
      credentials && !server.path
        ? tls.connect({ ...options, ...credentials, minVersion: "TLSv1.3", servername: net.isIP(host) ? "" : host })
        : net.connect(options);
    const connection = new Connection(server, socket);
    try {
      await within(timeoutMs, connection.ask("HELLO", "3", "SETNAME", name));
      return connection;
    } catch (error) {
      connection.close(error.message);
      throw new NoServer(`${server.text}: ${connection.closed}`, { cause: error });
    }
  }

  #received(bytes) {
    try {
      this.#reader.feed(bytes);
      for (let reply = this.#reader.next(); reply !== undefined; reply = this.#reader.next()) {
        const [push, value] = reply;
        if (push) {
          this.onPush(value);
          continue;
        }
        const question = this.#questions.shift();
        if (!question) throw new Error("the server answered what was not asked");
        if (value instanceof Error) question.reject(value);
        else question.resolve(value);
      }
    } catch (error) {
      this.close(error.message);
    }
  }

  /** A promise of the answer. */
  ask(...words) {
    const answer = new Promise((resolve, reject) => {
      if (this.closed) {
        reject(new Broken(this.closed));
        return;
      }
      this.#questions.push({ resolve, reject });
      this.#socket.write(encode(words));
    });
    answer.catch(() => {}); // whoever asked may have gone
    return answer;
  }

  /** Whether it keeps the process alive. */
  set needed(needed) {
    if (needed) this.#socket.ref();
    else this.#socket.unref();
  }

  get idle() {
    return !this.closed && !this.#questions.length;
  }

  /** Tells the server that nothing more will come: an answer that is on its way is not lost. null: there is none. */
  async lastWords(answer) {
    this.#socket.end();
    const reply = await within(500, answer).catch(() => null);
    this.close("given up");
    return reply;
  }

  close(why = "closed") {
    if (this.closed) return;
    this.closed = why;
    this.#socket.destroy();
    for (const question of this.#questions) question.reject(new Broken(why));
    this.onClose(why);
  }
}

/** Rejects if it takes longer. */
export function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Broken("no answer")), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
