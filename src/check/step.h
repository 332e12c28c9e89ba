// SPDX-License-Identifier: MIT
/*
 * What an event does to a node, worked out once: a handler is a function of the node, the event and who lives, so its
 * results are remembered and it is called but once for each.
 */
#ifndef CONCLAVE_CHECK_STEP_H
#define CONCLAVE_CHECK_STEP_H

#include "check/memo.h"
#include "check/model.h"

enum outcome_flag {
    OUTCOME_ENTERED = 1u << 0,
    OUTCOME_TWICE = 1u << 1,    /* it entered though it was inside */
    OUTCOME_LEFT = 1u << 2,     /* it left the critical section */
    OUTCOME_RECALLED = 1u << 3, /* it called while its own election was under way */
    OUTCOME_BROKEN = 1u << 4,   /* its invariant does not hold */
    OUTCOME_MISLED = 1u << 5,   /* it follows somebody who is not the best of all */
    OUTCOME_FOLLOWS = 1u << 6   /* whom it follows has changed, and that is judged at every state */
};

struct sending {
    cv_node to;
    uint32_t part; /* the channel */
    uint32_t message;
};

/* One way in which the step can end; there are several if it chose. */
struct outcome {
    uint32_t place; /* the node after it */
    uint32_t flags;
    struct print change; /* of the fingerprint, by the node alone */
    uint64_t fence;
    const char *broken;
    uint32_t choice_count;
    uint32_t choices[CV_MOST_CHOICES];
    uint32_t send_count;
    struct sending sends[];
};

struct step {
    struct step *next; /* in the list of all, to free them */
    uint32_t count, room;
    struct outcome **outcomes;
};

/* A thread's own: the handler's host and all it remembers. */
struct stepper {
    struct model *model;
    struct host host;
    struct memo steps, puts, takes, aged;
    struct step *all;
    struct place *scratch;
    uint64_t calls; /* of handlers */
    size_t bytes;
};

int stepper_init(struct stepper *stepper, struct model *model);
void stepper_free(struct stepper *stepper);

/* NULL if memory ran out. `argument`: the message of DELIVER, the timer, the node told of. */
const struct step *stepper_step(struct stepper *stepper, uint32_t place, enum cv_decision_type type, uint32_t argument,
                                uint32_t alive);

/* The same as the model's, but remembered. */
uint32_t stepper_put(struct stepper *stepper, uint32_t contents, uint32_t message);
uint32_t stepper_take(struct stepper *stepper, uint32_t contents, uint32_t place);

/* The node when so much time has passed. */
uint32_t stepper_age(struct stepper *stepper, uint32_t place, uint64_t time);

#endif
