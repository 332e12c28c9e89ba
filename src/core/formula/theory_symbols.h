// SPDX-License-Identifier: MIT
/* Formulas in words: whose they are, and what their variables stand for. */
#ifndef CONCLAVE_CORE_FORMULA_THEORY_SYMBOLS_H
#define CONCLAVE_CORE_FORMULA_THEORY_SYMBOLS_H

#include <stddef.h>

#include <conclave/algorithm.h>

/* "text", "paper" or "derived"; and as a report says it: "the text", "the paper", "derived". */
const char *cv_source_name(const struct cv_cost *cost);
const char *cv_source_phrase(const struct cv_cost *cost);

/*
 * What the variables of a formula mean, but for n: "q live nodes at least as good as the caller; …". Empty if there are
 * none to explain.
 */
void cv_theory_symbols(const struct cv_algorithm *algorithm, const char *formula, char *text, size_t size);

#endif
