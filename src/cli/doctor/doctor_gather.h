// SPDX-License-Identifier: MIT
/* What the members of a cluster say of themselves and of each other. */
#ifndef CONCLAVE_CLI_DOCTOR_DOCTOR_GATHER_H
#define CONCLAVE_CLI_DOCTOR_DOCTOR_GATHER_H

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

#endif
