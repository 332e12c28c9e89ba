// SPDX-License-Identifier: MIT
/*
 * The rank that a state belongs to. A step changes one node and some channels; so the owner depends on the states of a
 * few nodes only (Lerda and Sisto 1999). A step of any other node leads to a state of the same rank. More nodes would
 * share the states more evenly, and send more of them.
 *
 * Nodes that make the same requests are compared, two at a time: where one is further than the other, half of the ranks
 * own the state. Both are ahead equally often, and rarely pass each other, so this sends fewer states than a hash.
 *
 * States that differ only in names must have one owner. Where there are any, the owner depends on their common key.
 */
#ifndef CONCLAVE_CHECK_SEARCH_STATE_OWNER_H
#define CONCLAVE_CHECK_SEARCH_STATE_OWNER_H

#include "check/expand/expander.h"

/* What the owner of a state depends on in one of its nodes. */
struct node_trait {
    uint32_t weight; /* what it adds to the sum; 0: not known yet */
    uint32_t left;   /* how much of its requests it still has before it */
};

struct ownership {
    const struct model *model;
    uint32_t ranks;
    uint32_t nodes;            /* a bit for each node that counts for the sum; 0: the key counts, and nothing else */
    uint32_t pairs;            /* a bit for the first of each two neighbours that are compared */
    struct node_trait *traits; /* by the number of a node state */
    uint32_t room;
};

/* `symmetric`: there are states that differ only in names. */
void ownership_init(struct ownership *ownership, const struct model *model, uint32_t ranks, bool symmetric);
void ownership_free(struct ownership *ownership);

/* Finds the trait of a node state, which is the same in every rank. */
struct node_trait owner_find_trait(struct ownership *ownership, uint32_t number);

static inline struct node_trait owner_trait(struct ownership *ownership, uint32_t number)
{
    if (__builtin_expect(number < ownership->room && ownership->traits[number].weight, 1))
        return ownership->traits[number];
    return owner_find_trait(ownership, number);
}

/* One of so many ranks, by a sum or a key. */
static inline uint32_t owner_among(uint32_t ranks, uint64_t sum)
{
    const uint64_t mixed = sum * 0x9e3779b97f4a7c15ull >> 32;
    return (uint32_t)(mixed * ranks >> 32);
}

/*
 * The rank for the states of all nodes. The first two that are not equally far decide about half of the ranks; the sum
 * about the rest. `deciding`: a bit for each node whose step may change the owner.
 */
static inline uint32_t owner_by_nodes(struct ownership *ownership, const uint32_t *nodes, uint32_t *deciding)
{
    uint32_t first = 0, ranks = ownership->ranks, sum = 0;
    *deciding = 0;
    for (uint32_t rest = ownership->pairs; rest && ranks == ownership->ranks; rest &= rest - 1) {
        const uint32_t one = (uint32_t)__builtin_ctz(rest);
        const uint32_t left = owner_trait(ownership, nodes[one]).left;
        const uint32_t other = owner_trait(ownership, nodes[one + 1]).left;
        *deciding |= 3u << one;
        if (left != other) {
            ranks /= 2;
            first = left < other ? ranks : 0;
        }
    }
    if (ranks == 1)
        return first;
    *deciding |= ownership->nodes;
    for (uint32_t rest = ownership->nodes; rest; rest &= rest - 1)
        sum += owner_trait(ownership, nodes[__builtin_ctz(rest)]).weight;
    return first + owner_among(ranks, sum);
}

static inline uint32_t owner_of_state(struct ownership *ownership, const uint32_t *state, struct fingerprint key)
{
    uint32_t deciding;
    return ownership->nodes ? owner_by_nodes(ownership, state, &deciding) : owner_among(ownership->ranks, key.half[0]);
}

/* A state whose successors need an owner. */
struct owned_state {
    uint32_t nodes[CV_CHECK_MOST_NODES]; /* their states */
    uint32_t owner, deciding;
};

static inline void owner_begin(struct ownership *ownership, const uint32_t *state, struct owned_state *owned)
{
    if (!ownership->nodes)
        return;
    memcpy(owned->nodes, state, ownership->model->setting.nodes * sizeof *state);
    owned->owner = owner_by_nodes(ownership, state, &owned->deciding);
}

/* The owner of a successor by a list of changes. */
uint32_t owner_of_changed(struct ownership *ownership, const struct expander *expander, const struct owned_state *owned,
                          const struct successor *successor);

static inline uint32_t owner_of_successor(struct ownership *ownership, const struct expander *expander,
                                          struct owned_state *owned, const struct successor *successor)
{
    if (!ownership->nodes)
        return owner_among(ownership->ranks, successor->key.half[0]);
    if (!successor->fast_path)
        return owner_of_changed(ownership, expander, owned, successor);
    if (!(owned->deciding >> successor->node & 1))
        return owned->owner;
    uint32_t deciding;
    const uint32_t before = owned->nodes[successor->node];
    owned->nodes[successor->node] = successor->outcome->node_state;
    const uint32_t owner = owner_by_nodes(ownership, owned->nodes, &deciding);
    owned->nodes[successor->node] = before;
    return owner;
}

#endif
