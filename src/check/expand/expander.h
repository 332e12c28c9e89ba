// SPDX-License-Identifier: MIT
/*
 * A thread's workspace for the successors of states. The files of this folder, from below:
 *
 *     expander.h    the workspace, and how a slot of the state changes
 *     renumber.h    counters and clocks that would grow for ever
 *     transition.h  one event and what it leads to
 *     fast_path.h   the same, where nothing but steps of nodes changes the state
 *     successors.h  all events that can happen in a state
 */
#ifndef CONCLAVE_CHECK_EXPAND_EXPANDER_H
#define CONCLAVE_CHECK_EXPAND_EXPANDER_H

#include "check/symmetry/symmetry.h"
#include "property/step_properties.h"

#define MOST_ENABLED 4096u

/* A slot of the state that a step changes, and its new number. */
struct change {
    uint32_t slot, number;
};

struct successor {
    struct fingerprint fingerprint;
    struct fingerprint key; /* the search knows it by this: the fingerprint, or the least one under other names */
    uint8_t type;           /* enum cv_decision_type */
    uint8_t node;
    uint8_t peer;                  /* UINT8_MAX: none */
    uint8_t which;                 /* of several messages, or the timer */
    bool fast_path;                /* it has no list of changes: they follow from the outcome, `slot` and `rest` */
    bool missed;                   /* a crash that the detector need not report */
    bool visible;                  /* it changes something that is judged in every state, of several nodes */
    bool foreign;                  /* it belongs to another rank; unset if there is none */
    uint32_t action;               /* which action it is for fairness: see transition.h; 0: it need never happen */
    uint32_t sent;                 /* the node crashes after this many messages; CV_WHOLE: it does not */
    const struct outcome *outcome; /* NULL: no handler was called */
    uint32_t first;                /* of its changes */
    uint32_t count;                /* of its changes */
    uint32_t slot;                 /* fast path: the channel of the message, or 0 */
    uint32_t rest;                 /* fast path: the contents left in it */
    uint32_t budgets;              /* fast path: the budgets after it */
    uint32_t violations;           /* a bit for each property that the step violates */
};

/* An event that can happen: a node's own, or the arrival of a message. Its outcome is looked up in two steps. */
struct enabled {
    struct step step;
    union {
        const struct memo_entry *at;   /* first: where the memo may have it */
        const struct outcome *outcome; /* then: the outcome; NULL: it must be computed */
    };
    const struct contents *list; /* of the channel; NULL: a node's own event */
    uint16_t slot;               /* the channel, or 0 */
    uint8_t type;
    uint8_t node;
};

/* The enabled events of a state. */
struct enabled_set {
    uint32_t first; /* in the expander's array */
    uint32_t end;
    uint32_t alive;          /* as in the expander */
    uint32_t stopped_clocks; /* as in the expander */
    uint64_t own_events;     /* as in the expander */
    bool over;               /* a perpetual algorithm has nothing left to do */
};

struct expander {
    struct model *model;
    struct stepper stepper;
    struct symmetry symmetry;
    struct memo clockless; /* nodes and channels with stopped clocks, by number and cap */
    bool fast_path;        /* fast_path.h applies to this search */

    /* The result. */
    struct successor *successors;
    struct change *changes;
    uint32_t count, room;
    uint32_t change_count, change_room;
    uint32_t obligations; /* how many of the successors must happen */

    /* The state that is being expanded. */
    uint32_t *state;
    struct fingerprint fingerprint;
    uint32_t alive;                              /* a bit for each live node */
    uint64_t own_events;                         /* of every node, OWN_EVENT_BITS each */
    uint32_t stopped_clocks;                     /* CLOCKS_STOPPED and the cap, if no request is left; otherwise 0 */
    struct enabled enabled_events[MOST_ENABLED]; /* of several states */
    uint32_t enabled_count;

    /* The slots that the successor being made has changed, and their old numbers. */
    uint32_t touched[MOST_SLOTS], old[MOST_SLOTS], touch_count;
};

/* `memos`: as stepper_init() takes it. 0 or CV_ENOMEM; free it in both cases. */
int expander_init(struct expander *expander, struct model *model, struct memos *memos);
void expander_free(struct expander *expander);

/* The bytes of all it remembers. */
uint64_t expander_bytes(const struct expander *expander);

/* See memo_tidy(). */
void expander_tidy(struct expander *expander);

/* Makes room for another successor. False if there is no memory. */
bool expander_make_room(struct expander *expander);

/* The slot for the next successor. It belongs to the result when `count` is incremented. */
static inline struct successor *expander_next(struct expander *expander)
{
    if (__builtin_expect(
            expander->count == expander->room || expander->change_count + MOST_SLOTS > expander->change_room, 0) &&
        !expander_make_room(expander)) {
        expander->model->out_of_memory = true;
        expander->count = expander->change_count = 0;
    }
    return &expander->successors[expander->count];
}

static inline const struct budgets *expander_budgets(const struct expander *expander)
{
    return model_budgets(expander->model, expander->state[expander->model->setting.nodes]);
}

/* ---- changing the state that is being made ---- */

static inline void successor_add(struct successor *successor, struct fingerprint change)
{
    successor->fingerprint = fingerprint_add(successor->fingerprint, change);
}

/* Sets a slot that this step has not changed before. The fingerprint is the caller's. */
static inline void expander_set_first(struct expander *expander, uint32_t slot, uint32_t number)
{
    expander->touched[expander->touch_count] = slot;
    expander->old[expander->touch_count++] = expander->state[slot];
    expander->state[slot] = number;
}

/* Sets any slot. The fingerprint is the caller's. */
static inline void expander_set(struct expander *expander, uint32_t slot, uint32_t number)
{
    uint32_t i = 0;
    while (i < expander->touch_count && expander->touched[i] != slot)
        i++;
    if (i == expander->touch_count)
        expander_set_first(expander, slot, number);
    else
        expander->state[slot] = number;
}

/* Out of line: they are called rarely, and the common path stays short. */
void expander_set_node_state(struct expander *expander, struct successor *successor, cv_node node, uint32_t number);
void expander_set_budgets(struct expander *expander, struct successor *successor, uint32_t number);

static inline void expander_set_contents(struct expander *expander, struct successor *successor, uint32_t slot,
                                         uint32_t number)
{
    const struct model *model = expander->model;
    successor_add(successor, fingerprint_subtract(model_contents(model, number)->here,
                                                  model_contents(model, expander->state[slot])->here));
    expander_set(expander, slot, number);
}

#endif
