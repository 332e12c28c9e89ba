// SPDX-License-Identifier: MIT
/* Sets of nodes, the roster of a group, and views. */
#ifndef CONCLAVE_GROUP_VIEW_H
#define CONCLAVE_GROUP_VIEW_H

#include <conclave/algorithm.h>

#define CV_MAX_MEMBERS 64u /* members of a live group: a set of them fits into a word */
#define CV_MOST_VOTERS 7u
#define CV_LAST_EPOCH UINT32_MAX /* of a view: the rounds of ballots have room for no more */

/* Sets of nodes: bit i is node i. */
typedef uint64_t cv_set;

static inline cv_set cv_set_of(cv_node node)
{
    return 1ull << node;
}

static inline bool cv_set_has(cv_set set, cv_node node)
{
    return set >> node & 1;
}

static inline cv_set cv_set_first(uint32_t count)
{
    return count < 64 ? (1ull << count) - 1 : UINT64_MAX;
}

static inline uint32_t cv_set_count(cv_set set)
{
    return (uint32_t)__builtin_popcountll(set);
}

#define CV_NO_ID UINT32_MAX /* the id in a free place */

/* What a group remembers of a member's directory, so that it notices another directory, or an old copy. */
struct cv_known_directory {
    uint32_t directory; /* its number; 0: unknown, as the member has been in no view */
    uint32_t starts;    /* its count of starts when a view last took it in */
    uint32_t kept;      /* the last entry that it then surely had on disk */
};

enum cv_mode { CV_MODE_STATIC = 1, CV_MODE_RAFT, CV_MODE_TIE }; /* the way in which views are made */

/*
 * The members of the group, and the place of each. At first they stand in the order of their ids, as every member's
 * configuration has them. In `group raft` they stand as the log has them from the first entry on (group/seating.h).
 */
struct cv_roster {
    enum cv_mode mode;
    uint32_t count; /* places; some may be empty */
    cv_node me;
    uint64_t group;      /* the number of the group; 0: not known yet */
    uint64_t former;     /* the group that this one was recovered from, or 0 */
    bool vouches;        /* this node knows the members of the group, and their directories */
    uint32_t generation; /* how often the roster has changed */
    cv_id ids[CV_MAX_MEMBERS];
    uint32_t attributes[CV_MAX_MEMBERS];
    const char *addresses[CV_MAX_MEMBERS];           /* where peers connect; NULL in a group of one */
    const char *clients[CV_MAX_MEMBERS];             /* where clients connect; NULL: unknown */
    cv_set voters;                                   /* `group raft`: the members that vote */
    cv_set standbys;                                 /* `group raft`: the members that never vote */
    struct cv_known_directory known[CV_MAX_MEMBERS]; /* `group raft`: the members' directories */
};

/*
 * A view: a numbered set of members. Within a view no member dies. It has a block of numbers, the same for every name,
 * that is higher than the blocks of all earlier views.
 */
struct cv_view {
    uint64_t epoch; /* 0: not in a view yet */
    uint64_t base;  /* the first number of its block */
    cv_set members;
    cv_node coordinator;
    bool alone; /* the group has one member */
};

/*
 * Clients' fences stay below 2^53, because JavaScript, and JSON in many languages, keep no higher number exactly.
 *
 *     | block of the view 30 | the place of the grant in the block | node: 0 bits if it is alone, otherwise 3 to 6 |
 *                            '------------------------------ 23 bits ------------------------------------------'
 *
 * 2^30 blocks are a view each second for 34 years. A name that has used up its block waits for the next view.
 */
#define CV_BLOCK_BITS 23u
#define CV_BLOCK (1ull << CV_BLOCK_BITS)

/* The base of an agreed view. The log keeps its epochs on disk. */
static inline uint64_t cv_view_agreed_base(uint64_t epoch)
{
    return epoch < CV_FENCE_END >> CV_BLOCK_BITS ? epoch << CV_BLOCK_BITS : CV_FENCE_END;
}

/* 2025-01-01, so that there are fences until 2094. A node with an earlier clock would repeat them: it ends. */
#define CV_FIRST_MS 1735689600000ull

/*
 * The base of a view that begins now. Without a disk only the time of day is surely higher after a restart. Each
 * millisecond has room for 2^12 fences, more than a name uses in one. If the clock is set back across a restart, fences
 * may repeat. `group raft` keeps its epochs on disk instead.
 */
static inline uint64_t cv_view_base(uint64_t unix_ms, uint64_t last_base)
{
    const uint64_t ms = unix_ms > CV_FIRST_MS ? unix_ms - CV_FIRST_MS : 1;
    const uint64_t base = ms < CV_FENCE_END >> 12 ? ms << 12 : CV_FENCE_END;
    if (last_base >= CV_FENCE_END - CV_BLOCK)
        return CV_FENCE_END;
    return base > last_base ? base : last_base + CV_BLOCK;
}

/* Is the whole block below 2^53? Otherwise nobody is let in. */
static inline bool cv_view_has_fences(const struct cv_view *view)
{
    return view->base <= CV_FENCE_END - CV_BLOCK;
}

/*
 * A hostile member can let two nodes in at once. The node's bits keep the fences of their clients apart. A hostile
 * member can also tell two nodes different views of one epoch. At least 3 bits keep fences apart then, too, in a group
 * of up to eight.
 */
static inline uint32_t cv_view_node_bits(const struct cv_view *view)
{
    uint32_t bits = view->alone ? 0 : 3;
    while (bits && bits < 6 && view->members >> (1u << bits))
        bits++;
    return bits;
}

/* Between two fences of one node. */
static inline uint64_t cv_view_step(const struct cv_view *view)
{
    return 1ull << cv_view_node_bits(view);
}

/* The number of places that a view's block has. */
static inline uint64_t cv_view_places(const struct cv_view *view)
{
    return CV_BLOCK >> cv_view_node_bits(view);
}

static inline uint64_t cv_view_fence(const struct cv_view *view, uint64_t place, cv_node node)
{
    return view->base + (place << cv_view_node_bits(view)) + (view->alone ? 0 : node);
}

/* The place of a fence of this view. */
static inline uint64_t cv_view_place(const struct cv_view *view, uint64_t fence)
{
    return (fence - view->base) >> cv_view_node_bits(view);
}

/* Are `count` fences from `fence` on such as that node gives? */
static inline bool cv_view_gives(const struct cv_view *view, uint64_t fence, uint64_t count, cv_node node)
{
    const uint64_t step = cv_view_step(view), offset = fence - view->base;
    return fence >= view->base && offset < CV_BLOCK && offset / step + count <= CV_BLOCK / step &&
           offset % step == (view->alone ? 0 : node);
}

#endif
