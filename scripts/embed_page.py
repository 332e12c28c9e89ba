#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the node's page as C: embed_page.py OUT.c PAGE.html PAGE.css PAGE.js.

The style and the script go into the HTML, so that the page is one request. The Content-Security-Policy allows exactly these
two, by their hashes, and nothing else but the events of the same node.
"""
import base64
import hashlib
import pathlib
import sys


def c_string(line):
    escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return '    "' + escaped + '\\n"'


def source(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


out, *paths = map(pathlib.Path, sys.argv[1:])
html, style, script = (path.read_text(encoding="utf-8").strip() + "\n" for path in paths)
assert html.count("@STYLE@") == html.count("@SCRIPT@") == 1 and "</s" not in style + script
policy = (f"default-src 'none'; style-src {source(style)}; script-src {source(script)}; connect-src 'self'; img-src data:; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
page = html.replace("@STYLE@", style).replace("@SCRIPT@", script)
lines = ["// SPDX-License-Identifier: MIT", '#include "service/http/page.h"', "",
         f'const char page_policy[] = "Content-Security-Policy: {policy}\\r\\nX-Frame-Options: DENY\\r\\n";', "",
         "const char page_html[] =", *(c_string(line) for line in page.splitlines())]
out.write_text("\n".join(lines) + ";\n", encoding="utf-8")
