# SPDX-License-Identifier: MIT
"""What callers say, before a server hears of it: an argument that makes no sense is Invalid."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any, Iterable

from .errors import Invalid

VALUE_BYTES = 1024
# What servers accept at most.
MOST_PERMITS, MOST_PARTIES, MOST_NUMBERS, MOST_PRIORITY = 1000000, 500, 4096, 2**32 - 1
LONGEST = 2**40 // 1000  # seconds


def text(name: Any) -> str:
    if not isinstance(name, str):
        raise Invalid(f"a name is a str, not {type(name).__name__}")
    try:
        encoded = name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise Invalid(f"a name is text: {error}") from error
    if not 1 <= len(encoded) <= 512 or any(byte < 32 or byte == 127 for byte in encoded):
        raise Invalid("a name has 1 to 512 bytes and no control characters")
    return name


def texts(names: Iterable[str]) -> list[str]:
    """A str is iterable, too: its letters would be the names."""
    if isinstance(names, (str, bytes)):
        raise Invalid(f"several names at once are a list, not {type(names).__name__}")
    return [text(name) for name in names]


def brief(given: Any) -> str:
    shown = repr(given)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def seconds(what: str, given: Any, least: float = 0, most: float = LONGEST) -> Any:
    if not isinstance(given, numbers.Real) or not least <= given <= most:
        raise Invalid(f"{what} {brief(given)}: expected seconds, {least} to {most}")
    return given


def waiting(given: Any) -> float:
    """None is for ever, and so is infinity."""
    return math.inf if given is None or given == math.inf else seconds("wait", given)


def lasting(ttl: Any) -> None:
    """Servers count milliseconds: less than one would be a hold without a time to live."""
    if seconds("ttl", ttl) and ttl < 0.001:
        raise Invalid(f"ttl {brief(ttl)}: expected seconds, 0.001 or more, or 0 for none")


def whole(what: str, given: Any, least: int, most: int) -> int:
    try:
        number = operator.index(given)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise Invalid(f"{what} {brief(given)}: expected a whole number, {least} to {most}")
    return number


def value(given: Any) -> list:
    """As an option of a command."""
    if given is None:
        return []
    encoded = given if isinstance(given, bytes) else str(given).encode("utf-8", "surrogateescape")
    if len(encoded) > VALUE_BYTES:
        raise Invalid(f"a value of {len(encoded)} bytes: expected at most {VALUE_BYTES}")
    return ["VALUE", given]


def callbacks(**given: Any) -> None:
    """A mistake here would show when it is called: when a lock was lost."""
    for what, callback in given.items():
        if callback is not None and not callable(callback):
            raise Invalid(f"{what} {callback!r}: expected a function")


def milliseconds(time: float) -> int:
    return max(0, round(time * 1000))
