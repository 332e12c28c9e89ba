#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""guards/http_guard.py before a small service: no write with a lower fence comes through, nor late."""

import http.client
import http.server
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/live"))
from harness import PATIENCE, in_parallel, main  # pylint: disable=wrong-import-position


class Service(http.server.ThreadingHTTPServer):
    """Remembers what was written, in order. A write to /slow is done when the test says so."""

    daemon_threads = True

    def __init__(self):
        self.written, self.arrived, self.go_on = [], threading.Semaphore(0), threading.Semaphore(0)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PUT(handler):  # pylint: disable=invalid-name,no-self-argument
                body = handler.rfile.read(int(handler.headers["Content-Length"]))
                if handler.path == "/slow":
                    self.arrived.release()
                    self.go_on.acquire()
                self.written.append(body.decode())
                handler.reply(201, b"written")

            def do_GET(handler):  # pylint: disable=invalid-name,no-self-argument
                handler.reply(200, handler.headers.get("X-Asked", "nothing").encode())

            do_HEAD = do_GET

            def reply(handler, status, body):  # pylint: disable=no-self-argument
                handler.send_response(status)
                handler.send_header("Content-Length", str(len(body)))
                handler.send_header("X-Service", "yes")
                handler.end_headers()
                if handler.command != "HEAD":
                    handler.wfile.write(body)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Guard:
    def __init__(self, service, state):
        self.process = subprocess.Popen([sys.executable, ROOT / "guards/http_guard.py", "--listen", "127.0.0.1:0", "--to",
                                         f"127.0.0.1:{service.server_address[1]}", "--state", state], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("ready at "), line
        self.port = int(line.rpartition(":")[2])

    def ask(self, method, path="/", body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, path, body, {name.replace("_", "-"): str(value) for name, value in headers.items()})
        answer = connection.getresponse()
        result = answer.status, answer.read().decode()
        connection.close()
        return result

    def write(self, fence, path="/", lock="lock"):
        return self.ask("PUT", path, str(fence), Conclave_Lock=lock, Conclave_Fence=fence)

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        self.process.wait(PATIENCE)
        self.process.stdout.close()


def in_order(guard, service):
    assert guard.write(5) == (201, "written") and guard.write(5)[0] == 201 and guard.write(7)[0] == 201
    assert guard.write(6) == (412, "fence 6 of 'lock': 7 has been seen, the lock is another's\n")
    assert guard.write(1, lock="other")[0] == 201 and service.written == ["5", "5", "7", "1"]
    assert guard.ask("GET", X_Asked="it") == (200, "it") and guard.ask("HEAD") == (200, "")
    assert guard.ask("PUT", "/", "x")[0] == 428 and guard.ask("PUT", "/", "x", Conclave_Fence=9)[0] == 428
    for fence in ("0", "-1", "x", "1.5", "07", "9" * 20, str(2 ** 63), "1 2"):
        assert guard.ask("PUT", "/", "x", Conclave_Fence=fence, Conclave_Lock="lock")[0] == 400, fence
    assert guard.ask("PUT", "/", "x", Conclave_Fence=9, Conclave_Lock="y" * 513)[0] == 400
    assert len(service.written) == 4


def smuggled(guard, service):
    """Two lengths, chunks, two fences: one answer each, and nothing goes on."""
    count = len(service.written)
    for request, status in ((b"PUT / HTTP/1.1\r\nHost: x\r\nConclave-Lock: lock\r\nConclave-Fence: 99\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc", b" 411 "),
                            (b"PUT / HTTP/1.1\r\nHost: x\r\nConclave-Lock: lock\r\nConclave-Fence: 99\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", b" 411 "),
                            (b"PUT / HTTP/1.1\r\nHost: x\r\nConclave-Lock: lock\r\nConclave-Fence: 1\r\nConclave-Fence: 99\r\nContent-Length: 3\r\n\r\nabc", b" 400 "),
                            (b"PUT / HTTP/1.1\r\nHost: x\r\nConclave-Lock: lock\r\nConclave-Fence: 99\r\nContent-Length: -3\r\n\r\nabc", b" 413 "),
                            (b"BREW / HTTP/1.1\r\nHost: x\r\n\r\n", b" 501 ")):
        with socket.create_connection(("127.0.0.1", guard.port), PATIENCE) as raw:
            raw.sendall(request)
            assert status in raw.recv(4096).split(b"\r\n")[0], request
    assert len(service.written) == count and guard.write(8)[0] == 201, "none of the fences counted"


def late(guard, service):
    """A write is on its way in the service; one with a higher fence waits for it, one with a lower is refused at once."""
    service.written.clear()
    answers = {}
    slow = threading.Thread(target=lambda: answers.update(slow=guard.write(10, "/slow")))
    slow.start()
    service.arrived.acquire()
    assert guard.write(10)[0] == 201, "of the same holder"
    fast = threading.Thread(target=lambda: answers.update(fast=guard.write(20)))
    fast.start()
    while guard.write(10)[0] != 412:  # from the moment the higher one has come
        time.sleep(0.01)
    time.sleep(0.3)  # it has time to go past the one that is under way
    assert "fast" not in answers and service.written[-1] == "10"
    service.go_on.release()
    slow.join()
    fast.join()
    assert answers == {"slow": (201, "written"), "fast": (201, "written")} and service.written[-2:] == ["10", "20"]


def crowd(guard, service):
    service.written.clear()
    fences = [random.Random(2).randint(100, 999) for _ in range(60)]
    in_parallel(*(lambda part=part: [guard.write(fence) for fence in part] for part in (fences[i::6] for i in range(6))))
    written = [int(fence) for fence in service.written]
    assert written == sorted(written) and written[-1] == max(fences), written


def guard_http():
    service = Service()
    with tempfile.TemporaryDirectory() as directory:
        state = f"{directory}/fences.db"
        guard = Guard(service, state)
        try:
            in_order(guard, service)
            smuggled(guard, service)
            late(guard, service)
            crowd(guard, service)
        finally:
            guard.end(signal.SIGKILL)
        guard = Guard(service, state)
        try:
            assert guard.write(50)[0] == 412, "it is on disk"
            service.shutdown()
            service.server_close()
            assert guard.write(10 ** 6)[0] == 502
        finally:
            guard.end()
        wrong = subprocess.run([sys.executable, ROOT / "guards/http_guard.py", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--state", f"{directory}/no/such"],
                               capture_output=True, text=True, check=False)
        assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1, wrong
        assert subprocess.run([sys.executable, ROOT / "guards/http_guard.py", "--listen", "x"], capture_output=True, check=False).returncode == 2


if __name__ == "__main__":
    sys.exit(main([guard_http]))
