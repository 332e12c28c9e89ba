// SPDX-License-Identifier: MIT
/* Asks the members of a cluster about themselves and each other. */
#ifndef CONCLAVE_CLI_DOCTOR_DOCTOR_GATHER_H
#define CONCLAVE_CLI_DOCTOR_DOCTOR_GATHER_H

#include "cli/ask.h"
#include "group/view.h"

#define DOCTOR_MOST_ADDRESSES 64u

/* How one member sees another. */
struct doctor_sight {
    int64_t id;
    bool suspected;
    int64_t unheard_ms; /* -1: never heard */
};

struct doctor_member {
    int64_t id;
    char address[128]; /* for clients; empty: unknown */
    bool asked;
    bool answers;
    bool silent;                              /* it accepted a connection, but sent nothing in time */
    char refusal[128];                        /* the error that it sent instead of an answer */
    int64_t epoch;                            /* by its own answer, as all fields below */
    int64_t coordinator;                      /* -1: it has none */
    int64_t lease_ms;                         /* -1: it needs none */
    char *info;                               /* the reply to INFO; see doctor_fact() */
    char longest[96];                         /* of the locks that its clients hold, the one held longest */
    int64_t longest_ms;                       /* how long it has been held */
    char crowded[96];                         /* the lock that most of its clients wait for */
    int64_t crowd;                            /* how many clients wait for it */
    struct doctor_sight sees[CV_MAX_MEMBERS]; /* including itself */
    uint32_t seen;
};

/* A given address at which no node answers. */
struct doctor_dead_end {
    char address[128];
    bool silent;
    char why[128]; /* there is no connection; empty: there is, but no answer came */
};

struct doctor_group {
    struct doctor_member members[CV_MAX_MEMBERS]; /* by id */
    uint32_t count;
    struct doctor_dead_end dead_ends[DOCTOR_MOST_ADDRESSES];
    uint32_t dead_end_count;
    char refusal[128]; /* the last error that a node sent */
    bool raft;
    bool tied; /* two, with a tie-breaker */
};

/* Asks at each address of the list, then every member that these name. False if no node answers. */
bool doctor_gather(struct doctor_group *group, const char *servers);
void doctor_free(struct doctor_group *group);

/* How one member sees another; NULL if it did not say. */
const struct doctor_sight *doctor_sees(const struct doctor_member *observer, int64_t id);

/* The value of a line "key:value" of INFO; empty if there is none. */
struct cv_text doctor_fact(const struct doctor_member *member, const char *key);
/* The same as a number; `otherwise` if there is none. */
int64_t doctor_number(const struct doctor_member *member, const char *key, int64_t otherwise);
/* The lines of a section of INFO, by its title. */
struct cv_text doctor_section(const struct doctor_member *member, const char *title);
/* Takes the next line from `rest`; false at the end. */
bool doctor_line(struct cv_text *rest, struct cv_text *line);
/* Does the member vote, by any answer? */
bool doctor_votes(const struct doctor_group *group, const struct doctor_member *member);
/* Is it one that never votes, and may come later? */
bool doctor_stands_by(const struct doctor_group *group, const struct doctor_member *member);

#endif
