# SPDX-License-Identifier: MIT
import conclave

with conclave.Client() as client, client.lock("backup") as lock:
    for file in ["a", "b", "c"]:
        lock.check()  # raises LockLost, before anybody else can have it
        print("copying", file, "with fence", lock.fence)
