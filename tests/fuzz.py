#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the fuzzers of fuzz/ for a while, each as long as it is told: fuzz.py [--seconds S] [--runs N] [NAME...].

New inputs worth keeping are found in a copy of fuzz/corpus; with --keep they go there. A crash is shown with the bytes
that cause it and the command that repeats it.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
RESP = ["src/resp/resp_read.c", "src/resp/resp_write.c", "src/core/parse.c", "src/core/printable.c"]
HOST = ["src/live/host/*.c", "src/algorithm/registry.c", "src/algorithm/*/*.c", "src/core/**/*.c"]
RAFT = ["src/group/**/*.c", "src/core/**/*.c"]
FUZZERS = {"resp_command": RESP, "resp_reply": RESP, "frame": ["src/core/link/frame.c"],
           "link": ["src/core/link/link.c", "src/core/link/frame.c", "src/core/error.c"], "letters": HOST, "raft": RAFT, "journal": RAFT}
TEXT = ["src/core/parse.c", "src/core/printable.c", "src/core/error.c", "src/core/glob.c"]
ALGORITHMS = ["src/algorithm/registry.c", "src/algorithm/*/*.c", "src/core/**/*.c"]
FUZZERS |= {"formula": ["src/core/**/*.c"], "graph": ["src/core/**/*.c"], "http": [*TEXT, "src/core/alarm.c", "src/secure/acl.c", "src/service/http/http_request.c"],
            "key": [*TEXT, "src/secure/key.c", "src/secure/openssl.c"], "pattern": TEXT, "plan": ALGORITHMS,
            "recording": [*ALGORITHMS, "src/cli/study/recording.c", "src/cli/study/recording_run.c", "src/property/**/*.c"],
            "settings": [*ALGORITHMS, "src/live/settings/*.c", "src/secure/acl.c", "src/group/terms.c"]}
FUZZERS["replay"] = [*ALGORITHMS, "src/guard/*.c", "src/plugin/*.c", "src/secure/digest.c", "src/secure/openssl.c", "src/check/**/*.c", "src/ranks/*.c", "src/saved/*.c", "src/explore/decision_text.c", "src/property/**/*.c", "src/show/**/*.c",
                     *(f"src/cli/{name}.c" for name in ("study/replay_file", "study/check_options", "study/check_report",
                                                        "study/sim_options", "study/plugin", "study/plugin_source", "study/step_limit", "study/resumption", "options", "nearest", "command"))]
FUZZERS["explore"] = [*ALGORITHMS, "src/guard/*.c", "src/explore/*.c", "src/check/**/*.c", "src/ranks/*.c", "src/saved/*.c", "src/property/**/*.c", "src/show/**/*.c"]
FUZZERS["node"] = [*ALGORITHMS, "src/group/**/*.c", "src/live/**/*.c", "src/service/**/*.c", "src/resp/*.c", "src/secure/**/*.c"]
WRAPPED = ["disk_open", "disk_close", "uv_run", "uv_queue_work", "uv_getaddrinfo"]  # see fuzz/world.h
LIBRARIES = {"formula": ["-lm", "-lxxhash"], "graph": ["-lm", "-lxxhash"], "http": ["-luv"], "key": ["-ldl"],
             "plan": ["-lm", "-lxxhash"], "recording": ["-lm", "-lxxhash", "-ljansson"],
             "settings": ["-lm", "-lxxhash", "-linih"],
             "replay": ["-lm", "-lxxhash", "-ldl", "-lpthread"], "explore": ["-lm", "-lxxhash", "-lpthread"],
             "node": ["-luv", "-lraft", "-lxxhash", "-linih", "-lm", "-ldl", *(f"-Wl,--wrap={name}" for name in WRAPPED)],
             "letters": ["-lm", "-lxxhash"], "raft": ["-lraft", "-lxxhash", "-lm"], "journal": ["-lraft", "-lxxhash", "-lm"]}
LONG = {"letters", "node", "raft"}  # inputs that are sequences of events: longer ones try more
LONGEST = 20000  # bytes; a command has 16384 at most
FLAGS = ["-std=c17", "-D_GNU_SOURCE", "-DCONCLAVE_VERSION=\"fuzzed\"", "-g1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"]
COUNTS = ("letters:", "commands:", "messages:", "journals:", "frames:", "events:")  # a fuzzer's count of its inputs, at its end


def compile_one(source, directory, kind):
    target = directory / ((str(source.relative_to(SOURCE)) if source.is_relative_to(SOURCE) else source.name).replace("/", "_") + ".o")
    if not target.exists():
        includes = [word for place in ("", "src", "include") for word in ("-I", str(SOURCE / place))]
        command = ["clang", *FLAGS, *kind("fuzzer-no-link"), *includes, "-c", "-o", str(target), str(source)]
        subprocess.run(["ccache", *command] if shutil.which("ccache") else command, check=True)
    return str(target)


def make_page(directory):
    """The node's page as C, as the build makes it."""
    parts = [SOURCE / "web" / "live" / f"page.{suffix}" for suffix in ("html", "css", "js")]
    subprocess.run([sys.executable, str(SOURCE / "scripts" / "embed_page.py"), str(directory / "page_text.c"), *map(str, parts)], check=True)
    return directory / "page_text.c"


def thorough(engine):
    """The flags of clang, with that of libFuzzer."""
    return ["-O1", f"-fsanitize={engine},address,undefined"]


def brief(engine):
    """A third of the time to compile."""
    return ["-O0", f"-fsanitize={engine},address"]


def build(name, directory, kind=thorough):
    target = directory / name
    found = {pattern: sorted(SOURCE.glob(pattern)) for pattern in [f"fuzz/{name}.c", *FUZZERS[name]]}
    assert all(found.values()), f"{name}: no such files: {[pattern for pattern, paths in found.items() if not paths]}"
    sources = [path for paths in found.values() for path in paths]
    if name == "node":
        sources.append(make_page(directory))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda source: compile_one(source, directory, kind), sources))
    subprocess.run(["clang", *FLAGS, *kind("fuzzer"), "-o", str(target), *objects,
                    *LIBRARIES.get(name, [])], check=True)
    return target


def fuzz(name, options, directory):
    corpus = SOURCE / "fuzz" / "corpus" / name
    found = directory / f"{name}-found"
    found.mkdir()
    command = [str(build(name, directory, brief if options.brief else thorough)), f"-max_total_time={options.seconds}", f"-runs={options.runs}", f"-max_len={LONGEST}",
               "-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1", f"-artifact_prefix={options.artifacts or directory}/",
               *(["-len_control=0"] if name in LONG else []), str(found), str(corpus)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    lines = done.stdout.splitlines()
    runs = [line.split()[-1] for line in lines if "number_of_executed_units" in line]
    if done.returncode or not runs:
        print(done.stdout[-6000:], "\nrepeat with:", " ".join(command))
        return False
    counts = [line for line in lines if line.startswith(COUNTS)]
    print(f"{name}: {int(runs[0]):,} inputs, no failure, {len(list(found.iterdir()))} new ones", *counts, sep="; ", flush=True)
    if options.keep:
        # Only inputs that reach new code are kept.
        subprocess.run([command[0], "-merge=1", f"-max_len={LONGEST}", str(corpus), str(found)], check=True,
                       stderr=subprocess.DEVNULL)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=4, metavar="S", help="of each (4)")
    parser.add_argument("--runs", type=int, default=-1, metavar="N", help="inputs of each at most")
    parser.add_argument("names", nargs="*", default=sorted(FUZZERS), metavar="NAME", help=f"of {', '.join(sorted(FUZZERS))}")
    parser.add_argument("--artifacts", metavar="DIR", help="where the input of a failure is kept")
    parser.add_argument("--brief", action="store_true", help="without UBSan and optimizations, which take most of the time to compile")
    parser.add_argument("--keep", action="store_true", help="add what was found to the corpus")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in FUZZERS]
    if unknown:
        parser.error(f"{unknown[0]}: expected one of {', '.join(sorted(FUZZERS))}")
    if not shutil.which("clang"):
        print("there is no clang: nothing was fuzzed")
        return 77
    with tempfile.TemporaryDirectory() as directory:
        results = [fuzz(name, options, pathlib.Path(directory)) for name in options.names]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
