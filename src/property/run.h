// SPDX-License-Identifier: MIT
/* What a judge knows of a run, from any runtime: the standing of each node, the messages, how and when it ended. */
#ifndef CONCLAVE_PROPERTY_RUN_H
#define CONCLAVE_PROPERTY_RUN_H

#include "core/scenario/scenario.h"

/* The standing of a node. */
struct cv_standing {
    uint64_t result;  /* its last result, if `updates` */
    cv_node via;      /* the neighbour that the result names */
    uint32_t updates; /* how often its result changed */
    cv_id leader;     /* its leader, if `knows` */
    bool alive;
    bool knows;    /* it knows a leader */
    bool active;   /* it has called an election, or heard of one */
    bool recalled; /* it once called an election while its own was still under way */
};

/* An entry into a critical section, or a request that was not served. */
struct cv_entry {
    cv_node node;
    uint32_t name;
    uint64_t requested;
    uint64_t heard;   /* when all receivers had the request; CV_NEVER: not all have it; 0: unknown */
    uint64_t entered; /* CV_NEVER: not yet */
    uint64_t left;    /* CV_NEVER: still inside, or never entered */
    uint64_t fence;
    uint64_t clock; /* Lamport's, at the request */
    bool died;      /* the node crashed before it left, or before it entered */
    bool shared;    /* it may be inside together with other shared entries */
};

/* Something that must never happen: how often it did, and the first time. */
struct cv_slip {
    uint64_t count;
    uint64_t time;
    uint64_t round;
    cv_node node;
    cv_node other; /* CV_NOBODY: none */
};

enum cv_ending {
    CV_QUIET,       /* nothing is under way and nothing will happen any more */
    CV_REPEATS,     /* the run came back to an earlier state: it never ends */
    CV_OUT_OF_TIME, /* --until */
    CV_INTERRUPTED,
    CV_UNRECORDED, /* a recording that does not say how it ended */
    CV_STOPPED,    /* all given decisions were played */
    CV_FAILED      /* a handler failed: `broken` says how */
};

struct cv_finding;

struct cv_run {
    const struct cv_scenario *scenario;
    const void *runtime;
    struct cv_standing (*standing)(const void *runtime, cv_node node);
    const uint32_t *component; /* by node: its connected component at the end; NULL: there is only one */

    enum cv_ending ending;
    uint64_t now;     /* when it ended */
    uint64_t period;  /* CV_REPEATS: ticks until it repeats */
    uint64_t time;    /* when the last message was delivered */
    uint64_t decided; /* when the last live node knew a leader; CV_NEVER: not all know one */
    uint64_t calls;   /* elections called */
    uint64_t total;   /* messages, as the texts count them: with those to the dead, without those to oneself */
    uint64_t count[CV_MAX_KINDS];

    /* Synchronizers. */
    const void *(*app_state)(const void *runtime, cv_node node);
    uint64_t (*round)(const void *runtime, cv_node node); /* the round of a node; after the last round: one more */
    struct cv_slip hasty; /* a round began before all messages of the last had arrived */
    struct cv_slip apart; /* the rounds of neighbours differed by more than one */
    uint64_t preparing;   /* messages before the first round, not in `total` */

    uint64_t last_exit;             /* mutex: when a node last left */
    uint64_t views;                 /* mutex: changes of the view */
    uint64_t election_messages;     /* mutex: messages to elect coordinators, not in `total` */
    const struct cv_entry *entries; /* in the order of the requests */
    uint64_t entry_count;

    bool checked;       /* the invariant was checked after every step; in large groups it is not */
    const char *broken; /* its complaint, or how a handler failed, or NULL */
    cv_node broken_node;
    uint64_t broken_time;

    const struct cv_finding *seen; /* a violation before the end, from a runtime that judges every state; or NULL */
    bool real_time;                /* between processes: times are milliseconds, not those of the texts' formulas */
    bool unmeasured;               /* the order of events was given, so the texts' costs do not apply */
};

/* The rounds that all live nodes have completed. */
static inline uint64_t cv_run_rounds(const struct cv_run *run)
{
    uint64_t least = run->scenario->group.rounds + 1;
    for (cv_node node = 0; node < run->scenario->group.nodes; node++) {
        const uint64_t round = run->round(run->runtime, node);
        if (round < least && run->standing(run->runtime, node).alive)
            least = round;
    }
    return least ? least - 1 : 0;
}

#endif
