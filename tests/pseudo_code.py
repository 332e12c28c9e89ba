#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pseudo-code that the explorer shows: every handler of every algorithm has some, and nothing of C is left in it."""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(ROOT / "scripts"))
import pseudo_code  # noqa: E402

C_SIGNS = re.compile(r"cv_|CV_|->|;|&|\|\||!|[{}]|\bstruct |==|\(void\)|sizeof|\+\+|--|\0|(^|[ (])\*\w")
KIND = re.compile(r"CV_KIND\(|CV_SIGNAL\(")

# What a person has read, and found good.
KNOWN = {
    ("bully", "on_election"): """\
if election_to = TO_ALL and better(sender, me):
    await_result
    return
send OK to sender
if my leader = me:
    send COORDINATOR to sender  # the asker missed it
else if my mode = IDLE:
    call""",
    ("token-ring", "use"): """\
if not my wants:
    pass_on
    return
my wants := false
my inside := true
enter, fence my token.entries (now one more)""",
    ("maekawa", "on_reply"): """\
my said[my_voter(sender)] := VOTED
if message.highest > my fence:
    my fence := message.highest
if my missing (now one less):
    return
my mode := HELD
my fence := the fence after my fence
enter, fence my fence""",
    ("alpha", "go_on"): """\
while not all rounds are done and not my missing and my safe[round mod 2] = number of neighbours:
    my safe[round mod 2] := 0
    begin_round""",
}


def main():
    wrong, made = [], {}
    for path in sorted((ROOT / "src/algorithm").glob("*/*.c")):
        found = pseudo_code.algorithms(path)
        made.update(found)
        rows = len(KIND.findall(path.read_text(encoding="utf-8")))
        known = sum(len(it["handlers"]["receive"]) for it in found.values())
        if known < rows:
            wrong.append(f"{path}: {rows} kinds of messages, {known} of them found")
    for name, algorithm in made.items():
        handlers = {**algorithm["handlers"], **algorithm["handlers"]["receive"]}
        for handler, function in handlers.items():
            if handler != "receive" and function not in algorithm["functions"]:
                wrong.append(f"{name}: {function}, which is its {handler}, has no code")
        for function, told in algorithm["functions"].items():
            for other in told["calls"]:
                if not re.search(rf"\b{other}\b", "\n".join(told["lines"])):
                    wrong.append(f"{name}, {function}: {other} is called, and not told")
            for line in told["lines"]:
                if C_SIGNS.search(re.sub(r'"[^"]*"', "", line.split("# ")[0])):
                    wrong.append(f"{name}, {function}: C is left in: {line}")
    for (name, function), text in KNOWN.items():
        if "\n".join(made[name]["functions"][function]["lines"]) != text:
            wrong.append(f"{name}, {function}: expected\n{text}\nfound\n" + "\n".join(made[name]["functions"][function]["lines"]))
    if os.environ.get("CONCLAVE"):
        listed = subprocess.run([os.environ["CONCLAVE"], "list", "--json"], capture_output=True, text=True, check=True).stdout
        for name in re.findall(r'"name":\s*"([\w-]+)",\s*"title"', listed):
            if name not in made:
                wrong.append(f"{name}: no pseudo-code")
    print("\n".join(wrong) or f"pseudo-code: {len(made)} algorithms, {sum(len(it['functions']) for it in made.values())} functions")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
