// SPDX-License-Identifier: MIT
/*
 * The rank that a state belongs to. A step changes one node and some channels; so the owner depends on the states of a
 * few nodes only (Lerda and Sisto 1999). A step of any other node leads to a state of the same rank. More nodes would
 * share the states more evenly, and send more of them.
 *
 * States that differ only in names must have one owner. Where there are any, the owner depends on their common key.
 */
#ifndef CONCLAVE_CHECK_SEARCH_STATE_OWNER_H
#define CONCLAVE_CHECK_SEARCH_STATE_OWNER_H

#include "check/expand/expander.h"

struct ownership {
    const struct model *model;
    uint32_t ranks;
    uint32_t nodes;    /* a bit for each node that counts; 0: the key counts */
    uint32_t *weights; /* by the number of a node state: what it adds; 0: not known yet */
    uint32_t room;
};

/* `symmetric`: there are states that differ only in names. */
void ownership_init(struct ownership *ownership, const struct model *model, uint32_t ranks, bool symmetric);
void ownership_free(struct ownership *ownership);

/* Finds the weight of a node state, which is the same in every rank. */
uint32_t owner_find_weight(struct ownership *ownership, uint32_t number);

static inline uint32_t owner_weight(struct ownership *ownership, uint32_t number)
{
    const uint32_t weight = number < ownership->room ? ownership->weights[number] : 0;
    return __builtin_expect(weight != 0, 1) ? weight : owner_find_weight(ownership, number);
}

/* What the states of the nodes that count add up to. */
static inline uint32_t owner_sum(struct ownership *ownership, const uint32_t *state)
{
    uint32_t sum = 0;
    for (uint32_t rest = ownership->nodes; rest; rest &= rest - 1)
        sum += owner_weight(ownership, state[__builtin_ctz(rest)]);
    return sum;
}

/* The same for a successor of the state, by a list of changes. */
uint32_t owner_sum_changed(struct ownership *ownership, const struct expander *expander, const uint32_t *state,
                           const struct successor *successor);

/* The rank for such a sum, or for a key. */
static inline uint32_t owner_by(const struct ownership *ownership, uint64_t sum)
{
    const uint64_t mixed = sum * 0x9e3779b97f4a7c15ull >> 32;
    return (uint32_t)(mixed * ownership->ranks >> 32);
}

static inline uint32_t owner_of_state(struct ownership *ownership, const uint32_t *state, struct fingerprint key)
{
    return owner_by(ownership, ownership->nodes ? owner_sum(ownership, state) : key.half[0]);
}

/* The owner of a successor of the state with that sum. */
static inline uint32_t owner_of_successor(struct ownership *ownership, const struct expander *expander,
                                          const uint32_t *state, uint32_t sum, const struct successor *successor)
{
    if (!ownership->nodes)
        return owner_by(ownership, successor->key.half[0]);
    if (!successor->fast_path)
        return owner_by(ownership, owner_sum_changed(ownership, expander, state, successor));
    if (ownership->nodes >> successor->node & 1)
        sum +=
            owner_weight(ownership, successor->outcome->node_state) - owner_weight(ownership, state[successor->node]);
    return owner_by(ownership, sum);
}

#endif
