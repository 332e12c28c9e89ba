#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the scenario files as a C table, so that `conclave scenario NAME` needs no files at run time."""
import pathlib
import sys


def c_string(line):
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'


out, *paths = sys.argv[1:]
lines = ["// SPDX-License-Identifier: MIT", '#include "cli/study/scenarios.h"', "",
         "const struct scenario_file scenario_files[] = {"]
for path in sorted(map(pathlib.Path, paths), key=lambda path: path.stem):
    text = path.read_text(encoding="utf-8").splitlines()
    lines.append(f'    {{"{path.stem}",')
    lines += ["     " + c_string(line) for line in text]
    lines[-1] += "},"
lines += ["    {0},", "};", ""]
pathlib.Path(out).write_text("\n".join(lines), encoding="utf-8")
