#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Can the conformance suite fail? Each mutant changes a line of a client, and must be caught by the scripts named with it.

usage: conformance_mutants.py [WORD...]   the mutants whose names have such a word; without any, all: a few minutes
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CLIENTS = HERE.parent.parent / "clients"
SOURCES = {"python": "python/conclave/", "asyncio": "python/conclave/", "node": "node/src/", "go": "go/", "java": "java/src/conclave/"}

# What is broken, in which client, the file, the line, what it becomes, and which scripts find it.
MUTANTS = [
    ("a watch does not tell that a lock was given back", "python", "observation.py", "        if news != self._last:",
     "        if news != self._last and (news is not None or self._last is END):", "23"),
    ("a watch ends with its connection", "node", "observation.js", "        if (!connection || connection.closed) {", "        if (!connection) {", "23"),
    ("a lock taken again is given back at once", "python", "hold.py", "            self._again -= 1\n            return\n", "            pass\n", "24"),
    ("any task takes it again", "asyncio", "aio.py", "        want.owner = want.owner or asyncio.current_task()", "        want.owner = 1", "24"),
    ("a lock taken again waits", "node", "hold.js", "    if (mine) this.#again++;\n    return mine;", "    return false;", "24"),
    ("the first release ends it", "go", "hold.go", "	again := held && h.again > 0\n", "	again := held && h.again < 0\n", "24"),
    ("any thread takes it again", "java", "Hold.java", "boolean mine = owner == Thread.currentThread() && ", "boolean mine = ", "24"),
    ("a latch does not wait", "python", "recipes.py", '["LATCH", self.name, "AWAIT"]', '["LATCH", self.name]', "26"),
    ("a wait for a latch ends with its connection", "asyncio", "recipes.py", "        await self._client._persist(wait, attempt)",
     "        await attempt(await self._client._connect(), self._client._until(wait))", "26"),
    ("a latch counts one", "go", "recipes.go", '"DOWN", strconv.Itoa(count))', '"DOWN")', "26"),
    ("an open latch is none", "java", "Latch.java", "instanceof Long left ? OptionalLong.of(left)",
     "instanceof Long left && left > 0 ? OptionalLong.of(left)", "33"),
    ("a barrier is asked for twice", "node", "recipes.js", "error instanceof NoServer ? new LockLost(`${want.name}: ${error.message}; the others may have met`) : error",
     "error", "27"),
    ("a barrier knows no end of patience", "go", "recipes.go", "		if value == nil {\n			c.keep(on)\n			return false, fail(ErrTimeout, name",
     "		if false {\n			c.keep(on)\n			return false, fail(ErrTimeout, name", "27"),
    ("a cancelled wait goes on", "asyncio", "aio.py", "        except asyncio.CancelledError:\n            self._spawn(self._withdraw(connection, question, undo))",
     "        except asyncio.CancelledError:\n            pass", "28"),
    ("nobody waits for the others to leave", "python", "recipes.py", '["BARRIER", self.name, "LEAVE"]', '["BARRIER", self.name, "LEAVE", "WAIT", "0"]', "29"),
    ("the end of a double barrier's connection is not told", "java", "Inside.java",
     '        Client.daemon("conclave-lost", () -> onLost.run()).start();', "", "29"),
    ("a member does not join anew", "node", "recipes.js", "    while (!this.#left && this.number === null) {", "    while (false) {", "30"),
    ("a member leaves in silence", "go", "members.go", '	m.on.askWithin(m.client.timeout, "MEMBERS", m.Name, "LEAVE")\n	m.on.close(errors.New("left"))\n', "", "30"),
    ("members have no value", "java", "Membership.java", "        if (value != null)", "        if (value == null)", "30"),
    ("the members are not watched", "python", "aio.py", '[*words, "WATCH"], words, "members"', 'words, words, "members"', "30"),
    ("what is done is not told", "node", "client.js", "      () => run.done(),", "      () => run.abandon(),", "31"),
    ("what is given up is done", "go", "recipes.go", "		run.abandon()\n		return true, err\n", "", "31"),
    ("an upgrade keeps its fence", "python", "hold.py", "                self.fence, self.fences = fence, [fence]\n", "", "32"),
    ("an upgrade that waits too long is one", "go", "hold.go", "		err = fail(ErrTimeout, h.Name, \": others still share it\")\n", "", "32"),
    ("a semaphore is upgraded", "node", "hold.js", "String(kind) !== String(before) || several", "several", "32"),
    ("a run that is lost is done", "python", "recipes.py", "        self.check()\n        self._why = \"it is over\"", "        self._why = \"it is over\"", "31"),
]


def try_mutant(mutant):
    """What is wrong with the suite, or None if it caught it."""
    what, client, name, before, after, scripts = mutant
    with tempfile.TemporaryDirectory(prefix="conclave-test-") as directory:
        copy = pathlib.Path(directory) / "clients"
        shutil.copytree(CLIENTS, copy, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
        path = copy / SOURCES[client] / name
        text = path.read_text(encoding="utf-8")
        if text.count(before) != 1:
            return f"{what}: {before!r} stands {text.count(before)} times in {name}"
        path.write_text(text.replace(before, after), encoding="utf-8")
        environment = {**os.environ, "CONCLAVE_CLIENTS": str(copy), "CONCLAVE_TEST_ATTEMPTS": "1", "CONCLAVE_TEST_PATIENCE": "15"}
        command = [sys.executable, str(HERE / "conformance.py"), "--clients", client, "--scripts", scripts]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    if "FAILED" in done.stdout:
        return None
    return f"{what} ({client}): {scripts} did not notice\n{done.stdout}{done.stderr}"


def main(wanted):
    mutants = [mutant for mutant in MUTANTS if not wanted or any(word in " ".join(mutant) for word in wanted)]
    wrong = 0
    for mutant in mutants:
        complaint = try_mutant(mutant)
        wrong += complaint is not None
        print(complaint or f"caught: {mutant[0]} ({mutant[1]})", flush=True)
    print(f"{len(mutants)} mutants, {wrong} got away")
    return 1 if wrong or not mutants else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
