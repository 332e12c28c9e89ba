// SPDX-License-Identifier: MIT
/*
 * Patterns of names, as a shell has them: `*` any bytes, `?` one byte, `[a-z]` and `[!a-z]` one of some, `\` takes away
 * the meaning of what follows. A `[` that is never closed stands for itself.
 *
 * Clients choose names and patterns, and so how long this takes. It takes at most the product of both lengths. Only the
 * last `*` is ever tried again: an earlier one could not gain anything by taking more.
 *
 * A pattern that is compared with very many names is prepared first. Then all places that a name may have reached in it
 * go on together, a bit each, and a byte of the name costs a few operations on words, whatever the pattern is.
 */
#ifndef CONCLAVE_CORE_GLOB_H
#define CONCLAVE_CORE_GLOB_H

#include "core/parse.h"

#define CV_GLOB_BYTES 512u /* of a pattern that strangers give, at most */

bool cv_glob(struct cv_text pattern, struct cv_text name);

#define CV_GLOB_WORDS (CV_GLOB_BYTES / 64 + 1)

/* A bit for each place between the elements of a pattern. */
struct cv_glob_places {
    uint64_t word[CV_GLOB_WORDS];
};

struct cv_glob_prepared {
    struct cv_glob_places fits[256]; /* the element after the place takes this byte */
    struct cv_glob_places stays;     /* a star stands there: any byte leads back to it */
    size_t elements;
    size_t words; /* that are in use */
};

/* False if the pattern is longer than CV_GLOB_BYTES. */
bool cv_glob_prepare(struct cv_glob_prepared *prepared, struct cv_text pattern);
bool cv_glob_fits(const struct cv_glob_prepared *prepared, struct cv_text name);

#endif
