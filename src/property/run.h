// SPDX-License-Identifier: MIT
/*
 * What is known of a run when it is judged, whichever runtime it comes from: where each node stands, how many
 * messages went out, how and when it ended.
 */
#ifndef CONCLAVE_PROPERTY_RUN_H
#define CONCLAVE_PROPERTY_RUN_H

#include "core/scenario/scenario.h"

/* Where a node stands. */
struct cv_standing {
    uint64_t result;  /* what it has come to, when `updates` */
    cv_node via;      /* by way of whom */
    uint32_t updates; /* how often it came to something new */
    cv_id leader;     /* whom it takes for the leader, when `knows` */
    bool alive;
    bool knows;
    bool active;   /* it has called an election, or heard of one */
    bool recalled; /* it once called an election while its own was still under way */
};

/* An entry into a critical section, or a request for one that was not served. */
struct cv_entry {
    cv_node node;
    uint32_t name;
    uint64_t requested;
    uint64_t heard;   /* when all whom the request was sent to had it; CV_NEVER: not all have; 0: nobody looked */
    uint64_t entered; /* CV_NEVER: not yet */
    uint64_t left;    /* CV_NEVER: still inside, or never in */
    uint64_t fence;
    uint64_t clock; /* Lamport's, when it was requested */
    bool died;      /* the node crashed before it left, or before it entered */
    bool shared;    /* it may be inside together with others that are so, too */
};

/* Something that must never happen did: how often, and when first. */
struct cv_slip {
    uint64_t count;
    uint64_t time, round;
    cv_node node, other; /* CV_NOBODY: no other is concerned */
};

enum cv_ending {
    CV_QUIET,       /* nothing is under way and nothing will happen any more */
    CV_REPEATS,     /* the run came back to a state it was in before: it never ends */
    CV_OUT_OF_TIME, /* --until */
    CV_INTERRUPTED,
    CV_UNRECORDED, /* a recording that does not say how it ended */
    CV_STOPPED     /* a run of given decisions has come to the last of them */
};

struct cv_finding;

struct cv_run {
    const struct cv_scenario *scenario;
    const void *runtime;
    struct cv_standing (*standing)(const void *runtime, cv_node node);
    /* The connected part a node is in at the end; NULL where everybody reaches everybody. */
    const uint32_t *part;

    enum cv_ending ending;
    uint64_t now;     /* when it ended */
    uint64_t period;  /* CV_REPEATS: so many ticks later it looks the same */
    uint64_t time;    /* when the last message was delivered */
    uint64_t decided; /* when the last live node knew; CV_NEVER if not all know */
    uint64_t calls;   /* elections called */
    uint64_t total;   /* messages, as the texts count them: to the dead, yes; to oneself, no */
    uint64_t count[CV_MAX_KINDS];

    /* Synchronizers. */
    const void *(*app_state)(const void *runtime, cv_node node);
    uint64_t (*round)(const void *runtime, cv_node node); /* that a node is in; one more than there are: done */
    struct cv_slip hasty;                                 /* a round began before all of the one before had arrived */
    struct cv_slip apart;                                 /* the rounds of neighbours were more than one apart */
    uint64_t preparing;                                   /* messages that prepared the run, not in `total` */

    uint64_t last_exit;             /* mutex: when somebody last left */
    uint64_t views;                 /* mutex: how often the room changed */
    uint64_t election_messages;     /* mutex: what electing coordinators took, counted apart */
    const struct cv_entry *entries; /* in the order of the requests */
    uint64_t entry_count;

    bool checked;       /* the algorithm's invariant was asked after every step; in large groups it is not */
    const char *broken; /* its complaint, or NULL */
    cv_node broken_node;
    uint64_t broken_time;

    const struct cv_finding *seen; /* what was found wrong on the way by who looks at every state; or NULL */
    bool unmeasured;               /* who moves when was decided by hand: the texts' costs say nothing about it */
};

/* How many rounds every live node has completed. */
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
