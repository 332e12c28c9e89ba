// SPDX-License-Identifier: MIT
/* What is wrong with a cluster. Every member is asked, their answers are put side by side, and what does not fit is
 * explained. */
#ifndef CONCLAVE_CLI_DOCTOR_DOCTOR_H
#define CONCLAVE_CLI_DOCTOR_DOCTOR_H

#include "cli/doctor/doctor_gather.h"

enum doctor_severity { DOCTOR_WELL, DOCTOR_WARNING, DOCTOR_PROBLEM };

struct doctor_finding {
    const char *check;
    enum doctor_severity severity;
    char *text;
    const char *remedy; /* NULL where all is well */
};

struct doctor_report {
    struct doctor_finding *findings; /* the most important first */
    size_t count;
    bool healthy;
};

/* What counts as too long, and as too many. */
struct doctor_limits {
    uint64_t hold_ms;
    uint64_t waiting;
};

/* For the checks: another finding, and its words as printf has them. `remedy` may be NULL. */
void doctor_find(struct doctor_report *report, const char *check, enum doctor_severity severity, const char *remedy,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* What each check adds: what is wrong, or that all is well. */
typedef void doctor_check(const struct doctor_group *group, const struct doctor_limits *limits,
                          struct doctor_report *report);

#endif
