// SPDX-License-Identifier: MIT
/* How a leader is shown: by `conclave leader`, and by `conclave elect --observe`. */
#ifndef CONCLAVE_CLI_HOLD_LEADER_COMMAND_H
#define CONCLAVE_CLI_HOLD_LEADER_COMMAND_H

#include <conclave/conclave.h>

#define LEADER_SHOWN_BYTES (4u * CONCLAVE_VALUE_BYTES + 1u) /* shown, a byte may become four */

/* The value as one line that is safe on a terminal; NULL if there is none. */
const char *leader_value(bool has_value, const char *value, size_t length, char shown[LEADER_SHOWN_BYTES]);
/* A line of JSON. `leader` is empty if nobody leads. */
void leader_json(const char *name, const char *leader, uint64_t fence, const char *value);

#endif
