# SPDX-License-Identifier: MIT
"""What can go wrong. Each error has a `kind`, the same word in every client of Conclave."""


class ConclaveError(Exception):
    """All errors of this package."""

    kind = "error"


class WaitTimeout(ConclaveError, TimeoutError):
    """Somebody else held it for as long as the caller wanted to wait."""

    kind = "timeout"


class LockLost(ConclaveError):
    """It is not held, or not any more."""

    kind = "lost"


class NoServer(ConclaveError, ConnectionError):
    """No server can be reached."""

    kind = "no-server"


class NoQuorum(ConclaveError):
    """The servers have no majority."""

    kind = "no-quorum"


class Denied(ConclaveError, PermissionError):
    """The server does not allow it."""

    kind = "denied"


class Refused(ConclaveError):
    """The server answered with another error."""

    kind = "refused"


class Invalid(ConclaveError, ValueError):
    """An argument makes no sense."""

    kind = "invalid"


WORDS = {"LOST": LockLost, "NOQUORUM": NoQuorum, "LOADING": NoQuorum, "NOAUTH": Denied, "WRONGPASS": Denied, "NOPERM": Denied}


def of_reply(text):
    """The error that a server's line means."""
    return WORDS.get(text.split(" ", 1)[0], Refused)(text)
