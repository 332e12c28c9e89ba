// SPDX-License-Identifier: MIT
/* A comparison of algorithms for programs. */
#ifndef CONCLAVE_SHOW_COMPARISON_DATA_H
#define CONCLAVE_SHOW_COMPARISON_DATA_H

#include "show/comparison.h"

void cv_compare_json(FILE *out, const struct cv_comparison *comparison);
void cv_compare_csv(FILE *out, const struct cv_comparison *comparison);

#endif
