// SPDX-License-Identifier: MIT
/*
 * Records a live run line by line, so that the file of a killed node is complete up to its end. It has a header, then
 * events in the schema of `conclave sim --trace`, each with its lock or election, what clients got ("grant", "end"),
 * and the views. Times are microseconds of the monotonic clock. What ended with a lease, before the node noticed, has
 * the time of that as "ended".
 */
#ifndef CONCLAVE_CLI_RECORD_H
#define CONCLAVE_CLI_RECORD_H

#include <stdio.h>

#include "live/member.h"
#include "live/settings/settings.h"

struct record {
    FILE *file;
    const struct cv_settings *settings;
    const struct cv_member *member;
    struct cv_recorder recorder;
    uint64_t marked; /* when the last sign of life was written */
    uint64_t asked;  /* when the node was asked to end: later events do not count */
};

int record_open(struct record *record, const char *path, const struct cv_settings *settings,
                struct cv_complaint *complaint);
/* Writes once a second that the node still runs: the file is complete until then. */
void record_mark(struct record *record);
void record_close(struct record *record);

#endif
