#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the explorer's page: one HTML file with its scripts, its style, the engine and the gallery in it.

  page.py PAGE.html PAGE.c ENGINE.wasm [--depfile FILE]

The scripts are plain ES modules, which bundle.py puts together. preact and htm come from web/node_modules, where
scripts/npm-packages puts them. Without them, or without an engine, the file is empty, and `conclave explore` says what
is missing.

PAGE.c puts the page into the program.
"""
import base64
import json
import pathlib
import re
import shlex
import sys

import pseudo_code
from bundle import LIBRARIES, bundle

ROOT = pathlib.Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
MOST_BYTES = 1_500_000


# ---- the gallery ----

def scenario(path):
    """A scenario's title and runs: the story in # lines before each."""
    lines = path.read_text(encoding="utf-8").splitlines()
    runs, about = [], []
    for line in lines[1:]:
        if line.startswith("#"):
            about.append(line[1:].strip())
        elif line.strip():
            verdict, _, words = line.partition(":")
            if can_explore(shlex.split(words)):
                runs.append({"about": " ".join(about), "verdict": verdict, "words": shlex.split(words)})
            about = []
    return {"title": lines[0].lstrip("# "), "runs": runs}


def can_explore(words):
    """The explorer shows one critical section, and its channels are reliable."""
    return not {"--names", "--loss", "--duplicate", "--reorder"} & set(words)


def texts(path):
    """The items of docs/texts.md that are a run: of a scenario, or of sim."""
    found, current = [], None
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            current = {"name": line[3:], "items": []}
            found.append(current)
        match = re.match(r"\| (.+?) \| `conclave (scenario|sim|check) (.+?)` \| (\w+) \|", line)
        if not match or not current:
            continue
        title, command, words, verdict = match.groups()
        item = {"title": title, "verdict": verdict}
        if command == "scenario":
            item["scenario"] = words
        else:
            item["words"] = without_outputs(shlex.split(words))
            if not can_explore(item["words"]):
                continue
            if command == "check":
                item["title"] += ": search it"
                item["verdict"] = "search"
        current["items"].append(item)
    return [text for text in found if text["items"]]


def without_outputs(words):
    """The words that say what is run, not what is shown or searched."""
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("--transcript", "--diagram", "--json"):
            continue
        elif word in ("--property", "--crashes", "--timeouts", "--suspicions"):
            skip = True
        else:
            kept.append(word)
    return kept


def idea(path):
    """The head comment of an algorithm: citation, idea, and the rows Safety, Liveness, Cost, Assumes."""
    comment = re.search(r"/\*\n(.*?)\*/", path.read_text(encoding="utf-8"), re.S)
    lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in comment.group(1).splitlines()]
    paragraphs, rows = [[]], []
    for line in lines:
        row = re.match(r"([A-Z][a-z]+) {2,}(\S.*)", line)
        if row and row.group(1) in ("Safety", "Liveness", "Cost", "Assumes", "Fence", "Order"):
            rows.append([row.group(1), row.group(2)])
        elif rows and line.startswith("   "):
            rows[-1][1] += " " + line.strip()
        elif not line:
            paragraphs.append([])
        else:
            paragraphs[-1].append(line)
    parts = []
    for lines in filter(None, paragraphs[1:]):
        drawing = all(line.startswith("  ") for line in lines)
        parts.append({"drawing": drawing, "text": ("\n" if drawing else " ").join(lines).replace("`", "")})
    return {"citation": " ".join(paragraphs[0]), "idea": parts, "rows": rows}


def gallery():
    sources = sorted((ROOT / "scenarios").glob("*.scenario")) + sorted((ROOT / "src/algorithm").glob("*/*.c"))
    sources.append(ROOT / "docs/texts.md")
    made = {"texts": texts(sources[-1]), "scenarios": {}, "ideas": {}, "code": {}}
    for path in sources:
        if path.suffix == ".scenario":
            made["scenarios"][path.stem] = scenario(path)
        elif path.suffix == ".c":
            code = pseudo_code.algorithms(path)
            made["code"].update(code)
            made["ideas"].update({name: idea(path) for name in code})
    return made, [*sources, pathlib.Path(pseudo_code.__file__)]


# ---- the page ----

def make(wasm):
    """The page's text, and the files that it is made of."""
    page, page_files = bundle(WEB / "src/main.js")
    worker, worker_files = bundle(WEB / "src/worker.js")
    pictures, gallery_files = gallery()
    template = WEB / "index.html"
    styles = sorted((WEB / "style").glob("*.css"))
    parts = {
        "STYLE": "".join(path.read_text(encoding="utf-8") for path in styles),
        "BEGIN": "null",
        "GALLERY": json.dumps(pictures, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
        "MODULE": base64.b64encode(wasm.read_bytes()).decode(),
        "WORKER": worker,
        "PAGE": page,
    }
    for name in ("WORKER", "PAGE"):
        if "</script" in parts[name]:
            sys.exit(f"{name.lower()}: a script must not contain </script")
    text = re.sub(r"@(\w+)@", lambda match: parts[match.group(1)], template.read_text(encoding="utf-8"))
    return text, [*page_files, *worker_files, *gallery_files, template, *styles, wasm]


def embed(page):
    """C that has the bytes of a file in it: the assembler reads a megabyte faster than the compiler reads an array."""
    path = str(page.resolve()).replace("\\", "\\\\").replace('"', '\\"')
    return f"""// SPDX-License-Identifier: MIT
__asm__(".section .rodata\\n.global explore_page_begin\\nexplore_page_begin:\\n.incbin \\"{path}\\"\\n"
        ".global explore_page_end\\nexplore_page_end:\\n.byte 0\\n.previous\\n");
"""


def main():
    page, source, wasm = map(pathlib.Path, sys.argv[1:4])
    missing = [name for name, path in LIBRARIES.items() if not path.is_file()]
    if missing or not wasm.is_file() or not wasm.stat().st_size:
        text, files = "", [WEB / "index.html"]  # which scripts/npm-packages touches
        what = f"{' and '.join(missing)} of npm" if missing else "the engine as WebAssembly"
        print(f"conclave explore: built without its page, which needs {what}", file=sys.stderr)
    else:
        text, files = make(wasm)
    if len(text.encode()) > MOST_BYTES:
        sys.exit(f"{page}: {len(text.encode())} bytes; expected {MOST_BYTES} at most")
    page.write_text(text, encoding="utf-8")
    source.write_text(embed(page), encoding="utf-8")
    if "--depfile" in sys.argv:
        depfile = pathlib.Path(sys.argv[sys.argv.index("--depfile") + 1])
        listed = " ".join(str(path).replace(" ", "\\ ") for path in files)
        depfile.write_text(f"{page}: {listed}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
