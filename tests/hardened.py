#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The programs are built as meson.build says: with all options that make a mistake harder to exploit."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

CONCLAVE = os.environ["CONCLAVE"]
LIBRARY = os.environ["LIBCONCLAVE"]
# Every file of ours was compiled with these options; the compiler records them for debuggers.
OPTIONS = ("-fstack-protector-strong", "-fstack-clash-protection")
EXAMPLE = """
#include <stdio.h>
#include <string.h>
int main(int count, char **words)
{
    char text[8];
    memcpy(text, words[0], (size_t)count);
    return puts(text) < 0;
}
"""


def told(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def faults(path, program=True):
    """The options that a program or a library lacks."""
    segments, dynamic = told("readelf", "-lW", path), told("readelf", "-dW", path)
    symbols = told("readelf", "--dyn-syms", "-W", path)
    found = []

    def expect(what, there):
        if not there:
            found.append(what)

    expect("position-independent", re.search(r"type is DYN", segments))
    expect("a program, and position-independent", not program or "PIE" in dynamic)
    expect("relocations are read-only", "GNU_RELRO" in segments)
    expect("and bound at the start", "BIND_NOW" in dynamic or re.search(r"FLAGS_1.*\bNOW\b", dynamic))
    stack = re.search(r"GNU_STACK.* (R\S*)\s", segments)
    expect("the stack is not executable", stack and "E" not in stack[1])
    expect("no segment is writable and executable", not re.search(r"LOAD.* RWE ", segments))
    expect("no relocation in the text", "TEXTREL" not in dynamic)
    expect("no path of its own to libraries", not re.search(r"\((RPATH|RUNPATH)\)", dynamic))
    expect("the stack is protected", "__stack_chk_fail" in symbols)
    expect("what copies is checked", re.search(r"__\w+_chk@", symbols))
    producers = re.findall(r"GNU C17.*|clang version.*", told("readelf", "-p", ".debug_str", path)
                           + told("readelf", "-p", ".debug_line_str", path))
    expect("debuggers are told how it was compiled", producers)
    for option in OPTIONS:
        bad = [line for line in producers if line.startswith("GNU") and option not in line]
        expect(f"everything is compiled with {option}: {bad}", not bad)
    return found


def mutants():
    """A program that is built without one of them is found."""
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory) / "example.c"
        source.write_text(EXAMPLE, encoding="utf-8")
        target = str(source.with_suffix(""))
        good = ["-std=c17", "-g", "-O2", "-fPIE", "-pie", *OPTIONS, "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3", "-Wl,-z,relro",
                "-Wl,-z,now", "-DNOTHING"]
        for what, without, instead in (
                (None, None, None), ("position-independent", "-pie", "-no-pie"), ("relocations", "-Wl,-z,relro", "-Wl,-z,norelro"),
                ("bound at the start", "-Wl,-z,now", "-Wl,-z,lazy"), ("executable", "-fPIE", "-Wl,-z,execstack"),
                ("the stack is protected", "-fstack-protector-strong", "-fno-stack-protector"),
                ("-fstack-clash-protection", "-fstack-clash-protection", "-fno-stack-clash-protection"),
                ("what copies is checked", "-D_FORTIFY_SOURCE=3", "-DX"), ("no path", "-DNOTHING", "-Wl,-rpath,/nowhere")):
            options = [instead if option == without else option for option in good]
            told(os.environ.get("CC", "gcc").split()[-1], *options, "-o", target, str(source))
            found = faults(target)
            if bool(found) != bool(what) or (what and not any(what in fault for fault in found)):
                yield f"a program without {what or 'a fault'} is told to have {found}"


def main():
    wrong = [f"{path}: {fault}" for path, program in ((CONCLAVE, True), (LIBRARY, False)) for fault in faults(path, program)]
    wrong += mutants()
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
