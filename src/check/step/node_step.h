// SPDX-License-Identifier: MIT
/*
 * What an event does to a node, worked out once: a handler is a function of the node, the event and who lives, so its
 * results are remembered and it is called but once for each.
 */
#ifndef CONCLAVE_CHECK_STEP_NODE_STEP_H
#define CONCLAVE_CHECK_STEP_NODE_STEP_H

#include "check/state/memo.h"
#include "check/state/model.h"

enum outcome_flag {
    OUTCOME_ENTERED = 1u << 0,
    OUTCOME_TWICE = 1u << 1,    /* it entered though it was inside */
    OUTCOME_LEFT = 1u << 2,     /* it left the critical section */
    OUTCOME_RECALLED = 1u << 3, /* it called while its own election was under way */
    OUTCOME_BROKEN = 1u << 4,   /* its invariant, or an assertion, does not hold */
    OUTCOME_MISLED = 1u << 5,   /* it follows somebody who is not the best of all */
    OUTCOME_LATE = 1u << 7,     /* not in this order of requests: the node has to ask first */
    OUTCOME_FOLLOWS = 1u << 6   /* whom it follows has changed, and that is judged at every state */
};

struct sending {
    uint16_t to;
    uint16_t slot; /* the channel */
    uint32_t message;
};

/* What is rarely asked of an outcome. */
struct outcome_detail {
    uint64_t fence; /* of who entered */
    uint32_t begun; /* a bit for each family of `counters` that begins with this step: see counting.c */
    uint32_t choice_count;
    uint32_t choices[CV_MOST_CHOICES];
};

/* One way in which a step can end; there are several if it chose. What the search needs is in one line of the cache. */
struct outcome {
    const struct outcome *next; /* the other ways */
    struct print change;        /* of the fingerprint, by the node alone, */
    struct print sent;          /* and by what it sends, over channels that are empty */
    struct outcome_detail *detail;
    uint32_t node_state; /* the node after it */
    uint8_t flags;
    bool fast_path; /* nothing is sent twice over the same channel, nor to itself; the same for all ways */
    uint16_t send_count;
    struct sending sends[];
};

/* What is remembered: steps; what putting into a channel and taking out of it leads to; nodes aged; worlds raised. */
enum memo_kind { MEMO_STEPS, MEMO_PUTS, MEMO_TAKES, MEMO_AGED, MEMO_RAISED, MEMO_KINDS };

struct memos {
    struct memo of[MEMO_KINDS];
};

struct symmetry;

/* A thread's own, but for what it knows: threads may share that. */
struct stepper {
    struct model *model;
    struct host host;
    struct memos *memos, own;
    struct arena outcomes;
    struct node_state *scratch;
    uint64_t calls;            /* of handlers */
    struct symmetry *symmetry; /* whose promise is put to the test; NULL: none is relied on */
    bool supposes;             /* what it works out need not ever happen: it is not noted as a habit */
};

/* What it works out is added to the given lore, or to its own if that is NULL. */
int stepper_init(struct stepper *stepper, struct model *model, struct memos *memos);
void stepper_free(struct stepper *stepper);

/* Of all it remembers; but not of lore that is not its own. */
uint64_t stepper_bytes(const struct stepper *stepper);

/* See memo_tidy(). */
void stepper_tidy(struct stepper *stepper);

/* Calls the handler, for what is not known yet. */
const struct outcome *stepper_work_out(struct stepper *stepper, uint32_t node_state, enum cv_decision_type type,
                                       uint32_t argument, uint32_t alive);

/* A step as it is remembered. */
struct step {
    uint64_t one, other;
};

static inline struct step step_of(uint32_t node_state, enum cv_decision_type type, uint32_t argument, uint32_t alive)
{
    return (struct step){(uint64_t)node_state << 32 | argument, (uint64_t)type << 32 | alive};
}

/*
 * Two looks ahead, so that what a step will need is in the cache by then: where it is remembered, then the outcome, or
 * NULL if there is none yet.
 */
static inline const struct memo_entry *stepper_expect(const struct stepper *stepper, struct step step)
{
    const struct memo_entry *at = memo_slot(&stepper->memos->of[MEMO_STEPS], step.one, step.other);
    __builtin_prefetch(at);
    return at;
}

static inline const struct outcome *stepper_expected(const struct memo_entry *at, struct step step)
{
    const struct outcome *outcome = (const struct outcome *)(uintptr_t)memo_find_at(at, step.one, step.other);
    __builtin_prefetch(outcome);
    return outcome;
}

/* NULL if memory ran out. `argument`: the message of DELIVER, the timer, the node told of. */
static inline const struct outcome *stepper_step(struct stepper *stepper, uint32_t node_state,
                                                 enum cv_decision_type type, uint32_t argument, uint32_t alive)
{
    const struct step step = step_of(node_state, type, argument, alive);
    const uint64_t known = memo_find(&stepper->memos->of[MEMO_STEPS], step.one, step.other);
    if (__builtin_expect(known != 0, 1))
        return (const struct outcome *)(uintptr_t)known;
    return stepper_work_out(stepper, node_state, type, argument, alive);
}

/* The same as the model's, but remembered. */
uint32_t stepper_put_anew(struct stepper *stepper, uint32_t contents, uint32_t message);
static inline uint32_t stepper_put(struct stepper *stepper, uint32_t contents, uint32_t message)
{
    const uint64_t known = memo_find(&stepper->memos->of[MEMO_PUTS], contents, message);
    return __builtin_expect(known != 0, 1) ? (uint32_t)known : stepper_put_anew(stepper, contents, message);
}
uint32_t stepper_take(struct stepper *stepper, uint32_t contents, uint32_t node_state);

/* The world when somebody has entered with that fence. */
uint32_t stepper_raise(struct stepper *stepper, uint32_t budgets, uint64_t fence);

/* The node when so much time has passed. */
uint32_t stepper_age(struct stepper *stepper, uint32_t node_state, uint64_t time);

#endif
