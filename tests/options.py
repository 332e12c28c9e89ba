#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of options are the only list of options: manual pages and the shell's completion have just these, no more
and no fewer, and each page's synopsis is made from its table.

usage: options.py              report what differs; exit 1 if anything does
       options.py --rewrite    write the synopses anew
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
CONCLAVE = os.path.abspath(os.environ.get("CONCLAVE", str(ROOT / "build" / "conclave")))
MOST_SHOWN = 16  # options of a synopsis; with more it says "option ..."


def commands():
    told = subprocess.run([CONCLAVE, "help", "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(told)["commands"]


# ---- the synopsis ----


def words_of(usage):
    """Splits at the spaces that stand in no brackets."""
    words, depth = [""], 0
    for letter in usage:
        depth += (letter == "[") - (letter == "]")
        if letter == " " and not depth:
            words.append("")
        else:
            words[-1] += letter
    return [word for word in words if word]


def value(word):
    """A value in mdoc: a placeholder is Ar, a literal word Cm, a path Pa."""
    dots = " ..." if word.endswith("...") and not word.endswith("]") else ""
    kinds = [("Pa" if choice.startswith("./") else "Cm" if choice.islower() else "Ar", choice.lower())
             for choice in word.removesuffix(dots.strip()).split("|")]
    shown, last = "", None
    for kind, choice in kinds:
        shown += (" | " if shown else "") + (choice if kind == last else f"{kind} {choice}")
        last = kind
    return shown + dots


def inline(word):
    if word.startswith("[") and word.endswith("]"):
        return "Op " + " ".join(inline(inner) for inner in words_of(word[1:-1]))
    return f"Fl {word[1:]}" if word.startswith("--") else value(word)


def option(row):
    return f".Op Fl -{row['name']}" + (f" {value(row['argument'])}" if row["argument"] else "")


def synopsis(command):
    lines = []
    mentioned = set(re.findall(r"--([a-z-]+)", command["usage"]))
    for usage in command["usage"].split("\n"):
        lines.append(f".Nm conclave {command['name']}")
        for word in words_of(usage):
            if word != "[OPTION...]":
                lines.append("." + inline(word))
            elif len(command["options"]) > MOST_SHOWN:
                lines.append(".Op Ar option ...")
            else:
                lines += [option(row) for row in command["options"] if row["name"] not in mentioned]
    return "\n".join(lines) + "\n"


# ---- the checks: each yields mistakes ----


def check_page(command, rewrite):
    path = ROOT / "man" / f"conclave-{command['name']}.1"
    text = path.read_text(encoding="utf-8")
    now = re.search(r"(?s)^\.Sh SYNOPSIS\n(.*?)^\.Sh ", text, re.MULTILINE)
    if now[1] != synopsis(command) and rewrite:
        path.write_text(text[:now.start(1)] + synopsis(command) + text[now.end(1):], encoding="utf-8")
    elif now[1] != synopsis(command):
        yield f"{path.name}: the synopsis is not the table's; tests/options.py --rewrite writes it anew"
    listed = dict(re.findall(r"Fl -([a-z-]+)( (?:Ar|Cm|Oo))?", "\n".join(re.findall(r"(?m)^\.It .*", text))))
    known = {row["name"]: row["argument"] for row in command["options"]} | {"help": None}
    for name in sorted(known.keys() - listed.keys() - {"help"}):
        yield f"{path.name}: --{name} is missing"
    for name in sorted(listed.keys() - known.keys()):
        yield f"{path.name}: conclave {command['name']} has no --{name}"
    for name in sorted(listed.keys() & known.keys()):
        if bool(listed[name]) != bool(known[name]):
            yield f"{path.name}: --{name} is shown {'with' if listed[name] else 'without'} an argument"


def check_shapes(all_commands):
    """The manual explains every shape of a graph that the table of shapes has."""
    page = (ROOT / "man" / "conclave-sim.1").read_text(encoding="utf-8")
    told = page.split(".It Fl -graph")[1].split(".It Fl")[0]
    graph = next(row for command in all_commands if command["name"] == "sim"
                 for row in command["options"] if row["name"] == "graph")
    for shape in re.findall(r"([a-z]+)(?::\S*)?, ", graph["help"].split("edges:")[0]):
        if not re.search(rf"\b{shape}\b", told):
            yield f"conclave-sim.1: --graph does not tell of {shape}"


def complete(*words):
    code = ('. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _conclave; printf "%s\\n" "${COMPREPLY[@]}"')
    script = ROOT / "contrib" / "bash-completion" / "conclave"
    told = subprocess.run(["bash", "-c", code, str(script), CONCLAVE, *words], capture_output=True, text=True, check=False)
    return set(told.stdout.split())


def check_completion(command):
    known = {f"--{row['name']}" for row in command["options"]} | {"--help"}
    offered = complete(command["name"], "--")
    for name in sorted(known ^ offered):
        yield f"completion of conclave {command['name']}: {name} is {'missing' if name in known else 'no option of it'}"


def check_help(command):
    """The page names every option, at the place where it is explained."""
    told = subprocess.run([CONCLAVE, command["name"], "--help"], capture_output=True, text=True, check=True).stdout
    for row in command["options"]:
        shown = f"--{row['name']} {row['argument']}" if row["argument"] else f"--{row['name']}"
        if not re.search(rf"(?m)^  (?:-\w, |    ){re.escape(shown)}(?: |$)", told):
            yield f"conclave {command['name']} --help does not tell of {shown}"
    for line in told.split("\n"):
        if len(line) > 120:
            yield f"conclave {command['name']} --help: a line of {len(line)} columns: {line}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rewrite", action="store_true")
    rewrite = parser.parse_args().rewrite
    all_commands = commands()
    wrong = [line for command in all_commands
             for check in (check_page(command, rewrite), check_completion(command), check_help(command)) for line in check]
    wrong += check_shapes(all_commands)
    names = {command["name"] for command in all_commands} | {"help"}
    wrong += [f"completion of commands: {name}" for name in sorted(names ^ complete(""))]
    pages = {path.stem.removeprefix("conclave-") for path in (ROOT / "man").glob("conclave-*.1")}
    wrong += [f"man/conclave-{name}.1: no such command, or a command without its page" for name in sorted(pages ^ (names - {"help"}))]
    for line in wrong:
        print(line)
    print(f"{len(all_commands)} commands, {sum(len(command['options']) for command in all_commands)} options, {len(wrong)} surprises")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
