# SPDX-License-Identifier: MIT
"""A PostgreSQL server of our own, on a Unix socket in a temporary directory; and sessions with it, by psql."""

import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time


def find():
    """The directory of its programs, the latest version; None if it is not installed, or nobody unprivileged can run it."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    user_is_there = os.getuid() != 0 or any(user.pw_name == "postgres" for user in pwd.getpwall())
    return found[-1].parent if found and user_is_there and shutil.which("setpriv") else None


def unprivileged():
    """PostgreSQL refuses to be root."""
    if os.getuid() != 0:
        return []
    user = pwd.getpwnam("postgres")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


class Session:
    """psql behind a pipe. Every answer is a list of lines; an error is a line that begins with its SQLSTATE."""

    def __init__(self, server, user="owner"):
        self.process = subprocess.Popen([server.programs / "psql", "-X", "-q", "-A", "-t", "-h", server.directory, "-U", user, "postgres",
                                         "-v", "VERBOSITY=verbose"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.count = 0

    def say(self, text):
        self.count += 1
        self.process.stdin.write(f"{text};\n\\echo end-{self.count}\n")
        self.process.stdin.flush()

    def hear(self):
        lines = []
        while True:
            line = self.process.stdout.readline()
            assert line, ("psql ended", lines)
            if line.strip() == f"end-{self.count}":
                return [text.removeprefix("ERROR:  ") for text in lines if not text.startswith(("LOCATION:", "CONTEXT:", "PL/pgSQL"))]
            if line.strip():
                lines.append(line.rstrip("\n"))

    def ask(self, text):
        self.say(text)
        return self.hear()

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class PostgreSQL:
    """`with PostgreSQL(patience) as server`: server.session() gives a session."""

    def __init__(self, patience):
        self.patience = patience
        self.programs = find()
        self.sessions = []

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="conclave-test-")
        if unprivileged():
            shutil.chown(self.directory, "postgres", "postgres")
        data = f"{self.directory}/data"
        subprocess.run([*unprivileged(), self.programs / "initdb", "-D", data, "-A", "trust", "-U", "owner", "-N", "-E", "UTF8", "--locale", "C"],
                       check=True, stdout=subprocess.DEVNULL, cwd=self.directory)
        self.process = subprocess.Popen([*unprivileged(), self.programs / "postgres", "-D", data, "-k", self.directory, "-c", "listen_addresses=", "-c", "fsync=off",
                                         "-c", "max_connections=300"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.directory)
        end = time.monotonic() + self.patience
        ready = [self.programs / "pg_isready", "-q", "-h", self.directory]
        while subprocess.run(ready, check=False).returncode:
            assert self.process.poll() is None and time.monotonic() < end, "PostgreSQL does not start"
            time.sleep(0.05)
        return self

    def session(self, user="owner"):
        self.sessions.append(Session(self, user))
        return self.sessions[-1]

    def __exit__(self, *_):
        for session in self.sessions:
            session.end()
        self.process.send_signal(signal.SIGINT)  # it waits for no session
        self.process.wait(self.patience)
        shutil.rmtree(self.directory, ignore_errors=True)
