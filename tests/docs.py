#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What README.md and docs/ show is what the program prints today.

usage: docs.py [--rewrite] [--long] [PAGE...]

    ```console              a session: what follows a line `$ COMMAND` is what that command prints
    $ conclave sim bully
    ```

A command runs if its first word is one of RUN below; `$ make test` is only shown. Its standard output and errors
together must be the text that follows, but for blank lines at its end; a line `…` stands for lines left out. `conclave
scenario` prints commands itself, so it comes last in its session. The commands of a page run one after the other in a
directory of the page's own, which has the repository's include, examples and scenarios.

    ```console long         runs only with --long: it takes more than a second or two
    ```console live         real processes: every run has other numbers, and they may be wider; one of three has to be right
    ![text](PATH.svg)       a picture that one of the page's commands has written
    ```c PATH               an excerpt, in C or another language: these lines stand in that file, one after the other
    [text](PATH#heading)    exists
    <!-- figure: 446 is messages.mean of conclave sim ... -->    the paragraph before it has that number, and rounded so
                            far it is what the command prints with --json
    <!-- table: NAME -->    up to <!-- end of table -->: one of TABLES below, made from what the program lists

--rewrite puts what the commands print and draw today into the pages. Besides, the pages for authors name what
conclave/algorithm.h has, the manual pages name the options the program has, and mandoc, where it is installed, finds
nothing wrong with them; every row of docs/what-happens-when.md names a test that is there; and no sentence has a clause
like "Who comes first" for its subject.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(ROOT / "scripts"))
import rooms  # noqa: E402  pylint: disable=wrong-import-position
CONCLAVE = os.environ.get("CONCLAVE", str(ROOT / "build" / "conclave"))
RUN = {"conclave", "cc", "cat", "echo", "head", "sed"}
LEFT_OUT = "…"
SECONDS = 30
LIVE_ATTEMPTS = 3  # nodes that do not get the processor form no group in time

REPLAYS = re.compile(r"conclave (scenario \S|tour)")  # these print commands, so one ends its session
FENCE = re.compile(r"^```(\S*) ?(.*)$")
LINK = re.compile(r"(?<!\\)\[[^\]\n]*\]\(([^)\s]+)\)")
PICTURE = re.compile(r"!\[[^\]\n]*\]\(([^)\s]+\.svg)\)")
SPAN = re.compile(r"`[^`\n]*`")


class Block:
    """A fenced block: its lines are page[start:end], without the fences."""

    def __init__(self, language, rest, start):
        self.language, self.rest, self.start, self.end = language, rest, start, start


def blocks(page):
    block = None
    for number, line in enumerate(page):
        fence = FENCE.match(line)
        if not fence:
            continue
        if block is None:
            block = Block(fence[1], fence[2], number + 1)
        else:
            block.end = number
            yield block
            block = None


def commands(page, block):
    """(line number, command, first line of its output, line after it) of a session."""
    starts = [n for n in range(block.start, block.end) if page[n].startswith("$ ")]
    for start, behind in zip(starts, starts[1:] + [block.end]):
        output = start + 1
        command = page[start][2:]
        while command.endswith("\\") and output < behind:
            command = command[:-1] + page[output].strip()
            output += 1
        if REPLAYS.match(command):
            yield start, command, output, block.end
            return
        yield start, command, output, behind


def run(command, directory):
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "CONCLAVE_SEED")}
    environment.update(PATH=f"{directory / 'bin'}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
    with subprocess.Popen(["sh", "-c", command], cwd=directory, env=environment, text=True, start_new_session=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            printed, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return [f"(stopped after {SECONDS} seconds)"]
    return without_end([line.rstrip() for line in printed.splitlines()])


def without_end(lines):
    """Without blank lines at the end."""
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def blurred(lines):
    """Without numbers, and without what aligns them."""
    return [" ".join(re.sub(r"\d+(\.\d+)?", "0", line).split()) for line in lines]


def matches(shown, printed):
    """Is `shown` what was printed, but for what it leaves out?"""
    if LEFT_OUT not in shown:
        return shown == printed
    gap = shown.index(LEFT_OUT)
    if shown[:gap] != printed[:gap]:
        return False
    rest = shown[gap + 1:]
    return any(matches(rest, printed[at:]) for at in range(gap, len(printed) + 1))


def abbreviated(shown, printed):
    """The printed text, shortened as in the page: with as many lines before and after the gap."""
    if LEFT_OUT not in shown:
        return printed
    head = shown.index(LEFT_OUT)
    tail = shown[::-1].index(LEFT_OUT)
    if head + tail >= len(printed):
        return printed
    return printed[:head] + [LEFT_OUT] + (printed[-tail:] if tail else [])


def settle(directory):
    """A directory in which a page's commands find what they name."""
    (directory / "bin").mkdir()
    (directory / "bin" / "conclave").symlink_to(pathlib.Path(CONCLAVE).resolve())
    for name in ("include", "examples", "scenarios"):
        (directory / name).symlink_to(ROOT / name)


def check_pictures(path, page, directory, options):
    for number, line in prose(page):
        for target in PICTURE.findall(line):
            if (path.parent / target).resolve() == ROOT / rooms.PICTURE:
                continue  # tests/tidy.py compares it with the includes
            drawn, kept = directory / pathlib.Path(target).name, path.parent / target
            if not drawn.is_file():
                yield path, number + 1, f"{target}: no command of this page writes it"
            elif not kept.is_file() or drawn.read_bytes() != kept.read_bytes():
                if options.rewrite:
                    kept.parent.mkdir(exist_ok=True)
                    shutil.copy(drawn, kept)
                yield path, number + 1, f"{target}: its command draws something else"


def check_sessions(path, page, options):
    """What is wrong, and the page as it should be."""
    wrong, written, copied = [], [], 0
    with tempfile.TemporaryDirectory() as name:
        settle(pathlib.Path(name))
        for block in blocks(page):
            if block.language != "console" or (block.rest == "long" and not options.long):
                continue
            for start, command, output, behind in commands(page, block):
                if command.split(maxsplit=1)[0] not in RUN:
                    continue
                shown = without_end(page[output:behind])
                for _ in range(LIVE_ATTEMPTS if block.rest == "live" else 1):
                    printed = run(command, pathlib.Path(name))
                    good = matches(shown, printed) or (block.rest == "live" and matches(blurred(shown), blurred(printed)))
                    if good:
                        break
                if good:
                    continue
                wrong.append((path, start + 1, f"`{command}` prints something else:\n" + "\n".join(printed)))
                written += page[copied:output] + abbreviated(shown, printed)
                copied = behind
        wrong += check_pictures(path, page, pathlib.Path(name), options)
    return wrong, written + page[copied:]


# ---- figures in prose ----

FIGURE = re.compile(r"<!-- figure: (\S+) is (\S+) of (conclave .*) -->")


def paragraph_before(page, number):
    while number and FIGURE.match(page[number - 1]):
        number -= 1
    end = number
    while number and page[number - 1].strip():
        number -= 1
    return " ".join(page[number:end])


def check_figures(path, page):
    with tempfile.TemporaryDirectory() as name:
        settle(pathlib.Path(name))
        for number, line in enumerate(page):
            figure = FIGURE.fullmatch(line)
            if not figure:
                if line.startswith("<!-- figure"):
                    yield path, number + 1, f"{line}: expected <!-- figure: NUMBER is KEY.KEY of COMMAND -->"
                continue
            shown, keys, command = figure.groups()
            value = json.loads("\n".join(run(command + " --json", pathlib.Path(name))))
            for key in keys.split("."):
                value = value[key]
            digits = len(shown.partition(".")[2])
            if f"{value:.{digits}f}" != shown:
                yield path, number + 1, f"{shown}: it is {value} today"
            if not re.search(rf"(?<![\d.]){re.escape(shown)}(?![\d]|\.\d)", paragraph_before(page, number)):
                yield path, number + 1, f"{shown}: the paragraph before does not have it"


# ---- tables ----


def ask(*command):
    return subprocess.run([CONCLAVE, *command], capture_output=True, text=True, check=True).stdout


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def link(name, target, folder):
    return f"[`{name}`]({os.path.relpath(ROOT / target, folder)})"


def table_of(problem, pages, folder):
    """Every algorithm for it, its page, and the best and worst number of messages it names."""
    yield row("algorithm", "network", "messages, best", "messages, worst")
    yield row("---", "---", "---", "---")
    for it in json.loads(ask("list", "--json"))["algorithms"]:
        if it["problem"] != problem:
            continue
        costs = [cost for cost in it["costs"] if cost["measure"] == "messages"]
        best = [cost["formula"] for cost in costs if cost["case"].startswith("best")]
        worst = [cost["formula"] for cost in costs if cost["case"].startswith("worst")]
        yield row(link(it["name"], f"{pages}/{it['name']}.md", folder), it["topology"],
                  best[0] if best else "", worst[-1] if worst else "")


def election_table(folder):
    yield from table_of("election", "docs/elections", folder)


def mutex_table(folder):
    yield from table_of("mutex", "docs/mutex", folder)


def synchronizer_table(folder):
    """What every synchronizer adds to a round of the algorithm it hosts."""
    yield row("algorithm", "messages a round", "time a round")
    yield row("---", "---", "---")
    for it in json.loads(ask("list", "--json"))["algorithms"]:
        if it["problem"] == "synchronizer":
            cost = {cost["measure"]: cost for cost in reversed(it["costs"]) if cost["case"].startswith("a round")}
            yield row(link(it["name"], f"docs/synchronizers/{it['name']}.md", folder), cost["messages"]["formula"],
                      ("" if cost["delay"]["relation"] == "=" else "at most ") + cost["delay"]["formula"])


def scenario_table(folder):
    """Every scenario, its file and its title."""
    yield row("scenario", "story")
    yield row("---", "---")
    for line in ask("scenario").split("\n\n", maxsplit=1)[0].splitlines():
        name, title = line.split(maxsplit=1)
        yield row(link(name, f"scenarios/{name}.scenario", folder), title)


def room_table(_):
    yield from rooms.table(ROOT)


TABLES = {"rooms": room_table, "algorithms": election_table, "mutexes": mutex_table, "synchronizers": synchronizer_table,
          "scenarios": scenario_table}


def check_tables(path, page):
    """What is wrong, and the page as it should be."""
    wrong, written, copied = [], [], 0
    for start, line in enumerate(page):
        table = re.fullmatch(r"<!-- table: (\w+) -->", line)
        if table:
            end = page.index("<!-- end of table -->", start)
            rows = list(TABLES[table[1]](path.parent))
            if page[start + 1:end] != rows:
                wrong.append((path, start + 1, "the table should be:\n" + "\n".join(rows)))
            written += page[copied:start + 1] + rows
            copied = end
    return wrong, written + page[copied:]


# ---- excerpts and links ----


def check_excerpts(path, page):
    for block in blocks(page):
        source = ROOT / block.rest
        if block.language not in ("c", "cpp", "go", "java", "js", "python") or not block.rest:
            continue
        if not source.is_file():
            yield path, block.start, f"{block.rest}: no such file"
        elif "\n".join(page[block.start:block.end]) not in source.read_text(encoding="utf-8"):
            yield path, block.start + 1, f"does not stand like this in {block.rest}"


# What a line of a block may be, where no command prints it: a setting, or a command.
LINES = {"ini": re.compile(r"(\[[^]]+\]|[\w.-]+ = [^;]*)?\s*(;.*)?"),
         "sh": re.compile(r"([A-Z_]+=\S+ )?(conclave|redis-cli|make|sudo|touch|dd|torment/run) .*|\s*")}


def check_lines(path, page):
    for block in blocks(page):
        for number in range(block.start, block.end):
            if block.language in LINES and not LINES[block.language].fullmatch(page[number]):
                yield path, number + 1, f"{page[number]}: no line of a block `{block.language}`"


def prose(page):
    """(line number, line) outside fenced blocks."""
    fenced = {n for block in blocks(page) for n in range(block.start - 1, block.end + 1)}
    return [(n, line) for n, line in enumerate(page) if n not in fenced]


def anchors(page):
    """The names under which a browser finds the headings of a page."""
    for _, line in prose(page):
        heading = re.match(r"#+ (.*)", line)
        if heading:
            yield re.sub(r"[^\w\- ]", "", heading[1].lower()).replace(" ", "-")


def check_links(path, page):
    for number, line in prose(page):
        for target in LINK.findall(SPAN.sub("", line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            there = (path.parent / name).resolve() if name else path
            if not there.exists():
                yield path, number + 1, f"{target}: no such file"
            elif anchor and there.suffix == ".md" and anchor not in anchors(read(there)):
                yield path, number + 1, f"{target}: no such heading"


def read(path):
    return path.read_text(encoding="utf-8").split("\n")


# ---- the author's interface ----

# What stands in the header for the runtimes, and for what is not there yet.
INTERNAL = {"cv_post", "cv_send_bytes", "cv_send_row", "cv_send_around_bytes", "cv_multicast_bytes",
            "cv_message_bytes", "cv_write_header", "cv_post_row", "cv_group_rank", "cv_rank_make"}


def check_interface():
    """The pages for authors name every function of the header, every condition and variable of formulas, nothing else."""
    header = "".join((ROOT / "include" / "conclave" / name).read_text(encoding="utf-8")
                     for name in ("algorithm.h", "cost.h", "field.h", "hints.h", "kind.h", "names.h", "runtime.h"))
    headers = header + (ROOT / "include" / "conclave" / "synchronizer.h").read_text(encoding="utf-8")
    functions = set(re.findall(r"^(?:static inline .*?\*?|#define )(cv_\w+)\(", header, re.MULTILINE)) - INTERNAL
    conditions = set(re.findall(r"CV_\w+", re.search(r"enum cv_condition \{(.*?)\n\};", header, re.DOTALL)[1]))
    theory = (ROOT / "src" / "core" / "formula" / "theory.c").read_text(encoding="utf-8")
    variables = set(re.findall(r'\{"(\w+)", \w+\},', theory))
    guide, manual = ROOT / "docs" / "write-your-own.md", ROOT / "man" / "conclave-algorithm.7"
    properties = ROOT / "docs" / "properties.md"
    for path, names in ((guide, functions), (manual, functions), (properties, conditions)):
        text = path.read_text(encoding="utf-8")
        for name in sorted(names):
            if not re.search(rf"\b{name}\b", text):
                yield path, 1, f"{name} is missing"
        for name in sorted(set(re.findall(r"\b(?:cv|CV)_\w+", text))):
            if not re.search(rf"\b{name}\b", headers):
                yield path, 1, f"the headers have no {name}"
    table = (ROOT / "src" / "property" / "properties.h").read_text(encoding="utf-8")
    judged = set(re.findall(r'X\(CV_PROPERTY_\w+, "([\w-]+)"', table)) - {"promises"}  # docs/check.md explains it
    for name in sorted(variables | judged):
        if f"| `{name}` |" not in properties.read_text(encoding="utf-8"):
            yield properties, 1, f"{name} is missing in the tables"


# ---- what happens when ----


def check_named_tests():
    """Every row of docs/what-happens-when.md names a test, by file and function, in its last column; and it is there, and run."""
    page = ROOT / "docs" / "what-happens-when.md"
    for number, line in enumerate(read(page)):
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("|") or cells[0] == "---" or set(line) <= set("|- "):
            continue
        if cells[0] == "…":
            if cells[-1] != "test":
                yield page, number + 1, "expected a last column, test"
            continue
        yield from ((page, number + 1, what) for what in named_in(cells[-1]))


def named_in(cell):
    """What is wrong with the tests that a cell names: `live/raft.py` `function`, `another`; `unit/lease.c` `function`."""
    text, count = "", 0
    for span in SPAN.findall(cell):
        word = span.strip("`").split(" ")[0]
        if re.fullmatch(r"[\w/]+\.(py|c)", word):
            path = ROOT / word if word.startswith("bench/") else ROOT / "tests" / word
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            if not text:
                yield f"{word}: no such test"
        elif re.fullmatch(r"\w+", word) and not word.isupper():
            count += 1
            if not re.search(rf"^(def|static void) {word}\(", text, re.MULTILINE) or len(re.findall(rf"\b{word}\b", text)) < 2:
                yield f"{word}: no such function of that test, or none that is run"
    if not count:
        yield "expected a test, by its file and function"


# ---- plain English ----

UNPLAIN = [
    (re.compile(r"\bfor dead\b"), "expected suspect, or suspected"),
    (re.compile(r"\b[Ww]hoever (?!calls|called)"), "expected a noun as the subject: a node that, a client that"),
    (re.compile(r"(?:^|[.;:|] )Who (?!may|belongs)\w+[^?]*$"), "expected a noun as the subject: a node that, a client that"),
]


def check_words():
    """No clause as a subject, and the field's words, in pages and manual pages."""
    for path in [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")), *sorted((ROOT / "man").glob("*.[1-9]"))]:
        page = read(path)
        lines = enumerate(page) if path.suffix != ".md" else prose(page)
        for number, line in lines:
            if path.name == "CHANGELOG.md" or line.startswith("#"):
                continue
            for pattern, what in UNPLAIN:
                found = pattern.search(SPAN.sub("", line))
                if found:
                    yield path, number + 1, f"{found[0].strip()}: {what}"


# ---- the manual ----


def check_manual():
    """mandoc finds nothing wrong with the pages. That they list every option, tests/options.py checks."""
    if not shutil.which("mandoc"):
        return
    for page in sorted((ROOT / "man").glob("*.[1-9]")):
        lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", str(page)], capture_output=True, text=True,
                              check=False)
        if lint.returncode or lint.stdout:
            yield page, 1, lint.stdout.strip()


def main():
    os.umask(0o022)  # a node loads no file that others can write to
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", metavar="PAGE", nargs="*", type=pathlib.Path)
    parser.add_argument("--rewrite", action="store_true", help="put what the commands print today into the pages")
    parser.add_argument("--long", action="store_true", help="also run the long sessions")
    options = parser.parse_args()
    pages = [page.resolve() for page in options.pages]
    wrong = []
    for path in pages or [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]:
        page = read(path)
        found, written = check_sessions(path, page, options)
        stale, written = check_tables(path, written if options.rewrite else page)
        found += stale
        if found and options.rewrite:
            path.write_text("\n".join(written), encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: {len(found)} sessions, pictures and tables rewritten")
            found, page = [], written
        wrong += [*found, *check_figures(path, page), *check_excerpts(path, page), *check_lines(path, page),
                  *check_links(path, page)]
    if not pages:
        wrong += [*check_interface(), *check_named_tests(), *check_words(), *check_manual()]
    for path, line, what in wrong:
        print(f"{path.relative_to(ROOT)}:{line}: {what}")
    if wrong:
        print("tests/docs.py --rewrite puts sessions, pictures and tables right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
