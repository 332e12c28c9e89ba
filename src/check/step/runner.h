// SPDX-License-Identifier: MIT
/* Takes one step of one node: calls the algorithm's handler on a node state and keeps the effects that it recorded. */
#ifndef CONCLAVE_CHECK_STEP_RUNNER_H
#define CONCLAVE_CHECK_STEP_RUNNER_H

#include "check/setting/decision.h"
#include "check/state/node_state.h"
#include "guard/trap.h"

/* Runs handlers. A thread has its own. */
struct runner {
    struct cv_self self; /* after a step: its outbox, effects, fence and note */
    const struct setting *setting;
    struct node_state *node_state; /* of the node that takes the step */
    uint32_t alive;                /* the live nodes, and whether clocks are stopped: see setting.h */
    uint64_t clock_ahead;          /* requests in a given order: the clock is ahead up to this time */
    bool overdue;                  /* after a step: the node should have made its next request before */
    uint32_t merged;               /* a test with equal times: as order_merge() takes it */
    struct retiming retiming;      /* a test with other times: as order_retime() takes it */
    size_t outbox_room;
    bool out_of_memory;

    uint32_t script[CV_MOST_CHOICES]; /* what cv_choose() returns, and 0 after that */
    uint32_t ways[CV_MOST_CHOICES];   /* after a step: how many ways each choice had */
    uint32_t script_length;
    uint32_t chosen;           /* after a step: how often it chose */
    struct cv_failure failure; /* why the last step was stopped, if it was */
};

int runner_init(struct runner *runner, const struct setting *setting);
void runner_free(struct runner *runner);

/* Makes a node state as it is before the first event. False if the algorithm fails: see `failure`. */
bool runner_begin(struct runner *runner, struct node_state *node_state, cv_node node);

/*
 * Changes the node state by an event. DELIVER takes the message; TIMEOUT takes the timer in `argument`; TELL, TRUST and
 * SUSPECT take the node. Returns the complaint of the invariant, or the failure, or NULL. A step that failed has no
 * effects, but what it changed in the state stays changed.
 */
const char *runner_step(struct runner *runner, struct node_state *node_state, uint32_t alive,
                        enum cv_decision_type type, uint32_t argument, const struct cv_message *message);

/* The next script in counting order; false after the last. */
bool runner_next_script(struct runner *runner);

#endif
