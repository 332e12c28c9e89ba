#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a site of all docs: build.py OUT [--conclave PROGRAM].

Sphinx (with furo and MyST) reads README.md and docs/ as they are. What they link to comes along: sources and scenarios as
pages with their text, directories as lists. The manual pages are converted by mandoc. Where the program has `explore`, every
page of an algorithm begins with the explorer. OUT/html works from any web server and from file://.
"""

import argparse
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOP = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
FENCE = re.compile(r"^\s*(```|~~~)")
ALGORITHMS = ["elections", "mutex", "synchronizers"]
GUIDE = ["start", "read-an-algorithm", "write-your-own"]
GROUPS = [("To study", ["simulator", "run", "scale", "every-way", "properties", "check", "verified", "compare", "scenarios", "texts", "synchronizers"]),
          ("To run", ["live", "lock", "guards", "redis", "clients", "membership", "operations", "what-happens-when", "split-brain", "security", "torment"])]
LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".sh": "sh", ".yml": "yaml", ".conf": "ini", ".scenario": "sh"}
MANUAL = re.compile(r"(?<![\w`/-])((?:lib)?conclave(?:-[a-z-]+)?)\((\d)\)")


class Site:
    def __init__(self, out, conclave):
        self.source, self.pages, self.conclave = out / "source", out / "html", conclave
        self.listed = set()  # directories that have a page
        self.shown = set()  # files that have one
        self.explores = False

    # ---- what pages link to ----

    def show_file(self, path):
        """The page with the text of a file."""
        page = pathlib.Path("files") / f"{path.relative_to(ROOT)}.md"
        if page not in self.shown:
            self.shown.add(page)
            text = path.read_text(encoding="utf-8")
            fence = "`" * (3 + max((len(run) for run in re.findall(r"`{3,}", text)), default=0))
            language = LANGUAGES.get(path.suffix, "sh" if text.startswith("#!/bin/sh") else "text")
            language = "python" if "python" in text.split("\n", 1)[0] and not path.suffix else language
            self.write(page, f"---\norphan: true\n---\n\n# {path.relative_to(ROOT)}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n")
        return page

    def list_directory(self, path):
        """The page that lists a directory: titles of pages, or names of files."""
        place = path.relative_to(ROOT)
        page = (place if place.parts[0] in ("docs", "man") else pathlib.Path("files") / place) / "index.md"
        if page in self.listed:
            return page
        self.listed.add(page)
        lines = [f"# {place}", ""]
        for item in sorted(path.rglob("*") if place.parts[0] == "src" else path.iterdir()):
            if item.suffix == ".md":
                lines.append(f"- [{title_of(item)}]({item.name})")
            elif item.is_file() and item.suffix in LANGUAGES:
                target = os.path.relpath(self.show_file(item), page.parent)
                lines.append(f"- [`{item.relative_to(path)}`]({target})")
        self.write(page, "\n".join(["---", "orphan: true", "---", "", *lines, ""]))
        return page

    def follow(self, target, path, page):
        """Where a link of the file `path`, which is the page `page`, leads to on the site."""
        goal = (path.parent / target).resolve()
        if re.match(r"[a-z]+:", target) or not goal.exists() or ROOT not in goal.parents:
            return target  # elsewhere; or broken, and Sphinx says so
        place = goal.relative_to(ROOT)
        if goal.is_dir():
            found = pathlib.Path("man/index.md") if place == pathlib.Path("man") else self.list_directory(goal)
        elif place == pathlib.Path("README.md"):
            found = pathlib.Path("index.md")
        elif place.parts[0] == "man":
            found = pathlib.Path("man") / f"{place.name}.md"
        elif place.suffix == ".md" and (place.parts[0] == "docs" or str(place) in TOP):
            found = place
        elif place.suffix in (".svg", ".png"):
            return target
        else:
            found = self.show_file(goal)
        return os.path.relpath(found, page.parent)

    def link(self, found, path, page):
        """A link as it holds on the site. The page with the text of a file has no places within."""
        target = self.follow(found[2], path, page)
        within = "" if "files/" in target else found[3] or ""
        return found[1] + target + within + found[4]

    # ---- pages ----

    def write(self, page, text):
        (self.source / page).parent.mkdir(parents=True, exist_ok=True)
        (self.source / page).write_text(text, encoding="utf-8")

    def read(self, path, page):
        """The Markdown of a file, with links that hold on the site. What stands in code is left alone."""
        lines, within = path.read_text(encoding="utf-8").split("\n"), False
        for i, line in enumerate(lines):
            if FENCE.match(line):
                within = not within
            elif not within:
                lines[i] = LINK.sub(lambda found: self.link(found, path, page), line)
        return "\n".join(lines)

    def add_docs(self):
        for path in sorted((ROOT / "docs").rglob("*.md")):
            page = path.relative_to(ROOT)
            text = self.read(path, page)
            if page.parts[1] in ALGORITHMS and len(page.parts) == 3:
                text = self.with_explorer(text, page)
            self.write(page, text)
        shutil.copytree(ROOT / "docs" / "pictures", self.source / "docs" / "pictures")
        for name in TOP[1:]:
            self.write(pathlib.Path(name), self.read(ROOT / name, pathlib.Path(name)))

    def add_manual(self):
        pages = sorted((ROOT / "man").glob("*.[0-9]"), key=lambda path: (path.suffix, path.name))
        known = {(path.stem, path.suffix[1:]) for path in pages}

        def link(found):
            return f"[{found[0]}]({found[1]}.{found[2]}.md)" if (found[1], found[2]) in known else found[0]

        for path in pages:
            done = subprocess.run(["mandoc", "-T", "markdown", str(path)], capture_output=True, text=True, check=True)
            body = done.stdout.split("\n", 1)[1].rstrip().rsplit("\n", 1)[0]  # without head and foot
            body = re.sub(r"^(#+) (.*)", lambda found: f"#{found[1]} {found[2].capitalize()}", body, flags=re.M)
            self.write(pathlib.Path("man") / f"{path.name}.md", f"# {path.stem}({path.suffix[1:]})\n\n" + MANUAL.sub(link, body) + "\n")
        names = [f"- [{path.stem}({path.suffix[1:]})]({path.name}.md): {described(path)}" for path in pages]
        self.write(pathlib.Path("man/index.md"), "# Manual pages\n\n" + "\n".join(names) + "\n\n" + toctree("", [path.name for path in pages]))

    def add_index(self):
        """README.md, and what the navigation shows."""
        trees = [toctree("Guide", [f"docs/{name}" for name in GUIDE])]
        trees += [toctree(caption, [f"docs/{name}" for name in names]) for caption, names in GROUPS]
        for caption, folder in zip(("Elections", "Mutual exclusion", "Synchronizers"), ALGORITHMS):
            trees.append(toctree(caption, [f"docs/{folder}/{path.stem}" for path in sorted((ROOT / "docs" / folder).glob("*.md"))]))
        listed = set(GUIDE) | {name for _, names in GROUPS for name in names}
        rest = [f"docs/{path.stem}" for path in sorted((ROOT / "docs").glob("*.md")) if path.stem not in listed]
        trees.append(toctree("More", ["man/index", *rest, *(name[:-3] for name in TOP[1:])]))
        self.write(pathlib.Path("index.md"), self.read(ROOT / "README.md", pathlib.Path("index.md")) + "\n\n" + "\n".join(trees))

    def stand_alone(self):
        """Debian's furo takes normalize.css from a place of Debian's web servers; static/site.css has what is needed of it."""
        for path in self.pages.glob("_static/**/*.css"):
            text = path.read_text(encoding="utf-8")
            alone = re.sub(r"@import\s+(url\()?[\"']?/javascript/[^;]*;", "", text)
            if alone != text:
                path.write_text(alone, encoding="utf-8")
        self.mend_theme(self.pages / "_static")

    @staticmethod
    def mend_theme(static):
        """
        Debian's furo lacks two things. It has the colours of the dark theme only for those who choose it, not for those whose
        system is dark, and its script imports another, which a page cannot do without being a module.
        """
        style = static / "styles" / "furo.css"
        text = style.read_text(encoding="utf-8")
        dark = re.search(r'body\[data-theme="dark"\]\s*\{([^{}]*)\}', text)
        if dark and "prefers-color-scheme" not in text:
            rule = f'\n@media not print {{ @media (prefers-color-scheme: dark) {{ body[data-theme="auto"] {{{dark.group(1)}}} }} }}\n'
            style.write_text(text + rule, encoding="utf-8")
        script = static / "scripts" / "furo.js"
        text = script.read_text(encoding="utf-8")
        imported = re.match(r'import Gumshoe from "\./([\w-]+\.js)";', text)
        if imported:
            script.write_text((static / "scripts" / imported[1]).read_text(encoding="utf-8") + text[imported.end():], encoding="utf-8")

    # ---- the explorer ----

    def add_explorer(self):
        """One file for all pages: the address says what it opens."""
        if not self.conclave or subprocess.run([self.conclave, "explore", "--help"], capture_output=True, check=False).returncode:
            return
        target = self.source / "_extra" / "explore.html"
        target.parent.mkdir(parents=True)
        done = subprocess.run([self.conclave, "explore", "--write", str(target)], capture_output=True, text=True, check=False)
        self.explores = done.returncode == 0 and target.is_file()
        if not self.explores:
            shutil.rmtree(target.parent)
            print(f"site: without the explorer: {done.stderr.strip()}")

    def with_explorer(self, text, page):
        """After the page's first paragraph: the first run that the page shows, to step through. A picture of it gives way."""
        if not self.explores:
            return text
        words = [word for word in first_run(text, page.stem).split() if word not in ("--diagram", "--json", "--timing", "--transcript")]
        address = "../../explore.html#s=" + html.escape(urllib.parse.quote(" ".join(words), safe=",:@/='").replace("%20", "+"))
        frame = (f'<iframe class="explorer" loading="lazy" title="{page.stem}, to step through" src="{address}"></iframe>\n\n'
                 f'<p><a href="{address}">Explore it on a page of its own</a></p>\n')
        text = re.sub(r"^!\[[^\]]*\]\(\.\./pictures/[^)]*\)\n", "", text, flags=re.M)
        head, first, rest = (text.split("\n\n", 2) + ["", ""])[:3]
        return "\n\n".join([head, first, frame, rest])


def first_run(text, algorithm):
    """The words of the first run that a page shows: of the algorithm itself, or of one that hosts it or is hosted."""
    runs = re.findall(r"^\$ conclave sim ([^\n|>]*)", text.replace("\\\n", " "), re.M)
    own = [run for run in runs if run.split()[0] == algorithm]
    hosts = [run for run in runs if f"--app {algorithm}" in run]
    return (own + hosts + runs + [algorithm])[0]


def title_of(path):
    return next(line[2:] for line in path.read_text(encoding="utf-8").split("\n") if line.startswith("# "))


def described(path):
    return re.search(r"^\.Nd (.*)", path.read_text(encoding="utf-8"), re.M)[1]


def toctree(caption, pages):
    head = [f":caption: {caption}"] if caption else []
    return "\n".join(["```{toctree}", ":hidden:", *head, "", *pages, "```", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, metavar="OUT", help="a directory, which is made anew")
    parser.add_argument("--conclave", metavar="PROGRAM", help="for the explorer")
    options = parser.parse_args()
    missing = [name for name in ("sphinx-build", "mandoc") if not shutil.which(name)]
    if missing:
        sys.exit(f"site: {missing[0]} is missing: run scripts/install-packages site")
    for part in ("source", "html"):
        shutil.rmtree(options.out / part, ignore_errors=True)
    site = Site(options.out.resolve(), options.conclave)
    shutil.copytree(ROOT / "site" / "static", site.source / "_static")
    shutil.copy(ROOT / "site" / "conf.py", site.source)
    site.add_explorer()
    site.add_docs()
    site.add_manual()
    site.add_index()
    # A warning is an error: a link to nowhere, a page that no navigation shows.
    done = subprocess.run(["sphinx-build", "-q", "-W", "--keep-going", "-E", "-d", str(site.source / "_trees"), "-b", "html",
                           str(site.source), str(site.pages)], check=False)
    site.stand_alone()
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
