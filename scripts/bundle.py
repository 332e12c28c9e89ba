# SPDX-License-Identifier: MIT
"""Puts ES modules together into one script: for the explorer's page (page.py) and for the node's (embed_page.py).

A module becomes a function that returns what it exports, and the functions stand in the order in which they need each
other. Modules are files of web/, or libraries of npm.
"""
import pathlib
import re
import sys

MODULES = pathlib.Path(__file__).resolve().parent.parent / "web/node_modules"
LIBRARIES = {
    "preact": MODULES / "preact/dist/preact.mjs",
    "preact/hooks": MODULES / "preact/hooks/dist/hooks.mjs",
    "htm": MODULES / "htm/dist/htm.mjs",
}
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
        if not name.startswith(("./", "../")):
            sys.exit(f"{beside}: import of {name}; expected a file of web, or one of {', '.join(LIBRARIES)}")
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
    """The script that begins with that module, and the files of which it is made."""
    made = Bundle()
    made.add(entry)
    return '"use strict";\n{\n' + "".join(made.parts) + "}\n", list(made.names)
