# SPDX-License-Identifier: MIT
"""A lock that was granted to a session: how long it surely lasts, and whether it still does."""

import sys

from history import now_us
from session import SECOND
from ttl_hold import SURE, Over

LOOK_US = SECOND // 2  # between RENEWs of a lock that lasts for ever


class Hold:
    def __init__(self, session, kind, name, grant, fence=None):
        """`grant`: the call that was answered with the fence, or with a list that has it: then `fence` says which."""
        self.session, self.kind, self.name = session, kind, name
        self.fence = grant.answer if fence is None else fence
        self.shared = "SHARED" in grant.words
        self.until_us = None  # None: for ever
        self.asked_us = self.renew_us = 0
        self.lost = False
        self.renewed(session.ask("RENEW", name, self.fence))
        if self.lost:
            raise Over("lost")
        self.history = session.history
        permits = {"permits": grant.words[grant.words.index("PERMITS") + 1]} if "PERMITS" in grant.words else {}
        self.history.note("hold", name=name, kind=kind, fence=self.fence, shared=self.shared, node=session.node,
                          confirmed=self.asked_us, until=self.until_us, **permits)

    def renewed(self, call):
        self.lost = not isinstance(call.answer, int)
        if self.lost:
            return
        self.asked_us = call.asked_us
        if call.answer >= 0:
            self.until_us = call.asked_us + int(call.answer * 1000 * SURE)
        self.renew_us = call.asked_us + (call.answer * 1000 // 3 if call.answer >= 0 else LOOK_US)

    def rest(self, seconds):
        """Lets time pass, and handles answers meanwhile."""
        end_us = now_us() + int(seconds * SECOND)
        while True:
            moment = now_us()
            if self.until_us is not None and moment >= self.until_us:
                raise Over("lease")
            if moment >= self.renew_us:
                self.renew_us = sys.maxsize  # until the answer
                self.session.say("RENEW", self.name, self.fence, answered=self.renewed)
            something = self.session.attend(min(end_us, self.renew_us, self.until_us or end_us))
            if self.lost or ["lost", self.name, self.fence] in self.session.pushes:
                raise Over("lost")
            if not something and moment >= end_us:
                return

    def end(self, why):
        """The hold ended with its time, so later events do not count as its loss."""
        moment = now_us()
        self.history.note("end", name=self.name, kind=self.kind, fence=self.fence, why=why,
                          ended=moment if self.until_us is None else min(moment, self.until_us))
