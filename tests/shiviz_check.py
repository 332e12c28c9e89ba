#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads a log as ShiViz does and checks its vector clocks, more strictly than ShiViz itself.

usage: shiviz_check.py FILE...       exit 1 if ShiViz would refuse a file, or draw what did not happen
       shiviz_check.py --self-test   are logs with one thing wrong refused?

An uploaded file tells on its first line how it is to be read, on its second how several runs are told apart. Then:
  - each host's own count begins at 1 and rises by 1 with each of its events, in the order of the log;
  - a count of another host is that of an event that is there, and stands in the log before;
  - an event that knows of another knows all that the other one knew; new knowledge comes from one event, and completely;
  - no two events know of each other.
"""

import json
import re
import sys


def read(text):
    """(host, clock, event) of every event, as ShiViz finds them."""
    lines = text.split("\n", 2)
    assert len(lines) == 3, "no log after the first two lines"
    pattern, delimiter, log = lines
    assert delimiter.strip() == "", f"one run, but a delimiter: {delimiter}"
    # ShiViz anchors the expression and knows JavaScript's way to name groups.
    expression = re.compile("^" + re.sub(r"\(\?<(\w+)>", r"(?P<\1>", pattern.replace("{", r"\{").replace("}", r"\}"))
                            + "$", re.MULTILINE)
    events, end = [], 0
    for match in expression.finditer(log):
        assert log[end:match.start()].strip() == "", f"not read: {log[end:match.start()]!r}"
        end = match.end()
        clock = json.loads(match["clock"])
        events.append((match["host"], {host: count for host, count in clock.items() if count}, match["event"]))
    assert log[end:].strip() == "", f"not read: {log[end:]!r}"
    return events


def check_event(host, clock, before, seen):
    assert host and not re.search(r"\s", host), f"no name of a host: {host!r}"
    assert host in clock, "its own count is missing"
    assert clock[host] == before.get(host, 0) + 1, f"its own count goes from {before.get(host, 0)} to {clock[host]}"
    known = dict(before)
    for other, count in clock.items():
        assert isinstance(count, int) and count >= 1, f"{other} counts {count}"
        if other == host:
            continue
        assert count >= before.get(other, 0), f"the clock of {other} runs backwards"
        assert (other, count) in seen, f"no event {count} of {other} before it"
        theirs = seen[other, count]
        assert theirs.get(host, 0) < clock[host], f"{other} knows it already"
        if count > before.get(other, 0):
            for third, what in theirs.items():
                known[third] = max(known.get(third, 0), what)
    known[host] = clock[host]
    assert known == clock, f"should know {known}"


def check(text):
    """The number of events; an AssertionError tells a mistake."""
    seen, last = {}, {}
    events = read(text)
    assert events, "no events"
    for number, (host, clock, event) in enumerate(events, 1):
        try:
            assert event.strip(), "no text"
            check_event(host, clock, last.get(host, {}), seen)
        except AssertionError as error:
            raise AssertionError(f"event {number}, {host} {clock} {event}: {error}") from None
        seen[host, clock[host]] = clock
        last[host] = clock
    return len(events)


def self_test():
    head = "(?<host>\\S*) (?<clock>{.*})\\n(?<event>.*)\n\n"
    good = 'a {"a":1}\nx\nb {"a":1, "b":1}\ny\n'
    assert check(head + good) == 2
    for bad in ('a {"a":2}\nx\n', 'a {"b":1}\nx\n', 'a {"a":1, "b":1}\nx\n', 'a {"a":1}\nx\na {"a":1}\nx\n',
                good + 'c {"b":1, "c":1}\nz\n', good + 'b {"b":2}\nz\n', good + "rubbish\n"):
        try:
            check(head + bad)
        except AssertionError:
            continue
        raise AssertionError(f"accepted: {bad!r}")
    return 0


def main(paths):
    if paths == ["--self-test"]:
        return self_test()
    status = 0
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                print(f"{path}: {check(file.read())} events")
        except (AssertionError, OSError, ValueError) as error:
            print(f"{path}: {error}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
