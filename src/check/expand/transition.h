// SPDX-License-Identifier: MIT
/* Something that can happen in a state, and what it leads to. */
#ifndef CONCLAVE_CHECK_EXPAND_TRANSITION_H
#define CONCLAVE_CHECK_EXPAND_TRANSITION_H

#include "check/expand/successors.h"

/* What must happen some time if it can happen all along, as fairness sees it. */
enum action_kind { MUST_DELIVER = 1, MUST_DELIVER_ONE, MUST_LEAVE, MUST_FIRE, MUST_TELL };

static inline uint32_t must(enum action_kind kind, uint32_t which)
{
    return (uint32_t)kind << 28 | which;
}

/* Something that can happen: a handler call, and what comes with it. */
struct event {
    uint8_t type, node, peer, node_state;
    uint32_t action;
    uint32_t argument;
    uint32_t slot, rest;            /* the channel it takes a message from, or 0, and what is left there */
    const struct outcome *expected; /* what it leads to, if that has been looked up; otherwise NULL */
    uint64_t time;                  /* that passes before it */
    bool mistake;                   /* of the detector */
    uint32_t returns;               /* a bit for the node that comes back */
};

/* The first message of a channel arrives. */
static inline struct event event_delivery(const struct model *model, uint32_t slot, const struct contents *list)
{
    return (struct event){.type = CV_DECIDE_DELIVER,
                          .node = model->to[slot],
                          .peer = model->from[slot],
                          .action = must(MUST_DELIVER, slot),
                          .argument = list->first,
                          .slot = slot,
                          .rest = list->rest};
}

static inline const struct budgets *budgets_of(const struct expander *expander)
{
    return model_budgets(expander->model, expander->state[expander->model->setting.nodes]);
}

/* Where the next successor goes; it counts once `count` does. */
bool event_make_room(struct expander *expander);
static inline struct successor *event_open(struct expander *expander)
{
    if (__builtin_expect(
            expander->count == expander->room || expander->change_count + MOST_PARTS > expander->change_room, 0) &&
        !event_make_room(expander)) {
        expander->model->out_of_memory = true;
        expander->count = expander->change_count = 0;
    }
    return &expander->successors[expander->count];
}

/* Has this outcome to wait until the node has asked? Then it leads nowhere yet, but its state is no end. */
static inline bool event_waits(struct expander *expander, const struct outcome *outcome)
{
    if (__builtin_expect(!(outcome->flags & OUTCOME_LATE), 1))
        return false;
    expander->obliged++;
    return true;
}

/* What a step does wrong, and whether what is judged of several nodes has changed. */
void event_judge(const struct expander *expander, struct successor *successor);
/* The world after a step that has been judged: who enters with a higher fence raises the highest. */
uint32_t event_budgets(struct expander *expander, const struct successor *successor);

/* HUSHED, and how far clocks go, if nobody will ask any more; otherwise 0. */
uint32_t event_clockless(const struct expander *expander);

/* One life is always left. */
static inline bool may_die(const struct expander *expander)
{
    return budgets_of(expander)->crashes && expander->alive & (expander->alive - 1);
}

/* What an event leads to, for every outcome of its step. */
void event_take(struct expander *expander, const struct event *event);
/* A node dies between two steps. */
void event_crash(struct expander *expander, cv_node node, bool missed);
/* A link is cut; or, if it is, healed. */
void event_cut(struct expander *expander, cv_node one, cv_node other);

#endif
