# SPDX-License-Identifier: MIT
"""Locks and leaders among processes, from a Conclave group.

    with conclave.Client() as client, client.lock("backup") as lock:
        for file in files:
            lock.check()  # LockLost, before anybody else can have it
            copy(file, lock.fence)

`conclave.aio` has the same for asyncio.
"""

from . import aio
from .aio import Leader
from .errors import ConclaveError, Denied, Invalid, LockLost, NoQuorum, NoServer, Refused, WaitTimeout
from .sync import Client, Hold, Observation

__all__ = ["Client", "ConclaveError", "Denied", "Hold", "Invalid", "Leader", "LockLost", "NoQuorum", "NoServer",
           "Observation", "Refused", "WaitTimeout", "aio"]
__version__ = "0.1.0"
