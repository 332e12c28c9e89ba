// SPDX-License-Identifier: MIT
/*
 * A space-time diagram for the terminal: a column per process, time downwards, a message as an arrow in the row in
 * which it is heard.
 *
 *     t   3             32              5             80
 *     0   ◆ calls       │               │              │
 *     1   ●─election 3─▶◆               │              │
 *     2   │             ●─election 32──▶│              │
 */
#ifndef CONCLAVE_SHOW_TEXT_DIAGRAM_H
#define CONCLAVE_SHOW_TEXT_DIAGRAM_H

#include <stdio.h>

#include "property/run.h"
#include "show/history.h"

struct cv_diagram_options {
    unsigned width; /* no line is wider, in columns of the terminal */
    bool colour;
    bool states; /* mark what changes in them, if the history has watched */
};

/* Draws the run, or a summary of it if it does not fit. 0 or CV_ENOMEM. */
int cv_diagram_write(FILE *out, const struct cv_scenario *scenario, const struct cv_history *history,
                     const struct cv_diagram_options *options);

#endif
