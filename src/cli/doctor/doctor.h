// SPDX-License-Identifier: MIT
/* What is wrong with a cluster: every member is asked, what they say is put side by side, and what does not fit is
 * explained. */
#ifndef CONCLAVE_CLI_DOCTOR_DOCTOR_H
#define CONCLAVE_CLI_DOCTOR_DOCTOR_H

#include "cli/ask.h"
#include "group/view.h"

#define DOCTOR_MOST_ADDRESSES 64u

/* How a member sees another. */
struct doctor_sight {
    int64_t id;
    bool suspected;
    int64_t unheard_ms; /* -1: never heard */
};

struct doctor_member {
    int64_t id;
    char address[128]; /* for clients; empty if nobody knows it */
    bool asked, answers;
    bool silent;                              /* it was there, but said nothing in time */
    char refusal[128];                        /* it answers, but not this */
    int64_t epoch;                            /* as it says itself, as all that follows */
    int64_t coordinator;                      /* -1: it has none */
    int64_t lease_ms;                         /* -1: it needs none */
    char *info;                               /* what INFO tells; see doctor_fact() */
    char longest[96];                         /* of the locks that its clients hold, the one held longest */
    int64_t longest_ms;                       /* and for how long */
    char crowded[96];                         /* the one that most of its clients wait for */
    int64_t crowd;                            /* and how many */
    struct doctor_sight sees[CV_MAX_MEMBERS]; /* itself, too */
    uint32_t seen;
};

struct doctor_group {
    struct doctor_member members[CV_MAX_MEMBERS]; /* by id */
    uint32_t count;
    struct {
        char address[128];
        bool silent;
    } dead_ends[DOCTOR_MOST_ADDRESSES]; /* given, but nobody answers there */
    uint32_t dead_end_count;
    char refusal[128]; /* the last of them */
    bool raft;
    bool tied; /* two, with a tie-breaker */
};

/* Asks at each of the addresses, separated by commas, and then everybody they know. False if nobody answers. */
bool doctor_gather(struct doctor_group *group, const char *servers);
void doctor_free(struct doctor_group *group);

/* How one sees another; NULL if it did not say, or does not know it. */
const struct doctor_sight *doctor_sees(const struct doctor_member *observer, int64_t id);

/* A line of INFO, "key:value"; empty if there is none. */
struct cv_text doctor_fact(const struct doctor_member *member, const char *key);
/* The same as a number; `otherwise` if there is none. */
int64_t doctor_number(const struct doctor_member *member, const char *key, int64_t otherwise);
/* The lines of a section of INFO, by its title. */
struct cv_text doctor_section(const struct doctor_member *member, const char *title);
/* Takes the next line off it; false at its end. */
bool doctor_line(struct cv_text *rest, struct cv_text *line);
/* Has it a vote? As anybody says who answers. */
bool doctor_votes(const struct doctor_group *group, const struct doctor_member *member);

/* ---- what there is to say ---- */

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

void doctor_examine(const struct doctor_group *group, const struct doctor_limits *limits, struct doctor_report *report);
void doctor_discharge(struct doctor_report *report);

/* For the checks: another finding, and its words as printf has them. `remedy` may be NULL. */
void doctor_find(struct doctor_report *report, const char *check, enum doctor_severity severity, const char *remedy,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* ---- doctor_group.c: checks of how the members see each other; doctor_nodes.c: of each of them ---- */

/* What each check adds: what is wrong, or that all is well. */
typedef void doctor_check(const struct doctor_group *group, const struct doctor_limits *limits,
                          struct doctor_report *report);
extern doctor_check *const doctor_group_checks[], *const doctor_node_checks[]; /* NULL at the end */

#endif
