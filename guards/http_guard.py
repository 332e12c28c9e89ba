#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Conclave's guard for HTTP: a proxy in front of a service, which lets no write with a lower fence through.

    guards/http_guard.py --listen 127.0.0.1:8080 --to 127.0.0.1:9000 --state /var/lib/conclave/fences.db

A request that may change something (all but GET, HEAD, OPTIONS and TRACE) says which lock it was made under, and the
fence that LOCK gave:

    Conclave-Lock: orders
    Conclave-Fence: 71

412: a higher fence of that lock has been seen. 428: a header is missing. 400: it is no fence. 411: a body without
Content-Length. 502: the service does not answer; it may have done what was asked.

The highest fence of each lock is on disk before the request goes on. A request with a higher fence waits until the
service has answered those with lower ones, so that none of them is done after it. Requests of one fence go side by side.
The proxy must be the only way to the service, and there must be one proxy.
"""

import argparse
import http.client
import http.server
import re
import sqlite3
import sys
import threading

SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
HOP = ("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade")
MOST_BODY = 64 << 20
FENCE = re.compile(r"[1-9][0-9]{0,18}")


class Fences:
    """The highest fence of each lock, and how many requests under it the service has yet to answer."""

    def __init__(self, path):
        self.changed = threading.Condition()
        self.under_way = {}  # lock: [fence, how many]
        self.file = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self.file.execute("PRAGMA synchronous = FULL")
        self.file.execute("CREATE TABLE IF NOT EXISTS fences (lock TEXT PRIMARY KEY, fence INTEGER NOT NULL)")

    def enter(self, lock, fence):
        """0, and the request may go on; or the fence that is higher."""
        with self.changed:
            while True:
                row = self.file.execute("SELECT fence FROM fences WHERE lock = ?", (lock,)).fetchone()
                highest = row[0] if row else 0
                if fence < highest:
                    return highest
                if fence > highest:  # from now on lower ones are refused, also while this one waits
                    self.file.execute("INSERT INTO fences VALUES (?, ?) ON CONFLICT (lock) DO UPDATE SET fence = excluded.fence", (lock, fence))
                busy = self.under_way.setdefault(lock, [fence, 0])
                if busy[0] == fence:
                    busy[1] += 1
                    return 0
                self.changed.wait()

    def leave(self, lock):
        with self.changed:
            busy = self.under_way[lock]
            busy[1] -= 1
            if not busy[1]:
                del self.under_way[lock]
                self.changed.notify_all()


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fences = service = timeout_s = None
    timeout = 60  # for a client that says nothing

    def refuse(self, status, why):
        body = (why + "\n").encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def body(self):
        """The body; None if the request was refused for it."""
        lengths = self.headers.get_all("Content-Length", [])
        if self.headers.get("Transfer-Encoding") or len(lengths) > 1:
            return self.refuse(411, "expected one Content-Length")
        length = lengths[0].strip() if lengths else "0"
        if not re.fullmatch(r"[0-9]{1,18}", length) or int(length) > MOST_BODY:
            return self.refuse(413, f"Content-Length '{length[:40]}': expected 0 to {MOST_BODY}")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            return None
        return body

    def handle_any(self):
        body = self.body()
        if body is None:
            return
        if self.command in SAFE:
            self.forward(body)
            return
        locks, fences = (self.headers.get_all(name, []) for name in ("Conclave-Lock", "Conclave-Fence"))
        if not locks or not fences:
            self.refuse(428, f"{self.command}: expected Conclave-Lock and Conclave-Fence, the fence that LOCK gave")
        elif len(locks) > 1 or len(fences) > 1 or not FENCE.fullmatch(fences[0].strip()) or int(fences[0]) >= 1 << 63 or not 0 < len(locks[0].strip()) <= 512:
            self.refuse(400, f"Conclave-Fence '{fences[0][:40]}': expected one lock and one number from 1 on")
        else:
            self.forward_under(locks[0].strip(), int(fences[0]), body)

    def forward_under(self, lock, fence, body):
        higher = self.fences.enter(lock, fence)
        if higher:
            self.refuse(412, f"fence {fence} of '{lock}': {higher} has been seen, the lock is another's")
            return
        try:
            answer = self.ask(body)
        finally:
            self.fences.leave(lock)
        self.answer(*answer)

    def forward(self, body):
        self.answer(*self.ask(body))

    def ask(self, body):
        """What the service answers, all of it: status, reason, headers, body."""
        headers = [(name, value) for name, value in self.headers.items() if name.lower() not in HOP + ("content-length",)]
        connection = http.client.HTTPConnection(*self.service, timeout=self.timeout_s)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers:
                connection.putheader(name, value)
            if body or self.command not in SAFE:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.reason, answer.getheaders(), answer.read()
        except (OSError, http.client.HTTPException) as error:
            return 502, "Bad Gateway", [("Content-Type", "text/plain; charset=utf-8")], f"the service does not answer: {error}\n".encode()
        finally:
            connection.close()

    def answer(self, status, reason, headers, body):
        self.send_response_only(status, reason)
        for name, value in headers:
            if name.lower() not in HOP + ("content-length",):
                self.send_header(name, value)
        if self.command == "HEAD":
            for name, value in headers:
                if name.lower() == "content-length":
                    self.send_header(name, value)
        elif status >= 200 and status != 204 and status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_OPTIONS = do_TRACE = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        """A client that has gone away gets no answer; whatever else it is, it is told."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def address(text):
    host, _, port = text.rpartition(":")
    if not host or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text}: expected host:port")
    return host.strip("[]"), int(port)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", type=address, required=True, metavar="HOST:PORT")
    parser.add_argument("--to", type=address, required=True, metavar="HOST:PORT", help="the service")
    parser.add_argument("--state", required=True, metavar="FILE", help="where the highest fences are kept (SQLite)")
    parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS", help="for an answer of the service (60)")
    options = parser.parse_args()
    try:
        Proxy.fences = Fences(options.state)
        Proxy.service, Proxy.timeout_s = options.to, options.timeout
        server = Server(options.listen, Proxy)
    except (OSError, sqlite3.Error) as error:
        print(f"http_guard: {options.state}, {options.listen[0]}:{options.listen[1]}: {error}", file=sys.stderr)
        return 2
    print(f"ready at {server.server_address[0]}:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
