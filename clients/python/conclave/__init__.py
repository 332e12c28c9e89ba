# SPDX-License-Identifier: MIT
"""Locks and leaders among processes, from a Conclave group.

    with conclave.Client() as client, client.lock("backup") as lock:
        for file in files:
            lock.check()  # LockLost, before anybody else can have it
            copy(file, lock.fence)

`conclave.aio` has the same for asyncio.
"""

from . import aio
from .errors import ConclaveError, Denied, Invalid, LockLost, NoQuorum, NoServer, Refused, WaitTimeout
from .observation import Leader, Member
from .recipes import LastRun
from .sync import Client, Hold, Inside, Latch, Membership, Observation, Run

__all__ = ["Client", "ConclaveError", "Denied", "Hold", "Inside", "Invalid", "LastRun", "Latch", "Leader", "LockLost", "Member",
           "Membership", "NoQuorum", "NoServer", "Observation", "Refused", "Run", "WaitTimeout", "aio"]
__version__ = "0.1.0"
