// SPDX-License-Identifier: MIT
/*
 * Patterns of names, as a shell has them: `*` any bytes, `?` one byte, `[a-z]` and `[!a-z]` one of some, `\` takes away
 * the meaning of what follows. A `[` that is never closed stands for itself.
 *
 * Whoever chooses the name, or the pattern, chooses how long this takes; so it takes at most the product of both
 * lengths. Only the last `*` is ever tried again: an earlier one could not gain anything by taking more.
 */
#ifndef CONCLAVE_CORE_GLOB_H
#define CONCLAVE_CORE_GLOB_H

#include "core/parse.h"

#define CV_GLOB_BYTES 512u /* of a pattern that strangers give, at most */

bool cv_glob(struct cv_text pattern, struct cv_text name);

#endif
