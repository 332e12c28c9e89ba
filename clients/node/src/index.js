// SPDX-License-Identifier: MIT
// Locks and leaders among processes, from a Conclave group.

import { Client } from "./client.js";

export { ConclaveError, Denied, Invalid, LockLost, NoQuorum, NoServer, Refused, WaitTimeout } from "./errors.js";
export { Hold } from "./hold.js";
export { Inside, Latch, Membership, Run } from "./recipes.js";
export { Client };
