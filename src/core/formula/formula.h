// SPDX-License-Identifier: MIT
/*
 * Evaluates a formula as the textbooks print it: "2n + δ", "n(n+1)/2", "2n⌊log₂ n⌋ + n", "max(1, r−1)(n−1)".
 *
 *   expression   term { (+ | - | −) term }
 *   term         signed { (* | · | ⋅ | × | /) signed | power }     without a sign between them: multiplied
 *   signed       { + | - | − } power
 *   power        value [ superscript digit ] [ ^ signed ]
 *   value        number | name | ( expression ) | ⌊ expression ⌋ | ⌈ expression ⌉
 *              | (max | min)( expression, ... ) | (log₂ | log2 | sqrt | √ | H) (( expression ) | power)
 *
 * H is the harmonic number. Products and quotients are taken from left to right: 1/2n is n/2. A number needs a sign
 * before it, so that "10 000" is a mistake and not 10 times 0.
 *
 * A name is a run of letters, ASCII or not. The reader takes the longest beginning of the run that is a function or
 * known to the lookup, and reads the rest anew: "nE" is n·E unless there is an nE.
 */
#ifndef CONCLAVE_CORE_FORMULA_FORMULA_H
#define CONCLAVE_CORE_FORMULA_FORMULA_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Looks up a name (`length` bytes, no NUL after them) and its value; false if there is no such name. */
struct cv_formula_names {
    bool (*lookup)(void *context, const char *name, size_t length, double *value);
    void *context;
};

/* 0, or CV_EINPUT and a complaint with the place of the mistake. `names` may be NULL. The value is always finite. */
int cv_formula_evaluate(const char *text, const struct cv_formula_names *names, double *value,
                        struct cv_complaint *complaint);

#endif
