# SPDX-License-Identifier: MIT
import asyncio, conclave

async def main():
    async with conclave.aio.Client() as client, client.lock("backup") as lock:
        for file in ["a", "b", "c"]:  # if the lock is lost, this is cancelled, and LockLost raised
            await asyncio.sleep(0.1)
            print("copying", file, "with fence", lock.fence)

asyncio.run(main())
