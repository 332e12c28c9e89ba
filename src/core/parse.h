// SPDX-License-Identifier: MIT
/* Reads numbers and lists that people write. Strict: the whole text must have the expected form. */
#ifndef CONCLAVE_CORE_PARSE_H
#define CONCLAVE_CORE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of text that need not end with a NUL. */
struct cv_text {
    const char *start;
    size_t length;
};

struct cv_text cv_text(const char *string);
bool cv_text_is(struct cv_text text, const char *word);

/* Takes the part before the first `separator` off the text; all of it, if there is none. False at the end. */
bool cv_text_take(struct cv_text *text, char separator, struct cv_text *piece);

/* Splits at the first `separator`; false if there is none. */
bool cv_text_split(struct cv_text text, char separator, struct cv_text *before, struct cv_text *after);

/* "A..B" into its two ends; false if there are no dots. */
bool cv_text_range(struct cv_text text, struct cv_text *low, struct cv_text *high);

/* A decimal number of at most `largest`. */
bool cv_parse_number(struct cv_text text, uint64_t largest, uint64_t *number);

/* A probability, 0..1 in decimal notation, times 2^32. */
bool cv_parse_probability(struct cv_text text, uint64_t *p_32);

/* A value as a complaint shows it: one line, and short enough that the rest of the sentence fits. */
struct cv_brief {
    char text[72];
};
struct cv_brief cv_brief(const char *value);
struct cv_brief cv_brief_text(struct cv_text value);

#endif
