// SPDX-License-Identifier: MIT
/*
 * A live run written down as it happens, line by line, so that what a killed node did is there to the end: a header,
 * then the events in the schema of `conclave sim --trace`, each with the name it is about; besides them what clients
 * got ("grant", "end"), and the views. Times are microseconds of the machine's clock that never goes back.
 */
#ifndef CONCLAVE_CLI_RECORD_H
#define CONCLAVE_CLI_RECORD_H

#include <stdio.h>

#include "live/member.h"
#include "live/settings/settings.h"

struct record {
    FILE *file;
    const struct cv_settings *settings;
    const struct cv_roster *roster; /* of the member, once there is one */
    struct cv_recorder recorder;
    uint64_t marked; /* when the last mark was written */
    uint64_t asked;  /* when the node was asked to end: what its peers do about that is no part of the run */
};

int record_open(struct record *record, const char *path, const struct cv_settings *settings,
                struct cv_complaint *complaint);
/* Says that the node still runs, once a second: whatever happened until then has been written down. */
void record_mark(struct record *record);
void record_close(struct record *record);

#endif
