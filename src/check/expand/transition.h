// SPDX-License-Identifier: MIT
/* An event that can happen in a state, and the successors that it leads to. */
#ifndef CONCLAVE_CHECK_EXPAND_TRANSITION_H
#define CONCLAVE_CHECK_EXPAND_TRANSITION_H

#include "check/expand/expander.h"

/* Actions that must happen some time if they stay possible: weak fairness. */
enum action_kind { ACTION_DELIVER = 1, ACTION_DELIVER_ONE, ACTION_LEAVE, ACTION_FIRE, ACTION_TELL, ACTION_START };

static inline uint32_t action_of(enum action_kind kind, uint32_t which)
{
    return (uint32_t)kind << 28 | which;
}

/* A handler call, and what comes with it. */
struct transition {
    uint8_t type; /* enum cv_decision_type */
    uint8_t node;
    uint8_t peer;                   /* UINT8_MAX: none */
    uint8_t which;                  /* of several messages, or the timer */
    uint32_t action;                /* 0: it need never happen */
    uint32_t argument;              /* as stepper_step() takes it */
    uint32_t slot;                  /* the channel that it takes a message from, or 0 */
    uint32_t rest;                  /* the contents left in that channel */
    const struct outcome *expected; /* the outcomes, if they are known */
    uint64_t time;                  /* that passes before it */
    bool mistake;                   /* of the detector */
    uint32_t returns;               /* a bit for the node that recovers */
};

/* The action of a node's own event. It need not call or request, but a node inside must leave some time. */
static inline uint32_t transition_own_action(const struct setting *setting, uint8_t type, cv_node node)
{
    if (type == CV_DECIDE_START && setting->all_start)
        return action_of(ACTION_START, node);
    return type == CV_DECIDE_LEAVE ? action_of(ACTION_LEAVE, node) : 0;
}

/* The first message of a channel arrives. */
static inline struct transition transition_delivery(const struct model *model, uint32_t slot,
                                                    const struct contents *list)
{
    return (struct transition){.type = CV_DECIDE_DELIVER,
                               .node = model->to[slot],
                               .peer = model->from[slot],
                               .action = action_of(ACTION_DELIVER, slot),
                               .argument = list->first,
                               .slot = slot,
                               .rest = list->rest};
}

/* Must the node make its request before this outcome? Then there is no successor yet, but the state is no end. */
static inline bool transition_waits(struct expander *expander, const struct outcome *outcome)
{
    if (__builtin_expect(!(outcome->flags & OUTCOME_OVERDUE), 1))
        return false;
    expander->obligations++;
    return true;
}

/* Judges a step: which properties it breaks, and whether it is visible. */
void transition_judge(const struct expander *expander, struct successor *successor);
/* The budgets after a judged step: an entry raises the highest fence. */
uint32_t transition_budgets(struct expander *expander, const struct successor *successor);

/* May another node crash? One node always stays alive. */
static inline bool transition_may_crash(const struct expander *expander)
{
    return expander_budgets(expander)->crashes && expander->alive & (expander->alive - 1);
}

/* Adds the successors by an event, one for every outcome of its step. */
void transition_take(struct expander *expander, const struct transition *transition);
/* A node crashes between two steps. */
void transition_crash(struct expander *expander, cv_node node, bool missed);
/* A link is cut; a cut link heals. */
void transition_cut(struct expander *expander, cv_node one, cv_node other);

#endif
