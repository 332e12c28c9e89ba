// SPDX-License-Identifier: MIT
/*
 * Requests in a given order: would it make a difference to a step if their times were others? See tie.c.
 */
#ifndef CONCLAVE_CHECK_STEP_EQUAL_TIMES_H
#define CONCLAVE_CHECK_STEP_EQUAL_TIMES_H

#include "check/step/handler.h"

/* A step to be tried with other times. */
struct trial {
    struct host *host;          /* that takes it, in the setting that the step belongs to */
    struct node_state *scratch; /* as long as the longest node */
    const struct node_state *before;
    size_t length; /* of the node */
    enum cv_decision_type type;
    uint32_t argument, alive;
    const struct cv_message *message; /* NULL: it is no delivery */
};

/* Would it be another if some that follow each other, by ascending ids, had the same time instead? */
bool equal_times_matter(const struct trial *trial);

/* Would it be another if times were other numbers in the same order? */
bool times_matter(const struct trial *trial);

#endif
