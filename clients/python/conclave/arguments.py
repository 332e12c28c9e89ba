# SPDX-License-Identifier: MIT
"""What callers say, before a server hears of it: an argument that makes no sense is Invalid."""

from __future__ import annotations

import math
import numbers
import operator
import sys
from typing import Any, Iterable

from .errors import Invalid

VALUE_BYTES = 1024


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


def seconds(what: str, given: Any, least: float = 0, most: float = sys.float_info.max) -> Any:
    if not isinstance(given, numbers.Real) or not least <= given <= most:
        raise Invalid(f"{what} {given!r}: expected seconds, {least} or more")
    return given


def waiting(given: Any) -> float:
    """None is for ever, too."""
    return math.inf if given is None else seconds("wait", given, 0, math.inf)


def whole(what: str, given: Any) -> int:
    try:
        return operator.index(given)
    except TypeError:
        raise Invalid(f"{what} {given!r}: expected a whole number") from None


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
