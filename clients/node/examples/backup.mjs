// SPDX-License-Identifier: MIT
import { Client } from "conclave-client";

await new Client().withLock("backup", async (lock) => {
  for (const file of ["a", "b", "c"]) {
    lock.check(); // throws LockLost, before anybody else can have it; lock.signal tells at once
    console.log("copying", file, "with fence", lock.fence);
  }
});
