// SPDX-License-Identifier: MIT
/* Takes one step of one node: calls the handler on a copy of the node and keeps what it recorded. */
#ifndef CONCLAVE_CHECK_STEP_HANDLER_H
#define CONCLAVE_CHECK_STEP_HANDLER_H

#include "check/state/setting.h"
#include "check/step/trap.h"

struct host {
    struct cv_self self; /* after a step: its outbox, effects, fence and note */
    const struct setting *setting;
    struct node_state *node_state; /* the node that takes the step */
    uint32_t alive;                /* a bit for each node that lives, or HUSHED */
    uint64_t leap;                 /* requests in a given order: the clock has run ahead as far as this */
    bool late;                     /* after a step: the time for the node's next request has gone by */
    uint32_t merged;          /* requests of these ranks have the time of those before: as order_merge() takes it */
    struct retiming retiming; /* or all times are others: as order_retime() takes it */
    size_t outbox_room;
    bool out_of_memory;

    /* What cv_choose() is to give, and behind that 0; and how many ways there were each time. */
    uint32_t script[CV_MOST_CHOICES], ways[CV_MOST_CHOICES];
    uint32_t script_length, chosen;
    struct mishap mishap; /* that stopped the last step, if one did */
};

int host_init(struct host *host, const struct setting *setting);
void host_free(struct host *host);

/* A node as it is before the first event; false if the algorithm fails there, as the mishap says. */
bool host_begin(struct host *host, struct node_state *node_state, cv_node node);

/*
 * Changes the node by the event. DELIVER takes the message, TIMEOUT the timer in `argument`, TELL and SUSPECT the node.
 * `alive` says who lives, and whether clocks stand still (HUSHED). Returns the complaint of the invariant, or the
 * mishap, or NULL: a step that was stopped by one has no effects, and what it has changed stays changed.
 */
const char *host_step(struct host *host, struct node_state *node_state, uint32_t alive, enum cv_decision_type type,
                      uint32_t argument, const struct cv_message *message);

/* The next script in the order of counting, or false after the last. */
bool host_next_script(struct host *host);

static inline const struct cv_message *host_first_message(const struct host *host)
{
    return (const struct cv_message *)(const void *)host->self.outbox;
}

#endif
