// SPDX-License-Identifier: MIT
/*
 * Patterns of names, as a shell has them: `*` any bytes, `?` one byte, `[a-z]` and `[!a-z]` one byte of a set, `\`
 * quotes the next byte. A `[` that is never closed stands for itself.
 *
 * Clients choose names and patterns, and thereby the time of a match. It is at most the product of both lengths. Only
 * the last `*` is ever tried again: an earlier one cannot gain anything by taking more bytes.
 *
 * A pattern that is compared with very many names is prepared first. Then the matcher keeps all places of the pattern
 * that a name may have reached, a bit for each, and a byte of the name costs a few operations on words, whatever the
 * pattern is.
 */
#ifndef CONCLAVE_CORE_GLOB_H
#define CONCLAVE_CORE_GLOB_H

#include "core/parse.h"

#define CV_GLOB_BYTES 512u /* the longest pattern of a client */

bool cv_glob(struct cv_text pattern, struct cv_text name);

#define CV_GLOB_WORDS (CV_GLOB_BYTES / 64 + 1)

/* A bit for each place between the elements of a pattern. */
struct cv_glob_places {
    uint64_t word[CV_GLOB_WORDS];
};

struct cv_glob_prepared {
    struct cv_glob_places fits[256]; /* by byte: the places whose next element matches it */
    struct cv_glob_places stays;     /* the places with a star: any byte leads back to them */
    size_t elements;
    size_t words; /* words of bits in use */
};

/* False if the pattern is longer than CV_GLOB_BYTES. */
bool cv_glob_prepare(struct cv_glob_prepared *prepared, struct cv_text pattern);
bool cv_glob_fits(const struct cv_glob_prepared *prepared, struct cv_text name);

#endif
