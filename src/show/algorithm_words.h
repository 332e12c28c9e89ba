// SPDX-License-Identifier: MIT
/* What an algorithm's table says of it, in words and as JSON. */
#ifndef CONCLAVE_SHOW_ALGORITHM_WORDS_H
#define CONCLAVE_SHOW_ALGORITHM_WORDS_H

#include <conclave/algorithm.h>

#include "show/json.h"

/* The word for a bit; a list of them ends with one that has no word. */
struct cv_bit_word {
    uint32_t bit;
    const char *word;
};

extern const struct cv_bit_word cv_assumption_words[];
extern const struct cv_bit_word cv_claim_words[];

/* "key":["word",…] */
void cv_json_bits(struct cv_json *json, const char *key, const struct cv_bit_word *words, uint32_t bits);

/* name, title, citation, problem, topology in the caller's word, assumes, claims and kinds. */
void cv_json_algorithm(struct cv_json *json, const struct cv_algorithm *algorithm, const char *topology);

#endif
