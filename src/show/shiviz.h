// SPDX-License-Identifier: MIT
/*
 * A log for ShiViz (https://bestchai.bitbucket.io/shiviz), which draws runs from vector clocks: written as the run
 * goes. To be opened there with "Choose file": its first line tells ShiViz how to read it.
 */
#ifndef CONCLAVE_SHOW_SHIVIZ_H
#define CONCLAVE_SHOW_SHIVIZ_H

#include <stdio.h>

#include "core/error.h"
#include "core/event.h"
#include "core/scenario/scenario.h"
#include "show/clocks.h"

struct cv_shiviz {
    FILE *out;
    const struct cv_scenario *scenario;
    struct cv_clocks clocks;
    bool in_line;  /* the last event's text may go on */
    uint64_t kind; /* the message of the last event */
};

/* 0, CV_ENOMEM, or CV_EINPUT with a complaint if the group is too large for vector clocks; ended in all cases. */
int cv_shiviz_begin(struct cv_shiviz *shiviz, FILE *out, const struct cv_scenario *scenario,
                    struct cv_complaint *complaint);

/* The observer: context is the log. */
void cv_shiviz_event(void *context, const struct cv_event *event);

/* Ends the last line and frees. CV_ENOMEM if the log is not complete. */
int cv_shiviz_end(struct cv_shiviz *shiviz);

#endif
