// SPDX-License-Identifier: MIT
/* The name by which servers show a process that holds or waits. */
#ifndef CONCLAVE_CLI_HOLD_HOLD_NAME_H
#define CONCLAVE_CLI_HOLD_HOLD_NAME_H

#include <conclave/conclave.h>

/*
 * Writes `user@host:pid:command`: the command's own name without its arguments, which may be secret. Each part is cut
 * to its room, so that the process id, which tells two of them apart, is always there.
 */
void hold_name(char name[CONCLAVE_CLIENT_BYTES + 1], const char *command);

#endif
