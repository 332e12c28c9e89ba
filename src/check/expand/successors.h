// SPDX-License-Identifier: MIT
/* All that can happen next in a state, and what each leads to. This is the meaning of a check. */
#ifndef CONCLAVE_CHECK_EXPAND_SUCCESSORS_H
#define CONCLAVE_CHECK_EXPAND_SUCCESSORS_H

#include "check/reduce/commute.h"
#include "check/symmetry/symmetry.h"

#define EVERY_NODE UINT32_MAX
#define MOST_PROSPECTS 4096u

/* What a step does wrong: a bit for each property that it breaks. */
enum wrong {
    WRONG_NOTHING = 0,
    WRONG_EXCLUSION = 1u << 0,
    WRONG_FENCE = 1u << 1,
    WRONG_INVARIANT = 1u << 2,
    WRONG_RECALL = 1u << 3,
    WRONG_LEADER = 1u << 4,
    WRONG_AGREEMENT = 1u << 5
};

/* The property that one of these breaks. */
const char *wrong_name(enum wrong wrong);

/* The parts of the vector that a step changes. */
struct change {
    uint32_t slot, number;
};

struct successor {
    struct print print;
    struct print key; /* what it is known by: the print, or that of the same with other names */
    uint8_t type;     /* enum cv_decision_type */
    uint8_t node, peer, node_state;
    bool fast_path; /* no list of changes: they follow from the outcome and from what is named here */
    bool missed;
    bool visible;                  /* it changes what is judged at every state of several nodes */
    uint8_t wrong;                 /* enum wrong, or'ed */
    uint32_t action;               /* which event it was, as fairness sees it; 0: it need never happen */
    uint32_t sent;                 /* CV_WHOLE, or cut short by a crash after so many */
    const struct outcome *outcome; /* NULL: a crash */
    uint32_t first, count;         /* its changes */
    uint32_t slot, rest, budgets;  /* light: a channel, or 0, and what is left in it; the world */
};

/* A wish of a node or the arrival of a message, before what it leads to has been looked up. */
struct enabled {
    struct step step;
    union {
        const struct memo_entry *at;   /* where that is remembered */
        const struct outcome *outcome; /* NULL: it is to be worked out */
    };
    const struct contents *list; /* of the channel; NULL: a wish */
    uint16_t slot;               /* the channel, or 0 */
    uint8_t type, node;
};

/* What can happen in a state by itself, at a look. */
struct enabled_set {
    uint32_t first, end;            /* of the prospects */
    uint32_t alive, without_clocks; /* as in the expander */
    uint64_t wishes;
    bool over; /* a perpetual algorithm has nothing left to do */
};

struct expander {
    struct model *model;
    struct stepper stepper;
    struct foresight foresight;
    struct commuting commuting;
    struct symmetry symmetry;
    struct memo quiet; /* nodes and channels without clocks, or with capped ones, by number and how far clocks go */
    bool fast_path;    /* nothing but steps changes anything: see light.h */

    /* The result. */
    struct successor *successors;
    struct change *changes;
    uint32_t count, room, change_count, change_room;
    uint32_t obliged; /* how many of them must happen */

    /* While at it. */
    uint32_t *state;
    struct print print;
    uint32_t alive;                                /* a bit for each node that lives */
    uint64_t wishes;                               /* every node's glance, GLANCE_BITS each */
    uint32_t without_clocks;                       /* HUSHED, and how far clocks go, if nobody will ask any more */
    struct enabled enabled_events[MOST_PROSPECTS]; /* of several states */
    uint32_t enabled_count;
    uint32_t touched[MOST_PARTS], old[MOST_PARTS], touch_count;
};

/* Changes a part of the state that is being made. */
void expand_set(struct expander *expander, struct successor *successor, uint32_t slot, uint32_t number);

/* recount.c: counts the numbers that grow for ever from the lowest on. */
void recount(struct expander *expander, struct successor *successor);
/* Drops the clocks, or caps them, as `alive` says. */
void drop_clocks(struct expander *expander, struct successor *successor, uint32_t alive);

/* `lore`: as stepper_init() takes it. */
int expander_init(struct expander *expander, struct model *model, struct memos *memos);
void expander_free(struct expander *expander);

/* Of all it remembers. */
uint64_t expander_bytes(const struct expander *expander);

/* See memo_tidy(). */
void expander_tidy(struct expander *expander);

/* Who lives, and whether the clocks have been dropped: as stepper_step() takes it. */
uint32_t expand_alive(struct expander *expander, uint32_t *state);

/* Forgets the successors found so far. */
static inline void expand_clear(struct expander *expander)
{
    expander->count = expander->change_count = expander->obliged = 0;
    expander->enabled_count = 0;
}

/*
 * Adds the successors by events at the nodes of a mask. The state is used while at it and left as it was. Nothing
 * happens in a state in which a perpetual algorithm has nothing left to do.
 */
void expand(struct expander *expander, uint32_t *state, struct print print, uint32_t nodes);

/*
 * The same in three steps, each for several states before the next, so that the cache has time to fetch what the next
 * one needs.
 */
void expand_look(struct expander *expander, uint32_t *state, struct enabled_set *enabled_set);
void expand_look_up(struct expander *expander);
void expand_all(struct expander *expander, uint32_t *state, struct print print, const struct enabled_set *enabled_set);

/* The same, but by nothing than the arrival of the first message of a channel. */
void expand_delivery(struct expander *expander, uint32_t *state, struct print print, uint32_t slot);

/* Writes a successor of the state over it. */
void expand_apply(struct expander *expander, const struct successor *successor, uint32_t *state);

/* The decision that leads there. */
struct cv_decision expand_decision(const struct successor *successor);

#endif
