#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The house rules that no compiler knows, over every file of the repository.

usage: tidy.py [--root DIR]    report what breaks a rule; exit 1 if anything does
       tidy.py --self-test     break every rule in a small tree and see it reported
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import rooms  # noqa: E402  pylint: disable=wrong-import-position

# Which rooms a room may include, besides itself and the public headers. Dependencies point one way.
ROOMS = {
    "algorithm": set(),
    "core": set(),
    "guard": {"core"},
    "property": {"core"},
    "partition": {"core"},
    "saved": {"core"},
    "sim": {"core", "guard", "partition", "property", "ranks", "saved"},
    "ranks": {"core"},
    "run": {"core", "guard", "property", "ranks", "secure"},
    "show": {"core", "property"},
    "check": {"core", "guard", "property", "ranks", "saved"},
    "explore": {"algorithm", "core", "guard", "property", "show", "check"},
    "group": {"core"},
    "secure": {"core"},
    "plugin": {"core", "guard", "secure"},
    "live": {"core", "property", "group", "secure"},
    "resp": {"core"},
    "service": {"core", "group", "live", "secure", "resp"},
    "client": {"core", "resp", "secure"},
    "cli": {"algorithm", "core", "guard", "partition", "property", "ranks", "saved", "sim", "run", "show", "check", "explore", "group", "live", "plugin", "service", "client", "secure", "resp"},
}

# Rooms within rooms, the lowest first: a file may include what stands in its own and in those before. "" is the room itself.
INNER_ROOMS = {
    "check": ["setting", "state", "step", "symmetry", "expand", "reduce", "liveness", "search", ""],
    "core": ["", "graph", "link", "scenario", "formula"],
    "group": ["", "raft", "disk_paxos"],
    "live": ["process", "settings", "net", "host", ""],
    "ranks": ["", "mpi"],
    "service": ["", "http"],
    "show": ["", "text", "svg"],
    "sim": ["", "share"],
    "cli": ["", "study", "hold", "cluster", "doctor"],
}

# Libraries that one or a few rooms keep to themselves.
LIBRARIES = [
    (re.compile(r"uv(/.*)?\.h$"), {"live"}),
    (re.compile(r"raft(/.*)?\.h$"), {"group"}),
    (re.compile(r"openssl/"), {"secure"}),
    (re.compile(r"mpi\.h$"), {"ranks"}),
    (re.compile(r"metis\.h$"), {"partition"}),
]

COLUMNS = 120
FILE_LINES = 700
FUNCTION_LINES = 100

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|home)/")
REGISTRY_HOST = re.compile(r"//[\w.-]*\b(?:registry|pypi|crates|proxy\.golang|repo1?\.maven|deb\.debian)\.[\w.]+")
ALGORITHM = re.compile(r"\bstruct cv_algorithm\s+(\w+)\s*=\s*\{.*?\.name\s*=\s*\"([^\"]+)\"", re.DOTALL)


class File:
    def __init__(self, path, text):
        self.path = path  # relative to the root, with slashes
        self.text = text
        self.lines = text.split("\n")
        self.parts = path.split("/")
        self.name = self.parts[-1]
        self.stem, _, self.suffix = self.name.rpartition(".")
        self.is_c = self.suffix in ("c", "h")
        self.is_code = (self.is_c or self.suffix in ("py", "sh", "js") or text.startswith("#!")
                        or self.name in ("Makefile", "meson.build"))
        self.room = self.parts[1] if self.parts[0] == "src" and len(self.parts) > 2 else None

    def includes(self):
        """(line number, bracket or quote, path) of every include."""
        for number, line in enumerate(self.lines, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match[1], match[2]


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = {}
        for path in sorted(listing(root)):
            data = (root / path).read_bytes()
            if b"\0" in data:
                continue
            try:
                self.files[path] = File(path, data.decode("utf-8"))
            except UnicodeDecodeError:
                continue

    def __iter__(self):
        return iter(self.files.values())

    def text(self, path):
        return self.files[path].text if path in self.files else ""


def listing(root):
    """Paths of what git tracks or would; without git, of everything but builds."""
    git = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, check=False)
    if git.returncode == 0:
        paths = set(git.stdout.decode().split("\0"))
    else:
        paths = {path.relative_to(root).as_posix() for path in root.rglob("*")}
        paths = {path for path in paths if not re.match(r"(\.git|build[^/]*)/|.*__pycache__/", path)}
    paths = {path for path in paths if path and not path.startswith("fuzz/corpus/")}  # bytes, not text
    return {path for path in paths if (root / path).is_file() and not (root / path).is_symlink()}


# ---- the rules: each yields (path, line, the breach) ----


def algorithm_includes(tree):
    for file in tree:
        if file.is_c and ((file.parts[0] == "examples" and len(file.parts) == 2)
                          or (file.room == "algorithm" and len(file.parts) > 3)):
            header = "synchronizer" if file.parts[2:3] == ["synchronizer"] else "algorithm"
            for number, bracket, target in file.includes():
                if (bracket, target) != ("<", f"conclave/{header}.h"):
                    yield file.path, number, f"an algorithm of this kind includes <conclave/{header}.h> alone, not {target}"


def room_includes(tree):
    for file in tree:
        if not file.room or not file.is_c:
            continue
        if file.room not in ROOMS:
            yield file.path, 1, f"src/{file.room} is no known room: say in tests/tidy.py what it may include"
            continue
        for number, bracket, target in file.includes():
            room = target.split("/")[0]
            if bracket == '"' and ("/" not in target or room not in ROOMS):
                yield file.path, number, f"write includes of ours from src/ on, as in \"core/error.h\": {target}"
            elif room in ROOMS and "/" in target and room != file.room and room not in ROOMS[file.room]:
                yield file.path, number, f"{file.room} may not include {room}"


def inner_room(path):
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def inner_includes(tree):
    for file in tree:
        order = INNER_ROOMS.get(file.room)
        if not file.is_c or not order:
            continue
        own = inner_room("/".join(file.parts[1:]))
        if own not in order:
            yield file.path, 1, f"src/{file.room}/{own} is no known inner room: say in tests/tidy.py what it may include"
            continue
        for number, _, target in file.includes():
            if target.split("/")[0] == file.room and inner_room(target) in order[order.index(own) + 1:]:
                yield file.path, number, f"{file.room}/{own} stands below {target}"


def header_cycles(tree):
    """A header that includes itself, by others."""
    headers = {file.path: [f"src/{target}" for _, bracket, target in file.includes() if bracket == '"']
               for file in tree if file.room and file.suffix == "h"}
    for path in headers:
        seen, ahead = set(), list(headers[path])
        while ahead:
            header = ahead.pop()
            if header in headers and header not in seen:
                seen.add(header)
                ahead += headers[header]
        if path in seen:
            yield path, 1, "includes itself, by other headers"


# Rooms in which a .c with something to offer has a header of its name.
HEADED = {"cli", "show", "live", "group", "secure", "service", "resp", "client"}
OFFERED = re.compile(r"^(?!static\b|typedef\b)\w[\w *]*?\b(\w+)\([^;{]*\)\n\{", re.MULTILINE)


def own_headers(tree):
    """But a command's entry stands in the table of commands, and a function of the library in the public header."""
    for file in tree:
        if file.room not in HEADED or file.suffix != "c" or f"{file.path[:-1]}h" in tree.files:
            continue
        offered = [name for name in OFFERED.findall(file.text) if name != "main" and not name.startswith(("command_", "conclave_"))]
        if offered:
            yield file.path, 1, f"offers {offered[0]}, but has no header of its own"


def base_names(tree):
    """No two files of one name in the rooms and the public headers, but a .c and its .h."""
    places = {}
    for file in tree:
        if (file.room or file.parts[0] == "include") and file.is_c and places.setdefault(file.stem, file.parts[:-1]) != file.parts[:-1]:
            yield file.path, 1, f"{'/'.join(places[file.stem])} has a file of this name, too"


def global_names(tree):
    """No two structures of one name in headers, and no function that is a macro, too."""
    homes, called = {}, {}
    for file in tree:
        if not (file.suffix == "h" and (file.room or file.parts[0] == "include")):
            continue
        for number, line in enumerate(file.lines, 1):
            kind = re.match(r"(?:struct|union|enum) (\w+) \{", line)
            if kind and homes.setdefault(kind[1], file.path) != file.path:
                yield file.path, number, f"{kind[1]} stands in {homes[kind[1]]}, too"
            macro, function = re.match(r"#define (\w+)\(", line), re.match(r"\w[\w *]*?\b(\w+)\([^()]*[,)]", line)
            name = macro or function
            if name and called.setdefault(name[1], (bool(macro), file.path))[0] != bool(macro):
                yield file.path, number, f"{name[1]} is something else in {called[name[1]][1]}"


def library_includes(tree):
    for file in tree:
        if file.room or file.parts[0] == "include":
            for number, _, target in file.includes():
                for pattern, rooms in LIBRARIES:
                    if pattern.match(target) and file.room not in rooms:
                        yield file.path, number, f"{target} belongs to {' and '.join(sorted(rooms))} alone"


def licence(tree):
    for file in tree:
        if file.is_code and not any("SPDX-License-Identifier: MIT" in line for line in file.lines[:2]):
            yield file.path, 1, "no SPDX-License-Identifier: MIT in the first two lines"


def columns(tree):
    for file in tree:
        for number, line in enumerate(file.lines, 1):
            if file.is_c and len(line) > COLUMNS:
                yield file.path, number, f"{len(line)} columns, more than {COLUMNS}"


def tabs(tree):
    for file in tree:
        for number, line in enumerate(file.lines, 1):
            if file.is_c and "\t" in line:
                yield file.path, number, "a tab"


def trailing_space(tree):
    for file in tree:
        for number, line in enumerate(file.lines, 1):
            if line != line.rstrip():
                yield file.path, number, "white space at the end of the line"


def file_length(tree):
    for file in tree:
        if file.is_code and len(file.lines) - 1 > FILE_LINES:
            yield file.path, FILE_LINES, f"{len(file.lines) - 1} lines: a file this long is asking to be two"


def function_length(tree):
    """clang-format leaves the braces of functions, and little else, in column 0."""
    for file in tree:
        start = 0
        for number, line in enumerate(file.lines if file.is_c else [], 1):
            if line == "{":
                start = number
            elif line == "}" and start:
                if number - start - 1 > FUNCTION_LINES:
                    yield file.path, start, f"{number - start - 1} lines: a function this long is asking to be two"
                start = 0


def unfinished(tree):
    for file in tree:
        for number, line in enumerate(file.lines if file.is_code else [], 1):
            match = UNFINISHED.search(line)
            if match:
                yield file.path, number, f"{match[1]}: finish it, or open an issue"


def machine_paths(tree):
    for file in tree:
        for number, line in enumerate(file.lines, 1):
            match = MACHINE_PATH.search(line)
            if match:
                yield file.path, number, f"{match[0]} is a path of somebody's machine"


def registry_hosts(tree):
    """A mirror is a setting of the machine's tools."""
    for file in tree:
        for number, line in enumerate(file.lines, 1):
            match = REGISTRY_HOST.search(line)
            if match:
                yield file.path, number, f"{match[0]} is where some machines get packages from; the tool that gets them knows"


def built(tree):
    """Without a line in a meson.build, a file is silently not built and a test silently not run."""
    for file in tree:
        if file.room and file.suffix == "c":
            build, entry = f"src/{file.room}/meson.build", "/".join(file.parts[2:])
        elif file.parts[:2] == ["tests", "unit"] and file.suffix == "c":
            build, entry = "tests/meson.build", file.stem
        elif len(file.parts) == 2 and file.parts[0] == "tests" and file.suffix in ("py", "sh"):
            build, entry = "tests/meson.build", file.name
        elif file.suffix == "scenario":
            build, entry = "scenarios/meson.build", file.name
        else:
            continue
        if f"'{entry}'" not in tree.text(build):
            yield file.path, 1, f"not listed in {build}"


def algorithms(tree):
    """The symbol and name of every algorithm: [(path, line, symbol, name)]."""
    for file in tree:
        if file.room == "algorithm" and len(file.parts) > 3:
            for match in ALGORITHM.finditer(file.text):
                yield file.path, file.text.count("\n", 0, match.start()) + 1, match[1], match[2]


def registered(tree):
    registry = tree.text("src/algorithm/registry.c")
    for path, number, symbol, name in algorithms(tree):
        if not re.search(rf"\b{symbol}\b", registry):
            yield path, number, f"{name} is not in src/algorithm/registry.c"


def documented(tree):
    pages = {file.name for file in tree if file.parts[0] == "docs"}
    for path, number, _, name in algorithms(tree):
        if f"{name}.md" not in pages:
            yield path, number, f"{name} has no page: docs/**/{name}.md"


def transcribed(tree):
    for file in tree:
        if file.suffix == "scenario" and f"tests/trace/{file.stem}.txt" not in tree.files:
            yield file.path, 1, f"no golden transcript tests/trace/{file.stem}.txt"


def pictured(tree):
    """The picture and the table of the rooms show today's includes."""
    if rooms.PICTURE not in tree.files:
        return
    anew = "scripts/rooms.py --rewrite writes it anew"
    try:
        if rooms.picture(tree.root) != tree.text(rooms.PICTURE):
            yield rooms.PICTURE, 1, f"the includes are others today: {anew}"
        if "\n".join(rooms.table(tree.root)) not in tree.text(rooms.PAGE):
            yield rooms.PAGE, 1, f"the table of rooms is another today: {anew}"
    except ValueError as unknown:
        yield rooms.PICTURE, 1, str(unknown)


def inside(tree):
    """The files that docs/inside.md names exist, and so do their functions: `core/error.c`, `core/error.c:cv_strerror`."""
    for number, line in enumerate(tree.text(rooms.PAGE).split("\n"), 1):
        for path, name in re.findall(r"`((?:[\w.-]+/)+[\w.-]*\.\w+)(?::(\w+))?`", line):
            file = tree.files.get(path) or tree.files.get(f"src/{path}")
            if not file and "NAME" not in path:
                yield rooms.PAGE, number, f"{path}: no such file"
            elif file and name and not re.search(rf"(?m)^(?:[a-zA-Z_].*|#define )\b{name}\b", file.text):
                yield rooms.PAGE, number, f"{path} defines no {name}"


RULES = [algorithm_includes, room_includes, inner_includes, header_cycles, own_headers, base_names, global_names, library_includes, licence, columns, tabs, trailing_space, file_length,
         function_length, unfinished, machine_paths, registry_hosts, built, registered, documented, transcribed, pictured, inside]


def check(root):
    """Every breach: [(rule, path, line, what)]."""
    tree = Tree(root)
    return [(rule.__name__, *breach) for rule in RULES for breach in rule(tree)]


# ---- the self-test: a tree that keeps every rule, and for each rule trees that break it ----

SPDX = "// SPDX-License-Identifier: MIT\n"
BULLY = (SPDX + "#include <conclave/algorithm.h>\n\nconst struct cv_algorithm cv_bully = {\n"
         "    .abi = CV_ABI,\n    .name = \"bully\",\n};\n")
ALPHA = BULLY.replace("algorithm.h", "synchronizer.h").replace("bully", "alpha")
LISTED = ("# SPDX-License-Identifier: MIT\n"
          "rooms += files('a.c', 'sim_a.c', 'cli_a.c', 'live_a.c', 'secure_a.c', 'graph/b.c', 'election/bully.c', 'synchronizer/alpha.c', 'registry.c', 'x.py')\n")
GOOD = {
    "src/algorithm/election/bully.c": BULLY,
    "src/algorithm/synchronizer/alpha.c": ALPHA,
    "src/algorithm/registry.c": SPDX + '#include "algorithm/registry.h"\n&cv_bully, &cv_alpha,\n',
    "src/algorithm/meson.build": LISTED,
    "src/core/a.c": SPDX + '#include "core/a.h"\n#include <stdlib.h>\n\nint f(void)\n{\n' + "    ;\n" * 99 + "}\n",
    "src/core/meson.build": LISTED,
    "src/sim/sim_a.c": SPDX + '#include "core/a.h"\n#include "property/a.h"\n#include <conclave/algorithm.h>\n',
    "src/sim/meson.build": LISTED,
    "src/cli/cli_a.c": SPDX + '#include "show/a.h"\n#include "algorithm/registry.h"\n',
    "src/cli/meson.build": LISTED,
    "src/live/live_a.c": SPDX + "#include <uv.h>\n",
    "src/live/meson.build": LISTED,
    "src/secure/secure_a.c": SPDX + "#include <openssl/ssl.h>\n",
    "src/secure/meson.build": LISTED,
    "tests/meson.build": LISTED.replace("'a.c'", "'a'"),
    "tests/unit/a.c": SPDX + '#include "sim/a.h"\n',
    "docs/synchronizers/alpha.md": "Alpha.\n",
    "docs/inside.md": "See `algorithm/synchronizer/alpha.c:cv_alpha`, `docs/synchronizers/alpha.md`.\n",
    "docs/elections/bully.md": "mktemp /tmp/XXXXXX, see https://example.org/home/page\n",
    "scenarios/one.scenario": "held: bully\n",
    "scenarios/meson.build": LISTED.replace("'a.c'", "'one.scenario', 'two.scenario'"),
    "tests/trace/one.txt": "held\n",
}

BAD = [
    (algorithm_includes, {"src/algorithm/election/bully.c": BULLY + "#include <stdlib.h>\n"}),
    (algorithm_includes, {"src/algorithm/election/bully.c": BULLY + '#include "algorithm/registry.h"\n'}),
    (algorithm_includes, {"examples/a.c": SPDX + "#include <time.h>\n"}),
    (algorithm_includes, {"src/algorithm/election/bully.c": BULLY + "#include <conclave/synchronizer.h>\n"}),
    (algorithm_includes, {"src/algorithm/synchronizer/alpha.c": ALPHA + "#include <conclave/algorithm.h>\n"}),
    (algorithm_includes, {"src/algorithm/synchronizer/alpha.c": ALPHA + "#include <stdlib.h>\n"}),
    (room_includes, {"src/core/a.c": SPDX + '#include "sim/a.h"\n'}),
    (room_includes, {"src/core/a.c": SPDX + "#include <sim/a.h>\n"}),
    (room_includes, {"src/core/a.c": SPDX + '#  include "../sim/a.h"\n'}),
    (room_includes, {"src/sim/sim_a.c": SPDX + '#include "show/a.h"\n'}),
    (room_includes, {"src/sim/sim_a.c": SPDX + '#include "cli/a.h"\n'}),
    (room_includes, {"src/cellar/wine.h": SPDX}),
    (inner_includes, {"src/core/a.c": SPDX + '#include "core/graph/b.h"\n'}),
    (inner_includes, {"src/core/graph/b.c": SPDX + '#include "core/scenario/c.h"\n'}),
    (inner_includes, {"src/core/cellar/wine.h": SPDX}),
    (header_cycles, {"src/core/b.h": SPDX + '#include "core/c.h"\n', "src/core/c.h": SPDX + '#include "core/b.h"\n'}),
    (own_headers, {"src/cli/cli_a.c": SPDX + "int answer(void)\n{\n}\n"}),
    (base_names, {"src/sim/a.h": SPDX}),
    (base_names, {"include/conclave/a.h": SPDX}),
    (global_names, {"src/core/b.h": SPDX + "struct cv_b {\n};\n", "src/sim/c.h": SPDX + "struct cv_b {\n};\n"}),
    (global_names, {"src/core/b.h": SPDX + "void cv_b(int x);\n", "src/sim/c.h": SPDX + "#define cv_b(x) (x)\n"}),
    (library_includes, {"src/core/a.c": SPDX + "#include <uv.h>\n"}),
    (library_includes, {"src/live/live_a.c": SPDX + "#include <raft.h>\n"}),
    (library_includes, {"src/live/live_a.c": SPDX + "#include <raft/uv.h>\n"}),
    (library_includes, {"src/cli/cli_a.c": SPDX + "#include <openssl/ssl.h>\n"}),
    (library_includes, {"src/sim/sim_a.c": SPDX + "#include <metis.h>\n"}),
    (library_includes, {"include/conclave/c.h": SPDX + "#include <uv.h>\n"}),
    (licence, {"src/core/a.c": "int a;\n"}),
    (licence, {"scripts/a": "#!/bin/sh\ntrue\n# SPDX-License-Identifier: MIT\n"}),
    (licence, {"tests/unit/meson.build": "test()\n"}),
    (columns, {"src/core/a.c": SPDX + "/* " + "x" * 115 + " */\n"}),
    (tabs, {"src/core/a.c": SPDX + "\tint a;\n"}),
    (trailing_space, {"docs/elections/bully.md": "Bully. \n"}),
    (trailing_space, {"src/core/a.c": SPDX.replace("\n", "\r\n")}),
    (file_length, {"src/core/a.c": SPDX + "int a;\n" * 700}),
    (function_length, {"src/core/a.c": SPDX + "int f(void)\n{\n" + "    ;\n" * 101 + "}\n"}),
    (unfinished, {"src/core/a.c": SPDX + "/* TO" "DO: more */\n"}),
    (unfinished, {"scripts/a.py": "# SPDX-License-Identifier: MIT\n# FIX" "ME\n"}),
    (unfinished, {"src/core/a.h": SPDX + "/* X" "XX */\n"}),
    (machine_paths, {"docs/elections/bully.md": "look in /" "work/main\n"}),
    (machine_paths, {"docs/elections/bully.md": "(/" "root/x)\n"}),
    (machine_paths, {"src/core/a.c": SPDX + 'open("/' 'home/me/x");\n'}),
    (registry_hosts, {"docs/elections/bully.md": "from https:/" "/registry.example.org/x\n"}),
    (registry_hosts, {"scripts/a": "#!/bin/sh\n# SPDX-License-Identifier: MIT\ncurl https:/" "/files.pypi.org\n"}),
    (built, {"src/core/b.c": SPDX}),
    (built, {"tests/unit/b.c": SPDX}),
    (built, {"tests/b.sh": "# SPDX-License-Identifier: MIT\n"}),
    (built, {"scenarios/three.scenario": "held: bully\n", "tests/trace/three.txt": "held\n"}),
    (registered, {"src/algorithm/registry.c": SPDX}),
    (documented, {"docs/elections/bully.md": None, "docs/elections/bull.md": "Bull.\n"}),
    (transcribed, {"scenarios/two.scenario": "held: bully\n"}),
    (pictured, {"docs/pictures/rooms.svg": "<svg/>\n"}),
    (inside, {"docs/inside.md": "see `core/b.c`\n"}),
    (inside, {"docs/inside.md": "see `core/a.c:g`\n"}),
]


def breaches_of(files):
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for path, text in files.items():
            if text is not None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(text.encode())
        return check(root)


def self_test():
    wrong = [f"the good tree is reported: {breach}" for breach in breaches_of(GOOD)]
    for number, (rule, change) in enumerate(BAD):
        found = {breach[0] for breach in breaches_of({**GOOD, **change})}
        if found != {rule.__name__}:
            wrong.append(f"BAD[{number}] should break {rule.__name__} alone, but breaks {sorted(found)}")
    wrong += [f"nothing in BAD breaks {rule.__name__}" for rule in RULES if rule not in {entry[0] for entry in BAD}]
    for text in wrong:
        print(text)
    print(f"{len(BAD)} broken trees, {len(wrong)} surprises")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    breaches = check(options.root)
    for rule, path, line, what in breaches:
        print(f"{path}:{line}: {what} [{rule}]")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
