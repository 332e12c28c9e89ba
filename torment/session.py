# SPDX-License-Identifier: MIT
"""A client's session at a node. It records every call and every answer."""

import collections
import itertools

import resp
from history import now_us

SECOND = 1000000
PATIENCE_S = 8  # beyond a call's own WAIT; the judge asks why a call took longer

numbers = itertools.count(1)


class Silent(Exception):
    """No answer came in time."""


class Call:
    def __init__(self, words, patience_us, answered):
        self.number = next(numbers)
        self.words = words
        self.ends_us = now_us() + patience_us
        self.answered = answered  # called with the call and the answer
        self.asked_us = self.answered_us = 0
        self.answer = None

    def result(self):
        """The answer as JSON has it."""
        return str(self.answer) if isinstance(self.answer, resp.Refused) else self.answer


class Session:
    def __init__(self, history, node, address, protocol=3, patience_s=PATIENCE_S, whole=False):
        """`patience_s`: shorter for a client in a hurry. A call that it does not wait for is no violation.
        `whole`: the history gets every word and every answer."""
        self.history, self.node, self.patience_s, self.whole = history, node, patience_s, whole
        self.silence = "silent" if patience_s >= PATIENCE_S else "left"  # how an abandoned call ends
        self.calls = collections.deque()  # calls without an answer yet; answers come in this order
        self.pushes = []
        self.connection = resp.Connection(address, min(patience_s, 2.0))
        try:
            self.ask("HELLO", protocol)
        except (resp.Gone, Silent) as error:
            self.close("gone" if isinstance(error, resp.Gone) else self.silence)
            raise

    def say(self, *words, wait_ms=0, answered=None):
        """Sends a command; `attend` takes the answer."""
        call = Call(words, int(self.patience_s * SECOND) + wait_ms * 1000, answered)
        call.asked_us = self.history.note("ask", call=call.number, node=self.node, command=words[0],
                                          name=words[1] if len(words) > 1 else None)
        self.calls.append(call)
        self.connection.say(*words)
        return call

    def finish(self, call, outcome, answer=None):
        call.answer = answer
        fence = answer[0] if isinstance(answer, list) and outcome == "granted" else answer  # with DEADLINE: and how long
        facts = {"fence": fence, "shared": "SHARED" in call.words} if outcome == "granted" else {}
        if self.whole:
            facts |= {"words": call.words[1:], "result": call.result()}
        call.answered_us = self.history.note("answer", call=call.number, node=self.node, command=call.words[0],
                                             name=call.words[1] if len(call.words) > 1 else None, outcome=outcome,
                                             asked=call.asked_us, **facts)

    def take(self, item):
        if isinstance(item, resp.Push):
            self.pushes.append(item)
            return
        call = self.calls.popleft()
        if isinstance(item, resp.Refused):
            outcome = "refused"
        elif item is None:
            outcome = "nil"
        else:
            outcome = "granted" if call.words[0] in ("LOCK", "CAMPAIGN") else "done"
        self.finish(call, outcome, item)
        if call.answered:
            call.answered(call)

    def attend(self, until_us):
        """Handles what arrives until then; true if something did."""
        if self.calls:
            until_us = min(until_us, self.calls[0].ends_us)
        items = self.connection.hear((until_us - now_us()) / SECOND)
        for item in items:
            self.take(item)
        if self.calls and now_us() >= self.calls[0].ends_us:
            raise Silent
        return bool(items)

    def settle(self):
        """Waits until every call is answered."""
        while self.calls:
            self.attend(self.calls[0].ends_us)

    def ask(self, *words, wait_ms=0):
        call = self.say(*words, wait_ms=wait_ms)
        while not call.answered_us:
            self.attend(call.ends_us)
        return call

    def close(self, why="gone"):
        """Calls without an answer end with the connection."""
        while self.calls:
            self.finish(self.calls.popleft(), why)
        self.connection.close()
