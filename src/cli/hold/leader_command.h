// SPDX-License-Identifier: MIT
/* How a leader is shown in JSON: by `conclave leader`, and by `conclave elect --observe`. */
#ifndef CONCLAVE_CLI_HOLD_LEADER_COMMAND_H
#define CONCLAVE_CLI_HOLD_LEADER_COMMAND_H

#include <conclave/conclave.h>

#include "core/parse.h"

/* A line of JSON. `leader` is empty if nobody leads; `value` starts at NULL if it publishes none. */
void leader_json(const char *name, const char *leader, uint64_t fence, struct cv_text value);

#endif
