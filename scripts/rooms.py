#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the rooms of src/ and what they include.

usage: rooms.py             print the picture, an SVG
       rooms.py --rewrite   write docs/pictures/rooms.svg anew, and the table of rooms in docs/inside.md

The includes decide which arrows there are, how high a room stands, and the order of its inner rooms. ROOMS below says in a
few words what a room is for, and which columns it takes. tests/tidy.py compares the picture with the one in docs/.
"""

import pathlib
import re
import sys
import textwrap
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = "docs/pictures/rooms.svg"
PAGE = "docs/inside.md"
PUBLIC = "include/conclave"
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<(conclave/[^>]+)>)', re.MULTILINE)

# What a room is for; its first and last column; its side: to study algorithms, to run them, or both.
ROOMS = {
    "cli": ("one file per subcommand, one table of them", 0, 7, "both"),
    "service": ("what clients want of a node: their protocol, sessions, locks, elections", 4, 6, "run"),
    "sim": ("virtual time, the network, faults", 1, 1, "study"),
    "run": ("one process for each node of an experiment", 0, 0, "study"),
    "check": ("every order of events", 2, 2, "study"),
    "show": ("what a person sees", 3, 3, "study"),
    "explore": ("a run step by step, there and back", 0, 3, "study"),
    "live": ("sockets, peers, the algorithms hosted; alone knows libuv", 4, 5, "run"),
    "plugin": ("algorithms from shared objects", 6, 6, "both"),
    "client": ("the library for C programs", 7, 7, "run"),
    "ranks": ("the processes of one job, on many machines; alone knows MPI", 0, 0, "study"),
    "partition": ("shares of a graph; alone knows METIS", 1, 1, "study"),
    "property": ("what must hold, in a simulated, checked or live run", 2, 2, "study"),
    "saved": ("files from which long work goes on", 7, 7, "study"),
    "guard": ("handlers of plugins, and what they do wrong", 3, 3, "study"),
    "group": ("views, leases; alone knows libraft", 4, 4, "run"),
    "secure": ("keys, TLS, ACLs; alone knows OpenSSL", 5, 5, "run"),
    "resp": ("the Redis protocol, both ways", 6, 6, "run"),
    "algorithm": ("one file each; includes the public header alone", 0, 0, "study"),
    "core": ("what all runtimes share, without I/O: scenarios, graphs, channels, formulas, chance", 1, 7, "both"),
    PUBLIC: ("the public headers", 0, 7, "both"),
}

COLUMN, GAP, MARGIN, HEAD = 112, 16, 28, 100
LINE, CHIP, BETWEEN = 15, 24, 42
CHARACTER = 6.1  # how wide one is, about, in the small font
OWN = "its own files"
FILL = {"study": ("#eef3fc", "#4a74c9"), "run": ("#ecf7f1", "#0a8f6c"), "both": ("#f3f4f6", "#7d8590")}


def wide(chip):
    return CHARACTER * len(chip or OWN) + 5


def sources(root):
    return sorted(path for path in root.glob("src/*/**/*.[ch]"))


def home(path):
    """The room and inner room of a path from src/ on, as an include names it."""
    parts = path.split("/")
    if parts[0] == "conclave":
        return PUBLIC, parts[-1]
    return parts[0], parts[1] if len(parts) > 2 else ""


def read_includes(root):
    """{room: rooms it includes}, {room: {inner room: inner rooms it includes}}."""
    rooms = {PUBLIC: set()}
    inner = {PUBLIC: {path.name: set() for path in (root / PUBLIC).glob("*.h")}}
    for path in sources(root):
        room, own = home(path.relative_to(root / "src").as_posix())
        rooms.setdefault(room, set())
        inner.setdefault(room, {}).setdefault(own, set())
        for quoted, public in INCLUDE.findall(path.read_text(encoding="utf-8")):
            target, target_inner = home(quoted or public)
            if target != room:
                rooms[room].add(target)
            elif target_inner != own:
                inner[room][own].add(target_inner)
    return rooms, inner


def reachable(graph, start):
    seen, ahead = set(), list(graph.get(start, ()))
    while ahead:
        node = ahead.pop()
        if node not in seen:
            seen.add(node)
            ahead += graph.get(node, ())
    return seen


def reduced(graph):
    """Without the arrows that follow from others."""
    return {node: {to for to in targets
                   if not any(to in reachable(graph, other) for other in targets - {to} if other not in reachable(graph, to))}
            for node, targets in graph.items()}


def heights(graph):
    """{node: the longest way down from it}; the nodes of a cycle share theirs."""
    below = {node: reachable(graph, node) for node in graph}
    found = {}

    def height(node):
        if node not in found:
            down = [height(to) for to in below[node] if to in graph and node not in below[to]]
            found[node] = 1 + max(down, default=-1)
        return found[node]

    for node in graph:
        height(node)
    return found


def levels(graph):
    """The nodes by height, the highest first."""
    height = heights(graph)
    return [sorted(node for node in graph if height[node] == at) for at in sorted(set(height.values()), reverse=True)]


# ---- the picture ----


class Box:
    def __init__(self, room, inner):
        what, first, last, self.side = ROOMS[room]
        self.room = room
        self.x = MARGIN + first * (COLUMN + GAP)
        self.width = (last - first + 1) * (COLUMN + GAP) - GAP
        self.y = 0
        self.words = textwrap.wrap(what, max(12, int((self.width - 16) / CHARACTER)))
        self.chips = [sorted(inner)] if room == PUBLIC else levels(inner) if len(inner) > 1 and room != "algorithm" else []
        if room == "algorithm":
            self.chips = [[name] for name in sorted(name for name in inner if name)]
        self.chips = [row for chips in self.chips for row in self.fitting(chips)]
        self.height = 30 + LINE * len(self.words) + CHIP * len(self.chips) + (8 if self.chips else 2)

    def fitting(self, chips):
        """The chips of one level in as many lines as they need."""
        row = []
        for chip in chips:
            if row and sum(wide(name) + 4 for name in [*row, chip]) > self.width - 8:
                yield row
                row = []
            row.append(chip)
        yield row

    def draw(self):
        fill, stroke = FILL[self.side]
        yield (f'<rect x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="7" fill="{fill}" '
               f'stroke="{stroke}"/>')
        yield f'<text x="{self.x + 9}" y="{self.y + 20}" class="room">{self.room}</text>'
        y = self.y + 36
        for line in self.words:
            yield f'<text x="{self.x + 9}" y="{y}" class="small">{escape(line)}</text>'
            y += LINE
        y = self.y + self.height - CHIP * len(self.chips) - 5
        for chips in self.chips:
            spare = self.width - 8 - sum(wide(chip) + 4 for chip in chips)
            x = self.x + 6
            for chip in chips:
                width = wide(chip) + spare / len(chips)
                yield (f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{CHIP - 4}" rx="4" fill="#fff" '
                       f'stroke="{stroke}" stroke-opacity=".45"/>')
                own = ' font-style="italic"' if not chip else ""
                yield f'<text x="{x + width / 2:.1f}" y="{y + 14}" class="chip"{own}>{chip or OWN}</text>'
                x += width + 4
            y += CHIP


def arrow(above, below):
    top, end = above.y + above.height, below.y - 5
    left, right = max(above.x, below.x), min(above.x + above.width, below.x + below.width)
    if left < right:
        return f'<path class="arrow" d="M{(left + right) / 2:g} {top}V{end}" marker-end="url(#head)"/>'
    leans_left = below.x < above.x
    x0 = above.x + above.width * (0.3 if leans_left else 0.7)
    x1 = below.x + below.width * (0.8 if leans_left else 0.2)
    bend = (top + end) / 2
    return f'<path class="arrow" d="M{x0:g} {top}C{x0:g} {bend} {x1:g} {bend} {x1:g} {end}" marker-end="url(#head)"/>'


def picture(root):
    rooms, inner = read_includes(root)
    unknown = sorted(set(rooms) ^ set(ROOMS))
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: say in scripts/rooms.py what it is for and where it stands")
    boxes = {room: Box(room, inner[room]) for room in rooms}
    y = HEAD
    for row in levels(rooms):
        for room in row:
            boxes[room].y = y
        y += max(boxes[room].height for room in row) + BETWEEN
    width, height = 2 * MARGIN + 8 * (COLUMN + GAP) - GAP, y - BETWEEN + 24
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        "<title>The rooms of Conclave</title>",
        "<desc>Each room of src/ with its inner rooms, and which rooms it includes. Every arrow points down.</desc>",
        "<style>",
        "text{font-family:system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif;font-size:14px;"
        "fill:#1f2328}",
        ".title{font-size:22px;font-weight:600}.dim{fill:#656d76}.room{font-weight:600}.small{font-size:11.5px;fill:#4b535d}",
        ".chip{font-size:11.5px;text-anchor:middle}.arrow{fill:none;stroke:#57606a;stroke-width:1.4}",
        "</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>',
        f'<rect width="{width}" height="{height}" rx="8" fill="#fdfdfb"/>',
        f'<text x="{MARGIN}" y="40" class="title">The rooms</text>',
        f'<text x="{MARGIN}" y="62" class="dim">An arrow: includes. Arrows that follow from others are left out. In a room, '
        "inner rooms include at most those below.</text>",
        f'<text x="{MARGIN}" y="80" class="dim">Blue: to study algorithms. Green: to run them. Grey: both.</text>',
    ]
    for room, targets in sorted(reduced(rooms).items()):
        lines += [arrow(boxes[room], boxes[target]) for target in sorted(targets)]
    for room in sorted(boxes):
        lines += boxes[room].draw()
    return "\n".join([*lines, "</svg>", ""])


# ---- the table ----


def table(root):
    """The rooms, the highest first: what each is for, its inner rooms, and the rooms it includes."""
    rooms, inner = read_includes(root)
    yield "| room | what is in it | inner rooms, the lowest first | includes |"
    yield "| --- | --- | --- | --- |"
    for room in [room for row in levels(rooms) for room in row if room != PUBLIC]:
        inside = [name for row in reversed(levels(inner[room])) for name in row if name]
        includes = sorted(rooms[room] - {PUBLIC})
        yield (f"| `src/{room}/` | {ROOMS[room][0]} | {', '.join(f'`{name}`' for name in inside)} | "
               f"{', '.join(includes) or 'the public headers'} |")


def main():
    if sys.argv[1:] not in ([], ["--rewrite"]):
        sys.exit(__doc__)
    if not sys.argv[1:]:
        print(picture(ROOT), end="")
        return
    (ROOT / PICTURE).write_text(picture(ROOT), encoding="utf-8")
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    rows = "\n".join(table(ROOT))
    page = re.sub(r"(?s)(<!-- table: rooms -->\n).*?\n(<!-- end of table -->)", lambda found: found[1] + rows + "\n" + found[2],
                  page)
    (ROOT / PAGE).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
