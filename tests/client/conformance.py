#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plays the scripts of clients/conformance/ with every client, against a group of real processes.

usage: conformance.py [--clients NAME,...] [--scripts NUMBER,...] [--verbose]

All clients play at the same time, each with names of its own; what happens to a server happens to all of them. A client
whose language is not installed is skipped by name. clients/conformance/README.md describes the scripts.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent / "live"), str(HERE.parent / "support")]
import starvation  # pylint: disable=wrong-import-position
from harness import CONCLAVE, PATIENCE, Cluster, in_parallel, stretch  # pylint: disable=wrong-import-position
from secured import Secured, World  # pylint: disable=wrong-import-position
from languages import LANGUAGES, Missing  # pylint: disable=wrong-import-position
from ways import Ways  # pylint: disable=wrong-import-position

SCRIPTS = sorted((ROOT / "clients" / "conformance").glob("*.txt"))
TIMES = ("ttl", "wait", "within")
ACQUIRING = ("lock", "campaign", "lock_all", "twice", "enter", "join", "once")
# What the plain words of a step are; those of others are a hold.
WORDS = {**dict.fromkeys(("lock", "campaign", "twice", "enter", "join", "once"), ("hold", "name")),
         **dict.fromkeys(("observe", "watch", "watch_members"), ("watch", "name")),
         **dict.fromkeys(("leader", "askback", "waiters", "sequence", "barrier", "members", "last_run", "latch_set", "latch_down",
                          "latch_wait", "latch_left", "latch_clear"), ("name",))}
TIMEOUT_MS = 2000  # of the clients
HANDSHAKE_MS = 20000  # a virtual machine that has just begun takes its time for its first one


class Differs(AssertionError):
    """A client did something else than the script says."""


class Skipped(Exception):
    """The language, or this way to use it, has nothing like it."""


# ---- a program that uses the client ----


class Actor:
    """It does what it is told, a line of JSON each, and tells what happens."""

    def __init__(self, command, addresses, verbose):
        self.options = {"servers": ",".join(addresses), "timeout": TIMEOUT_MS * stretch()}
        self.verbose = verbose
        self.command = command
        self.answers = {}
        self.news, self.lost, self.asked, self.positions, self.numbers = {}, {}, {}, {}, {}
        self.cannot = set()
        self.count = 0
        self.changed = threading.Condition()
        self.start()

    def start(self):
        environment = {**os.environ, "PATH": f"{pathlib.Path(CONCLAVE).resolve().parent}:{os.environ['PATH']}"}
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        threading.Thread(target=self.listen, args=(self.process,), daemon=True).start()

    def crash(self):
        """It dies without a word, and another one begins in its place."""
        self.process.kill()
        self.process.wait()
        self.start()
        self.open()

    def listen(self, process):
        for line in process.stdout:
            told = json.loads(line)
            if self.verbose:
                print(f"  {process.pid} < {line.rstrip()}", flush=True)
            with self.changed:
                if "id" in told:
                    self.answers[told["id"]] = told
                elif told["event"] == "position":
                    self.positions.setdefault(told["hold"], []).append(told["position"])
                elif told["event"] in ("lost", "askback"):
                    (self.lost if told["event"] == "lost" else self.asked)[told["hold"]] = told["at"]
                elif told["event"] == "number":
                    self.numbers.setdefault(told["hold"], []).append(told["number"])
                else:
                    self.news.setdefault(told["watch"], []).append(told)
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def open(self, options=None):
        answer = self.wait(self.say({"do": "open", "options": options or self.options}))
        self.cannot = set(answer.get("ok", {}).get("cannot", []))

    def say(self, step):
        self.count += 1
        line = json.dumps({"id": self.count, **step})
        if self.verbose:
            print(f"  {self.process.pid} > {line}", flush=True)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.count

    def until(self, what, ready):
        """Waits until ready() has something."""
        with self.changed:
            if not self.changed.wait_for(lambda: ready() is not None or self.process.poll() is not None, PATIENCE):
                raise Differs(f"{what}: nothing within {PATIENCE:g} s; told: lost {self.lost}, news {self.news}")
            if ready() is None:
                raise Differs(f"{what}: the program ended with {self.process.poll()}")
            return ready()

    def wait(self, number):
        return self.until("no answer", lambda: self.answers.get(number))

    def signal(self, number):
        os.kill(self.process.pid, number)
        while number == signal.SIGSTOP and not self.stands_still():
            time.sleep(0.001)

    def stands_still(self):
        """The signal stops one thread after the other, and one that still runs would answer."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/stat")
        return all(task.read_text("utf-8").rpartition(")")[2].split()[0] in "TtZX" for task in tasks)

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


# ---- a script ----


class Player:
    """Plays a script with two programs."""

    def __init__(self, name, actors, ways, secured):
        self.name, self.actors, self.ways, self.secured = name, actors, ways, secured
        self.results, self.open, self.heard = {}, {}, {}

    def words(self, line, script):
        """`$x` is a name of this client's and script's own."""
        text = re.sub(r"\$(\w+)", lambda found: f"{found[1]}-{script.stem}-{self.name}-{stretch()}", line)
        return [word.encode().decode("unicode_escape").encode("latin-1").decode() if "\\" in word else word
                for word in shlex.split(text, comments=True)]

    def play(self, script, server):
        self.results, self.open, self.heard = {}, {}, {}
        for actor in self.actors.values():
            actor.news.clear()
            actor.numbers.clear()
        text = script.read_text(encoding="utf-8")
        failure = self.lacking(text)
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split("#")[0].split()
            if words[:1] == ["server"]:
                server(*words[1:])
            elif words and not failure:
                try:
                    self.step(self.words(line, script))
                except Differs as error:
                    failure = Differs(f"{self.name}: {script.name}:{number}: {line.strip()}: {error}")
        for actor in self.actors.values():
            self.ways[actor].heal()
            actor.signal(signal.SIGCONT)
        if failure:
            raise failure

    def lacking(self, text):
        """Skipped, if the script has something that this client cannot do."""
        cannot = set.union(*(actor.cannot for actor in self.actors.values()))
        lines = [line.split() for line in text.splitlines()]
        needed = {words[1] for words in lines if len(words) > 1 and words[0] in self.actors}
        needed |= {word.split("=")[0] for words in lines for word in words if "=" in word}
        return Skipped(", ".join(sorted(needed & cannot))) if needed & cannot else None

    def step(self, words):
        first, rest = words[0], words[1:]
        if first == "sleep":
            time.sleep(int(rest[0]) * stretch() / 1000)
        elif first == "expect":
            self.expect(*rest)
        elif first in ("pause", "resume"):
            self.actors[rest[0]].signal(signal.SIGSTOP if first == "pause" else signal.SIGCONT)
        elif first == "crash":
            self.actors[rest[0]].crash()
        elif first in ("cut", "mute", "refuse", "heal"):
            getattr(self.ways[self.actors[rest[0]]], first)(*map(int, rest[1:]))
        else:
            self.act(self.actors[first], rest)

    def expect(self, left, relation, right):
        if relation == "is":
            owner, _, field = left.partition(".")
            if self.results[owner][field] != right:
                raise Differs(f"{left} is {self.results[owner][field]!r}")
            return

        def value(word):
            owner, _, field = word.partition(".")
            if re.fullmatch(r"-?\d+", word):
                return int(word)
            if field == "lost":
                return next(actor.lost[owner] for actor in self.actors.values() if owner in actor.lost)
            return self.results[owner][field]

        a, b = value(left), value(right)
        if not {">": a > b, ">=": a >= b, "==": a == b}[relation]:
            raise Differs(f"{left} is {a}, {right} is {b}")

    def act(self, actor, words):
        verb, rest = words[0], words[1:]
        if verb == "done":
            self.judge(rest, *self.open.pop(rest[0]))
        elif verb == "lost":
            actor.until(f"{rest[0]} is not told to be lost", lambda: actor.lost.get(rest[0]))
        elif verb == "unharmed":
            if rest[0] in actor.lost:
                raise Differs("it was told to be lost")
        elif verb == "news":
            self.hear(actor, *rest)
        elif verb == "rejoined":
            self.results[rest[0]]["number"] = actor.until(f"{rest[0]} has not joined anew", lambda: next(
                (number for number in actor.numbers.get(rest[0], []) if number), None))
        elif verb == "position":
            actor.until(f"{rest[0]} has not been told that it is at place {rest[1]}",
                        lambda: int(rest[1]) in actor.positions.get(rest[0], []) or None)
        elif verb == "askedback":
            actor.until(f"nobody has told that {rest[0]} is asked for", lambda: actor.asked.get(rest[0]))
        elif verb == "open":
            actor.open(self.secured.options(rest[1]) if rest else None)
        else:
            self.ask(actor, verb, rest)

    def hear(self, actor, watch, *what):
        """The news come in this order, though there may be others in between."""
        wanted = dict(word.split("=", 1) for word in what if "=" in word)
        if "=" not in what[0]:
            wanted["fence"] = 0 if what[0] == "nobody" else self.results[what[0]]["fence"]

        def later():
            for index, told in list(enumerate(actor.news.get(watch, [])))[self.heard.get(watch, 0):]:
                if all(told.get(key) == value for key, value in wanted.items()):
                    return index + 1
            return None

        self.heard[watch] = actor.until(f"{watch} does not tell {' '.join(what)}, {wanted}, after {self.heard.get(watch, 0)}", later)

    def ask(self, actor, verb, rest):
        step = {"do": verb}
        arrow = next((word for word in rest if word in ("->", "~>")), None)
        asked, outcome = (rest[:rest.index(arrow)], rest[-1]) if arrow else (rest, None)
        plain = [word for word in asked if not re.match(r"&|\w+=", word)]
        for key, word in zip(WORDS.get(verb, ("hold",)), plain):
            step[key] = word
        for word in rest:
            key, equals, value = word.partition("=")
            if equals and key != "as":
                step[key] = int(value) * (stretch() if key in TIMES else 1) if value.isdigit() else value
            elif equals:
                step["hold"] = value
        for option in ("shared", "reentrant"):
            if option in plain:
                step[option] = True
        if verb == "lock_all":
            step["names"] = plain[1:]
        if verb in ACQUIRING:
            actor.lost.pop(step["hold"], None)
        number, task = actor.say(step), next((word[1:] for word in asked if word.startswith("&")), None)
        if task:
            self.open[task] = (actor, number, step)
        elif arrow == "~>":
            self.insist(actor, number, step, outcome)
        else:
            self.judge(["", *(["->", outcome] if outcome else [])], actor, number, step)

    def insist(self, actor, number, step, outcome):
        """Asks again until the answer is that: an outcome, or KEY=VALUE."""
        end = time.monotonic() + PATIENCE
        key, equals, value = outcome.partition("=")
        while True:
            self.judge([""], actor, number, step)
            answer = actor.wait(number)
            if outcome == self.found(answer, step) or equals and str(answer.get("ok", {}).get(key)) == value:
                return
            if time.monotonic() > end:
                raise Differs(f"{answer} for {PATIENCE:g} s")
            time.sleep(0.02)
            number = actor.say(step)

    @staticmethod
    def found(answer, step):
        if "error" in answer:
            return answer["error"]
        if step["do"] == "held":
            return str(answer["ok"]["held"]).lower()
        if step["do"] == "once" and "fence" not in answer["ok"]:
            return "skipped"
        return "held" if step["do"] in ACQUIRING else "ok"

    def judge(self, rest, actor, number, step):
        answer = actor.wait(number)
        outcome = rest[rest.index("->") + 1] if "->" in rest else None
        found = self.found(answer, step)
        if "ok" in answer and "hold" in step and answer["ok"] and step["do"] != "held":
            self.results[step["hold"]] = {**answer["ok"], "at": answer["at"]}
        if outcome and found not in outcome.split("|"):
            raise Differs(f"{found} {answer.get('why', '')}")


# ---- all clients at once ----


class SecuredNode(Secured):
    """A server with a key and certificates, and what its clients have."""

    def __init__(self, world):
        self.world = world
        for key, client, cluster in (("cluster", None, None), ("build", "build", "cluster"), ("other", None, None),
                                     ("stranger", "build", "other")):
            world.key(key, client, cluster)
        world.authority("ca")
        world.authority("false-ca")
        for name, authority in (("node", "ca"), ("web", "ca"), ("stranger", "false-ca")):
            world.certificate(name, authority)
        path = world.path
        super().__init__(world, f"cluster-key = {path}/cluster.key\nca = {path}/ca.pem\ncertificate = {path}/node.crt\n"
                         f"private-key = {path}/node.pk\nhandshake = {HANDSHAKE_MS}", "[acl build]\nlock = x-*\n[acl web]\nlock = x-*")

    def options(self, word):
        """For a client with key=NAME or certificate=NAME."""
        kind, _, name = word.partition("=")
        base = f"{self.world.path}/{name}"
        options = {"servers": self.address, "timeout": HANDSHAKE_MS}
        if kind == "key":
            return {**options, "key": f"{base}.key"}
        return {**options, "tls_ca": f"{self.world.path}/ca.pem", "tls_certificate": f"{base}.crt",
                "tls_private_key": f"{base}.pk"}


class Together:
    """What happens to a server happens when all clients have come so far."""

    def __init__(self, cluster, count):
        self.cluster = cluster
        self.barrier = threading.Barrier(count)
        self.commands, self.started = {}, []

    def server(self, what, index):
        signals = {"stop": signal.SIGSTOP, "cont": signal.SIGCONT, "kill": signal.SIGKILL}
        if self.barrier.wait(10 * PATIENCE) == 0:
            if what == "start":
                self.start(int(index))
            else:
                self.commands[int(index)] = pathlib.Path(f"/proc/{self.cluster.pids[int(index)]}/cmdline").read_text("utf-8")
                self.cluster.kill(int(index), signals[what])
        self.barrier.wait(10 * PATIENCE)

    def start(self, index):
        """A node that was killed begins again, and is a member as before."""
        command = self.commands[index].split("\0")[:-1]
        process = subprocess.Popen([CONCLAVE, *command[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.started.append(process)
        self.cluster.pids[index] = process.pid
        self.cluster.await_view(self.cluster.pids)

    def end(self):
        for process in self.started:
            process.terminate()
            process.wait()


def find_clients(wanted):
    """The commands of all clients that can run here."""
    commands = {}
    for name, build in LANGUAGES.items():
        if wanted and name not in wanted:
            continue
        try:
            commands[name] = build()
        except Missing as missing:
            print(f"conformance: {name} skipped: {missing}", flush=True)
    return commands


def play_all(commands, scripts, verbose):
    results = {}

    with Cluster(3, record=False) as cluster, World() as world, SecuredNode(world) as secured:
        together = Together(cluster, len(commands))
        sockets = [cluster.address(index) for index in (1, 2, 3)]

        def play(name):
            ways = {letter: Ways(sockets[turn:] + sockets[:turn], letter == "b") for letter, turn in (("a", 0), ("b", 1))}
            actors = {letter: Actor(commands[name], ways[letter].addresses, verbose) for letter in ways}
            by_actor = {actors[letter]: ways[letter] for letter in ways}
            try:
                for actor in actors.values():
                    actor.open()
                player = Player(name, actors, by_actor, secured)
                for script in scripts:
                    began = time.monotonic()
                    try:
                        player.play(script, together.server)
                        results[name, script] = None
                    except Skipped as skipped:
                        results[name, script] = skipped
                    except Differs as differs:
                        results[name, script] = differs
                    if verbose:
                        print(f"{name}: {script.stem}: {results[name, script] or 'ok'}, {time.monotonic() - began:.1f} s", flush=True)
            finally:
                for actor in actors.values():
                    actor.signal(signal.SIGCONT)
                    actor.end()
                for way in ways.values():
                    way.end()

        try:
            in_parallel(*(lambda name=name: play(name) for name in commands))
        finally:
            together.end()
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", default="")
    parser.add_argument("--scripts", default="")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    commands = find_clients(options.clients.split(",") if options.clients else None)
    scripts = [script for script in SCRIPTS
               if not options.scripts or script.stem.split("-")[0] in options.scripts.split(",")]

    def conformance():
        results = play_all(commands, scripts, options.verbose)
        width = max(len(script.stem) for script in scripts)
        for script in scripts:
            words = ["ok" if results[name, script] is None else
                     "-" if isinstance(results[name, script], Skipped) else "FAILED" for name in commands]
            print(f"{script.stem:{width}}  " + "  ".join(f"{name} {word}" for name, word in zip(commands, words)))
        wrong = [str(result) for result in results.values() if isinstance(result, Differs)]
        assert not wrong, "\n".join(wrong)

    return 0 if starvation.run(conformance) else 1


if __name__ == "__main__":
    sys.exit(main())
