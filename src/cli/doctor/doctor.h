// SPDX-License-Identifier: MIT
/*
 * Finds out what is wrong with a cluster. It asks every member, compares the answers, and explains what does not fit.
 */
#ifndef CONCLAVE_CLI_DOCTOR_DOCTOR_H
#define CONCLAVE_CLI_DOCTOR_DOCTOR_H

#include "cli/doctor/doctor_gather.h"

enum doctor_severity { DOCTOR_WELL, DOCTOR_WARNING, DOCTOR_PROBLEM };

struct doctor_finding {
    const char *check;
    enum doctor_severity severity;
    char *text;
    const char *remedy; /* NULL if nothing is wrong */
};

struct doctor_report {
    struct doctor_finding *findings; /* the most severe first */
    size_t count;
    bool healthy;
};

/* The limits beyond which the doctor warns. */
struct doctor_limits {
    uint64_t hold_ms;
    uint64_t waiting;
};

/* Adds a finding, with a text as for printf. `remedy` may be NULL. */
void doctor_find(struct doctor_report *report, const char *check, enum doctor_severity severity, const char *remedy,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A check adds findings to the report: what is wrong, or that all is well. */
typedef void doctor_check(const struct doctor_group *group, const struct doctor_limits *limits,
                          struct doctor_report *report);

#endif
