#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Can the tests fail? Each mutants/*.mutant changes a line of an algorithm, in a copy. The tests of its problem
(tests/elections, tests/mutexes or tests/synchronizers) must find it. The unchanged source, compiled the same way, must
pass.

A mutant file says in # lines what is broken, then names the algorithm, its source and the C name of its table. The lines
after `- ` become those after `+ `; they must be in the source exactly once. Arguments name the mutants to try. With
`found: by the checker` a violation is too rare for random runs, and tests/check.py looks for it."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
ELECTIONS = os.environ.get("CONCLAVE_ELECTIONS", str(SOURCE / "build" / "tests" / "elections"))
MUTEXES = os.environ.get("CONCLAVE_MUTEXES", str(SOURCE / "build" / "tests" / "mutexes"))
SYNCHRONIZERS = os.environ.get("CONCLAVE_SYNCHRONIZERS", str(SOURCE / "build" / "tests" / "synchronizers"))
CONCLAVE = os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave"))
WORKERS = 2
PATIENCE_SECONDS = 400  # alone it is ten


class Mutant:
    def __init__(self, path):
        self.name = path.stem
        fields, before, after = {}, [], []
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(("- ", "+ ")) or line in ("-", "+"):
                (before if line[0] == "-" else after).append(line[2:])
            elif not line.startswith("#"):
                key, _, value = line.partition(": ")
                fields[key] = value
        self.algorithm, self.table = fields["algorithm"], fields["table"]
        self.source = SOURCE / fields["source"]
        self.for_checker = fields.get("found") == "by the checker"
        self.before, self.after = "\n".join(before) + "\n", "\n".join(after) + "\n"

    def text(self):
        """The changed source; None if the lines are not in it exactly once."""
        text = self.source.read_text(encoding="utf-8")
        return text.replace(self.before, self.after) if text.count(self.before) == 1 else None


def compile_object(text, table, directory, name):
    source, target = directory / f"{name}.c", directory / f"{name}.so"
    source.write_text(text, encoding="utf-8")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-O1", "-w", "-shared", "-fPIC", "-I",
                    str(SOURCE / "include"), f"-D{table}=conclave_algorithm", "-o", str(target), str(source)], check=True)
    return target


def play(algorithm, source, target, share):
    program, stories = {"election": (ELECTIONS, 2500), "mutex": (MUTEXES, 600)}.get(source.parent.name, (SYNCHRONIZERS, 1000))
    return subprocess.run([program, algorithm, str(target), "--stories", str(stories // share), "--failures", "1"], capture_output=True,
                          text=True, check=False, timeout=PATIENCE_SECONDS, env={**os.environ, "MALLOC_PERTURB_": "0"})


def try_mutant(mutant, directory):
    """A message if the tests did not catch the mutant; None if they did."""
    text = mutant.text()
    if text is None:
        return f"the line is not in {mutant.source.name} exactly once; has the source changed?\n{mutant.before}"
    try:
        target = compile_object(text, mutant.table, directory, mutant.name)
        done = play(mutant.algorithm, mutant.source, target, 1)
    except subprocess.TimeoutExpired:
        return f"not judged within {PATIENCE_SECONDS} seconds"
    if done.returncode == 1 and "FAILED: " in done.stdout:
        return None
    return f"exit code {done.returncode}, not caught\n{done.stdout}{done.stderr}"


def try_original(key, directory):
    algorithm, source, table = key
    target = compile_object(source.read_text(encoding="utf-8"), table, directory, f"{algorithm}-original")
    done = play(algorithm, source, target, 5)
    return None if done.returncode == 0 else f"fails unchanged\n{done.stdout}{done.stderr}"


def main(names):
    mutants = [Mutant(path) for path in sorted((SOURCE / "tests" / "mutants").glob("*.mutant"))]
    mutants = [mutant for mutant in mutants if not names or mutant.name in names]
    listed = subprocess.run([CONCLAVE, "list"], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    algorithms = {line.split()[0] for line in listed if line.strip() and not line.startswith("conclave ")}
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        directory = pathlib.Path(temporary)
        originals = sorted({(mutant.algorithm, mutant.source, mutant.table) for mutant in mutants})
        tries = [(f"{key[0]}, the original", pool.submit(try_original, key, directory)) for key in originals]
        tries += [(mutant.name, pool.submit(try_mutant, mutant, directory)) for mutant in mutants if not mutant.for_checker]
        for name, attempt in tries:
            problem = attempt.result()
            if problem:
                wrong += 1
                print(f"FAILED: {name}: {problem}")
    for algorithm in sorted(algorithms - {mutant.algorithm for mutant in mutants}) if not names else []:
        wrong += 1
        print(f"FAILED: {algorithm} has no mutant")
    print(f"{len(mutants)} mutants, {wrong} surprises")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
