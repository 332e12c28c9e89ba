// SPDX-License-Identifier: MIT
/* Texts that clients publish, of any bytes, in JSON. */
#ifndef CONCLAVE_CLI_HOLD_HOLD_JSON_H
#define CONCLAVE_CLI_HOLD_HOLD_JSON_H

#include <conclave/conclave.h>

#include "core/parse.h"
#include "show/json.h"

#define HOLD_SHOWN_BYTES (4u * CONCLAVE_VALUE_BYTES + 1u) /* shown, a byte may become four */

/*
 * The text itself, if it is UTF-8; a byte that is no part of it becomes \\xff, which reads as these four characters. A
 * text that starts at NULL is null.
 */
void hold_json(struct cv_json *json, const char *key, struct cv_text text);

#endif
