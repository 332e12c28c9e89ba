// SPDX-License-Identifier: MIT
/* Requests in a given order: would a step differ if the times of the requests were others? equal_times.c says how. */
#ifndef CONCLAVE_CHECK_STEP_EQUAL_TIMES_H
#define CONCLAVE_CHECK_STEP_EQUAL_TIMES_H

#include "check/step/runner.h"

/* A step to try with other times. */
struct trial {
    struct runner *runner;           /* takes the step, in the setting of the step */
    struct node_state *scratch;      /* as long as the longest node state */
    const struct node_state *before; /* the node state before the step */
    size_t length;                   /* of `before` */
    enum cv_decision_type type;
    uint32_t argument;
    uint32_t alive;
    const struct cv_message *message; /* NULL: it is no delivery */
};

/* Would it differ if requests that follow each other, with ascending ids, had the same time? */
bool equal_times_matter(const struct trial *trial);

/* Would it differ if the times were other numbers in the same order? */
bool times_matter(const struct trial *trial);

#endif
