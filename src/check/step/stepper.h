// SPDX-License-Identifier: MIT
/*
 * Computes what an event does to a node, once for each event. A handler is a pure function of the node state, the event
 * and the live nodes, so the stepper remembers its results.
 */
#ifndef CONCLAVE_CHECK_STEP_STEPPER_H
#define CONCLAVE_CHECK_STEP_STEPPER_H

#include "check/state/memo.h"
#include "check/state/model.h"
#include "check/step/runner.h"

enum outcome_flag {
    OUTCOME_ENTERED = 1u << 0,
    OUTCOME_PULSED = 1u << 1,   /* it began a round */
    OUTCOME_LEFT = 1u << 2,     /* it left the critical section */
    OUTCOME_RECALLED = 1u << 3, /* it called while its own election was under way */
    OUTCOME_BROKEN = 1u << 4,   /* its invariant, or an assertion, fails */
    OUTCOME_MISLED = 1u << 5,   /* it follows a leader that is not the best node */
    OUTCOME_FOLLOWS = 1u << 6,  /* its leader changed, and the search judges that in every state */
    OUTCOME_OVERDUE = 1u << 7   /* not possible in this order of requests: the node must request first */
};

struct sending {
    uint16_t to;
    uint16_t slot; /* the channel */
    uint32_t message;
};

/* The part of an outcome that is rarely read. */
struct outcome_detail {
    uint64_t fence; /* of an entry */
    bool twice;     /* it entered while it was inside */
    uint32_t begun; /* a bit for each family of `counters` that begins with this step: see counter_test.c */
    uint32_t choice_count;
    uint32_t choices[CV_MOST_CHOICES];
};

/* One result of a step; a step that chooses has several. The part that the search reads fits in a cache line. */
struct outcome {
    const struct outcome *next; /* the other results */
    struct fingerprint change;  /* of the state's fingerprint, by the node alone */
    struct fingerprint sent;    /* and by what it sends, if the channels are empty */
    struct outcome_detail *detail;
    uint32_t node_state; /* after the step */
    uint8_t flags;       /* enum outcome_flag, or'ed */
    bool fast_path;      /* it sends at most once over each channel, and not to itself; the same for all results */
    uint16_t send_count;
    struct sending sends[];
};

/* What a stepper remembers. */
enum memo_kind {
    MEMO_STEPS,
    MEMO_PUTS,   /* contents with one message more */
    MEMO_TAKES,  /* contents with one message less */
    MEMO_AGED,   /* node states after time has passed */
    MEMO_LATER,  /* contents after time has passed */
    MEMO_RAISED, /* budgets with a higher fence */
    MEMO_KINDS
};

struct memos {
    struct memo of[MEMO_KINDS];
};

/* A thread's own. Threads may share the memos. */
struct stepper {
    struct model *model;
    struct runner runner;
    struct memos *memos; /* another stepper's, or `own` */
    struct memos own;
    struct arena outcomes;
    struct node_state *scratch;
    struct promise_test *thread_test; /* a promise test that belongs to this thread; NULL: none */
    bool hypothetical;                /* its steps may never happen: they are neither observed nor tested */
};

/* A step that was just computed, for promise tests. */
struct computed_step {
    const struct runner *runner; /* after the step */
    uint32_t node_state;         /* before it */
    enum cv_decision_type type;
    uint32_t argument;
    uint32_t alive;
    const struct outcome *outcome;
};

/* New results go to the given memos, or to its own if that is NULL. 0 or CV_ENOMEM; free it in both cases. */
int stepper_init(struct stepper *stepper, struct model *model, struct memos *memos);
void stepper_free(struct stepper *stepper);

/* The bytes of its own memos and outcomes. */
uint64_t stepper_bytes(const struct stepper *stepper);

/* See memo_tidy(). */
void stepper_tidy(struct stepper *stepper);

/* Calls the handler for a step that is not remembered yet. NULL if there is no memory. */
const struct outcome *stepper_compute(struct stepper *stepper, uint32_t node_state, enum cv_decision_type type,
                                      uint32_t argument, uint32_t alive);

/* The key of a step in the memo. */
struct step {
    uint64_t one, other;
};

static inline struct step step_of(uint32_t node_state, enum cv_decision_type type, uint32_t argument, uint32_t alive)
{
    return (struct step){(uint64_t)node_state << 32 | argument, (uint64_t)type << 32 | alive};
}

/* Prefetches the memo entry of a step. */
static inline const struct memo_entry *stepper_expect(const struct stepper *stepper, struct step step)
{
    const struct memo_entry *at = memo_slot(&stepper->memos->of[MEMO_STEPS], step.one, step.other);
    __builtin_prefetch(at);
    return at;
}

/* Finds the outcome in the entry and prefetches it; NULL if the step is not remembered. */
static inline const struct outcome *stepper_expected(const struct memo_entry *at, struct step step)
{
    const struct outcome *outcome = (const struct outcome *)(uintptr_t)memo_find_at(at, step.one, step.other);
    __builtin_prefetch(outcome);
    return outcome;
}

/* The outcomes of a step; NULL if there is no memory. `argument`: the message of DELIVER, the timer, or the node. */
static inline const struct outcome *stepper_step(struct stepper *stepper, uint32_t node_state,
                                                 enum cv_decision_type type, uint32_t argument, uint32_t alive)
{
    const struct step step = step_of(node_state, type, argument, alive);
    const uint64_t known = memo_find(&stepper->memos->of[MEMO_STEPS], step.one, step.other);
    if (__builtin_expect(known != 0, 1))
        return (const struct outcome *)(uintptr_t)known;
    return stepper_compute(stepper, node_state, type, argument, alive);
}

/* model_put(), remembered. */
uint32_t stepper_compute_put(struct stepper *stepper, uint32_t contents, uint32_t message);
static inline uint32_t stepper_put(struct stepper *stepper, uint32_t contents, uint32_t message)
{
    const uint64_t known = memo_find(&stepper->memos->of[MEMO_PUTS], contents, message);
    return __builtin_expect(known != 0, 1) ? (uint32_t)known : stepper_compute_put(stepper, contents, message);
}

/* model_take(), remembered. */
uint32_t stepper_take(struct stepper *stepper, uint32_t contents, uint32_t index);

/* The budgets after an entry with that fence. */
uint32_t stepper_raise(struct stepper *stepper, uint32_t budgets, uint64_t fence);

/* model_age(), remembered. */
uint32_t stepper_age_contents(struct stepper *stepper, uint32_t contents, uint64_t time);

/* The node state after that time has passed. */
uint32_t stepper_age(struct stepper *stepper, uint32_t node_state, uint64_t time);

#endif
