#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the node's page as C: embed_page.py OUT.c PAGE.html PAGE.js STYLE.css... [--depfile FILE]

The styles and the script, with all modules that it imports, go into the HTML, so that the page is one request. The
Content-Security-Policy allows exactly these two, by their hashes, and nothing else but the events of the same node.
"""
import base64
import hashlib
import pathlib
import sys

from bundle import bundle

MOST_BYTES = 60_000

def c_string(line):
    escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return '    "' + escaped + '\\n"'


def source(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


words, _, depfile = (part.strip() for part in "\n".join(sys.argv[1:]).partition("--depfile"))
out, template, entry, *styles = map(pathlib.Path, words.split("\n"))
html = template.read_text(encoding="utf-8").strip() + "\n"
style = "".join(path.read_text(encoding="utf-8") for path in styles)
script, files = bundle(entry.resolve())
assert html.count("@STYLE@") == html.count("@SCRIPT@") == 1 and "</s" not in style + script
policy = (f"default-src 'none'; style-src {source(style)}; script-src {source(script)}; connect-src 'self'; img-src data:; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
page = html.replace("@STYLE@", style).replace("@SCRIPT@", script)
if len(page.encode()) > MOST_BYTES:
    sys.exit(f"{template}: a page of {len(page.encode())} bytes; expected {MOST_BYTES} at most")
lines = ["// SPDX-License-Identifier: MIT", '#include "service/http/page.h"', "",
         f'const char page_policy[] = "Content-Security-Policy: {policy}\\r\\nX-Frame-Options: DENY\\r\\n";', "",
         "const char page_html[] =", *(c_string(line) for line in page.splitlines())]
out.write_text("\n".join(lines) + ";\n", encoding="utf-8")
if depfile:
    pathlib.Path(depfile).write_text(f"{out}: {' '.join(str(path) for path in files)}\n", encoding="utf-8")
