# SPDX-License-Identifier: MIT
"""A strict reader of Prometheus' text format: any deviation from its documentation raises ValueError."""

import math
import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(,?)')
UNITS = {"ms", "us", "milliseconds", "microseconds", "minutes", "hours", "days", "kb", "mb", "percent"}


def read_sample(line):
    """name, {label: value}, number"""
    name = NAME.match(line)
    if not name:
        raise ValueError(f"no name: {line}")
    rest, labels = line[name.end():], {}
    if rest.startswith("{"):
        rest = rest[1:]
        while not rest.startswith("}"):
            label = LABEL.match(rest)
            if not label or label[1] in labels:
                raise ValueError(f"bad labels: {line}")
            labels[label[1]] = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], label[2])
            rest = rest[label.end():]
            if not label[3] and not rest.startswith("}"):
                raise ValueError(f"bad labels: {line}")
        rest = rest[1:]
    if not re.fullmatch(r" \S+", rest):
        raise ValueError(f"expected one space and a number: {line}")
    return name[0], labels, float(rest)


def family_of(name, types):
    for suffix in ("_bucket", "_sum", "_count"):
        base = name.removesuffix(suffix)
        if base != name and types.get(base) == "histogram":
            return base
    return name


def check_histogram(name, samples):
    buckets = [(float(labels["le"]), value) for n, labels, value in samples if n == name + "_bucket"]
    count, = (value for n, _, value in samples if n == name + "_count")
    total, = (value for n, _, value in samples if n == name + "_sum")
    if buckets != sorted(buckets) or [v for _, v in buckets] != sorted(v for _, v in buckets):
        raise ValueError(f"{name}: buckets that fall")
    if buckets[-1] != (math.inf, count) or total < 0:
        raise ValueError(f"{name}: the last bucket is not the count")


def parse(text):
    """{(name, (label, value)...): number}"""
    if not text.endswith("\n"):
        raise ValueError("no line feed at the end")
    types, helped, seen, samples, family = {}, set(), {}, {}, None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            if name in helped or len(line.split(" ", 3)) < 4:
                raise ValueError(f"HELP twice, or of nothing: {line}")
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            if name in types or kind not in ("counter", "gauge", "histogram", "summary", "untyped"):
                raise ValueError(line)
            types[name] = kind
            if (kind == "counter") != name.endswith("_total"):
                raise ValueError(f"counters, and only they, end in _total: {line}")
            if UNITS & set(name.split("_")):
                raise ValueError(f"not a base unit: {name}")
        else:
            name, labels, value = read_sample(line)
            this = family_of(name, types)
            if this not in types or this not in helped or (this != family and this in seen):
                raise ValueError(f"no HELP and TYPE before it, or not in one piece: {line}")
            key = (name, *sorted(labels.items()))
            if key in samples or (types[this] == "counter" and value < 0):
                raise ValueError(f"twice, or below 0: {line}")
            family = this
            seen.setdefault(this, []).append((name, labels, value))
            samples[key] = value
    for name, kind in types.items():
        if kind == "histogram":
            check_histogram(name, seen[name])
    return samples


BROKEN = [
    "a_total 1\n",
    "# HELP a b\n# TYPE a gauge\na 1",
    "# HELP a b\n# TYPE a counter\na 1\n",
    "# HELP a_ms b\n# TYPE a_ms gauge\na_ms 1\n",
    "# HELP a b\n# TYPE a gauge\na  1\n",
    "# HELP a b\n# TYPE a gauge\na{x=\"\"\"} 1\n",
    "# HELP a b\n# TYPE a gauge\na{x=\"\\t\"} 1\n",
    "# HELP a b\n# TYPE a gauge\na 1\na 2\n",
    "# HELP a b\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
]


def self_test():
    for text in BROKEN:
        try:
            parse(text)
        except ValueError:
            continue
        raise AssertionError(f"not found to be broken: {text!r}")
    assert parse('# HELP a b\n# TYPE a gauge\na{x="\\\\\\"\\n"} 1.5\n') == {("a", ("x", '\\"\n')): 1.5}
