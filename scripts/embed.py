#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes files as a C table, so that the program needs none of them at run time: embed.py OUT TABLE FILE..."""
import pathlib
import sys


def c_string(line):
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'


out, table, *paths = sys.argv[1:]
lines = ["// SPDX-License-Identifier: MIT", '#include "cli/study/embedded_files.h"', "",
         f"const struct embedded_file {table}[] = {{"]
for path in sorted(map(pathlib.Path, paths), key=lambda path: path.stem):
    text = path.read_text(encoding="utf-8").splitlines()
    lines.append(f'    {{"{path.stem}",')
    lines += ["     " + c_string(line) for line in text]
    lines[-1] += "},"
lines += ["    {0},", "};", ""]
pathlib.Path(out).write_text("\n".join(lines), encoding="utf-8")
