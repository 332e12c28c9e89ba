// SPDX-License-Identifier: MIT
/* Reports a run when it is over: for a person, or as JSON. */
#ifndef CONCLAVE_SHOW_TEXT_REPORT_H
#define CONCLAVE_SHOW_TEXT_REPORT_H

#include <stdio.h>

#include "property/property.h"

/* What one of several workers did in a run that they shared. */
struct cv_report_part {
    uint64_t nodes, messages;
    double waited; /* seconds */
};

struct cv_report {
    const struct cv_run *run;
    const struct cv_judgement *judgement;
    const char *command; /* the command that repeats the run exactly */
    bool timed;          /* print `seconds`, the wall time of the run */
    double seconds;
    const struct cv_report_part *parts; /* beside `seconds`, if the run was shared; otherwise NULL */
    uint32_t part_count;
    bool transport; /* print the packets below the reliable channel */
    uint64_t packets;
    uint64_t lost;
    uint64_t duplicated;
    uint64_t retransmitted;
    bool colour;
};

void cv_report_text(FILE *out, const struct cv_report *report);
struct cv_json;
/* "properties":[...], as all reports have it. */
void cv_report_properties(struct cv_json *json, const struct cv_judgement *judgement, const char *unfinished);
void cv_report_json(FILE *out, const struct cv_report *report);

#endif
