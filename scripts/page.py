#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the explorer's page: one HTML file with its scripts, its style, the engine and the gallery in it.

  page.py PAGE.html PAGE.c ENGINE.wasm [--depfile FILE]

The scripts are plain ES modules. A module becomes a function that returns what it exports, and the functions stand in
the order in which they need each other. preact and htm come from web/node_modules, where scripts/npm-packages puts
them. Without them, or without an engine, the file is empty, and `conclave explore` says what is missing.

PAGE.c puts the page into the program.
"""
import base64
import json
import pathlib
import re
import shlex
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
MODULES = WEB / "node_modules"
LIBRARIES = {
    "preact": MODULES / "preact/dist/preact.mjs",
    "preact/hooks": MODULES / "preact/hooks/dist/hooks.mjs",
    "htm": MODULES / "htm/dist/htm.mjs",
}
MOST_BYTES = 1_500_000

IMPORT = re.compile(r'^import\s*(?:(\w+)|\{([^}]*)\})\s*from\s*"([^"]+)";?', re.M)
EXPORT_FROM = re.compile(r'^export\s*\{([^}]*)\}\s*from\s*"([^"]+)";?', re.M)
EXPORT_LIST = re.compile(r"export\s*\{([^}]*)\};?")
EXPORT_DEFAULT = re.compile(r"export default ")
EXPORT_NAMED = re.compile(r"^export (async function|function|class|const|let) (\w+)", re.M)


def pairs(names):
    """[(there, here)] of "a, b as c"."""
    found = []
    for name in filter(None, map(str.strip, names.split(","))):
        there, _, here = name.partition(" as ")
        found.append((there.strip(), (here or there).strip()))
    return found


class Bundle:
    """Modules by name, and the order in which they stand."""

    def __init__(self):
        self.names = {}
        self.parts = []

    def path_of(self, name, beside):
        if name in LIBRARIES:
            return LIBRARIES[name]
        if not name.startswith("./"):
            sys.exit(f"{beside}: import of {name}; expected a file of web/src, or one of {', '.join(LIBRARIES)}")
        return (beside.parent / name).resolve()

    def add(self, path):
        """The variable that has the module's exports."""
        if path in self.names:
            if self.names[path] is None:
                sys.exit(f"{path}: modules import each other in a circle")
            return self.names[path]
        self.names[path] = None
        text = path.read_text(encoding="utf-8")
        exports = []

        def bring_in(match):
            default, names, source = match.groups()
            module = self.add(self.path_of(source, path))
            taken = [("default", default)] if default else pairs(names)
            return "const {" + ", ".join(f"{there}: {here}" for there, here in taken) + f"}} = {module};"

        def pass_on(match):
            module = self.add(self.path_of(match.group(2), path))
            exports.extend((here, f"{module}.{there}") for there, here in pairs(match.group(1)))
            return ""

        def note_list(match):
            exports.extend((here, there) for there, here in pairs(match.group(1)))
            return ""

        def note_named(match):
            exports.append((match.group(2), match.group(2)))
            return f"{match.group(1)} {match.group(2)}"

        def note_default(_):
            exports.append(("default", "exported"))
            return "const exported = "

        text = IMPORT.sub(bring_in, text)
        text = EXPORT_FROM.sub(pass_on, text)
        text = EXPORT_NAMED.sub(note_named, text)
        text = EXPORT_DEFAULT.sub(note_default, text, count=1)
        text = EXPORT_LIST.sub(note_list, text)
        text = re.sub(r"^//# sourceMappingURL=.*$", "", text, flags=re.M)
        if re.search(r"^\s*(import|export)\s", text, re.M):
            sys.exit(f"{path}: an import or export that this script does not know")
        name = f"m{len(self.parts)}"
        listed = ", ".join(f"{out}: {inner}" for out, inner in exports)
        self.parts.append(f"const {name} = (() => {{\n{text.strip()}\nreturn {{ {listed} }};\n}})();\n")
        self.names[path] = name
        return name


def bundle(entry):
    made = Bundle()
    made.add(entry)
    return '"use strict";\n{\n' + "".join(made.parts) + "}\n", list(made.names)


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
    made = {"texts": texts(sources[-1]), "scenarios": {}, "ideas": {}}
    for path in sources:
        if path.suffix == ".scenario":
            made["scenarios"][path.stem] = scenario(path)
        elif path.suffix == ".c":
            made["ideas"][path.stem.replace("_", "-")] = idea(path)
    return made, sources


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
