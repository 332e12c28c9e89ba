#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The site of all docs is built without a warning, no link of it is broken, and it asks nobody else for anything."""

import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
SKIPPED = 77
PACKAGES = ("sphinx", "furo", "myst_parser")


class Page(html.parser.HTMLParser):
    """What a page has (ids), leads to (links) and loads (parts)."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.parts = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.ids |= {attributes[key] for key in ("id", "name") if attributes.get(key)}
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        elif attributes.get("src") or (tag == "link" and attributes.get("href")):
            self.parts.append(attributes.get("src") or attributes["href"])


def is_elsewhere(address):
    return bool(re.match(r"[a-z]+:|//", address))


def broken(directory):
    """What is wrong with the links below a directory, as lines."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in directory.rglob("*.html")}
    for path, page in sorted(pages.items()):
        place = path.relative_to(directory.resolve())
        for part in page.parts:
            if is_elsewhere(part) and not part.startswith("data:"):
                yield f"{place}: loads {part} from elsewhere"
        for address in page.links + [part for part in page.parts if not is_elsewhere(part)]:
            if is_elsewhere(address):
                continue
            target, _, anchor = address.partition("#")
            goal = (path.parent / urllib.parse.unquote(target.split("?")[0])).resolve() if target else path
            if address.startswith("/"):
                yield f"{place}: {address} does not work from file://"
            elif not goal.is_file():
                yield f"{place}: {address} leads nowhere"
            elif anchor and goal in pages and "explore" not in goal.name and urllib.parse.unquote(anchor) not in pages[goal].ids:
                yield f"{place}: {address} has no such place"


def broken_styles(directory):
    """Style sheets that load something from elsewhere, or from a place that file:// does not have."""
    for path in sorted(directory.rglob("*.css")):
        for address in re.findall(r"(?:@import\s+(?:url\()?|url\()[\"']?([^\"')\s;]+)", path.read_text(encoding="utf-8")):
            if address.startswith("/") or (is_elsewhere(address) and not address.startswith("data:")):
                yield f"{path.relative_to(directory)}: loads {address}"


def unreachable(directory):
    """Pages to which no way leads from the first one."""
    seen, ahead = set(), [(directory / "index.html").resolve()]
    while ahead:
        path = ahead.pop()
        if path in seen or path.suffix != ".html":
            continue
        seen.add(path)
        for address in Page(path.read_text(encoding="utf-8")).links:
            if not is_elsewhere(address):
                ahead.append((path.parent / urllib.parse.unquote(address.split("#")[0])).resolve() if address.split("#")[0] else path)
    return {path.resolve() for path in directory.rglob("*.html")} - seen


def check_the_check():
    """Each kind of broken link is found."""
    for text, what in (('<a href="b.html">', "leads nowhere"), ('<a href="#x">', "no such place"), ('<img src="http://a.b/c.png">', "elsewhere"),
                       ('<a href="a.html#y">', "no such place"), ('<a href="/a.html">', "file://"), ('<script src="x.js">', "leads nowhere"),
                       ('<a id="x" href="a.html#x"><a href="https://a.b/">', None)):
        with tempfile.TemporaryDirectory() as directory:
            (pathlib.Path(directory) / "a.html").write_text(text, encoding="utf-8")
            found = list(broken(pathlib.Path(directory)))
            assert len(found) == (1 if what else 0) and (not what or what in found[0]), (text, found)
            (pathlib.Path(directory) / "a.css").write_text('@import url("/x.css"); b { background: url(data:,) }', encoding="utf-8")
            assert list(broken_styles(pathlib.Path(directory))) == ["a.css: loads /x.css"]


def check_site(directory):
    command = [sys.executable, str(SOURCE / "site" / "build.py"), str(directory)]
    if os.environ.get("CONCLAVE"):
        command += ["--conclave", os.environ["CONCLAVE"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr + done.stdout
    site = directory / "html"
    wrong = [*broken(site), *broken_styles(site)]
    assert not wrong, "\n".join(wrong)
    lost = {path.name for path in unreachable(site)} - {"search.html", "genindex.html", "explore.html"}
    assert not lost, f"no way leads to {sorted(lost)}"
    docs = {path.relative_to(SOURCE).with_suffix(".html") for path in (SOURCE / "docs").rglob("*.md")}
    manual = {pathlib.Path("man") / f"{path.name}.html" for path in (SOURCE / "man").glob("*.[0-9]")}
    missing = [str(page) for page in docs | manual if not (site / page).is_file()]
    assert not missing, missing
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    for word in ("ricart", "agrawala", "conclav", "quorum"):
        assert f'"{word}"' in index, f"a search for {word} finds nothing"
    text = (site / "man" / "conclave-status.1.html").read_text(encoding="utf-8")
    assert 'href="conclave-node.1.html"' in text, "manual pages lead to each other"
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    check_in_browser(site)
    print(f"{len(list(site.rglob('*.html')))} pages, {size / 1e6:.1f} MB")


def check_in_browser(site):
    """Its scripts run, it can be read in the dark, and the explorer is alive in it."""
    if not shutil.which("chromium") or not shutil.which("node") or not (SOURCE / "web/node_modules/playwright-core").is_dir():
        print("not looked at: no chromium, no node or no playwright-core of npm")
        return
    done = subprocess.run(["node", SOURCE / "tests/browser/site.js", site], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def is_installed():
    """Sphinx, and what it needs, for the interpreter that runs it: Debian's, whatever else there is."""
    program = shutil.which("sphinx-build")
    if not program:
        return False
    interpreter = pathlib.Path(program).read_text(encoding="utf-8", errors="replace").split("\n", 1)[0].removeprefix("#!").split()
    return subprocess.run([*interpreter, "-c", f"import {', '.join(PACKAGES)}"], capture_output=True, check=False).returncode == 0


def main():
    check_the_check()
    if not is_installed():
        print(f"skipped: no {', no '.join(PACKAGES)}; scripts/install-packages site gets them")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="conclave-site-") as directory:
        check_site(pathlib.Path(directory))
    return 0


if __name__ == "__main__":
    sys.exit(main())
