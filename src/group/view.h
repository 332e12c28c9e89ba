// SPDX-License-Identifier: MIT
/* Sets of nodes, the roster of a group, and views. */
#ifndef CONCLAVE_GROUP_VIEW_H
#define CONCLAVE_GROUP_VIEW_H

#include <conclave/algorithm.h>

#define CV_MOST_EPOCHS ((1u << (64 - CV_VIEW_BITS)) - 1u) /* epochs of views: a fence has room for no more */
#define CV_MAX_MEMBERS 64u                                /* members of a live group: a set of them fits into a word */
#define CV_MOST_VOTERS 7u

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
 * A view: a numbered set of members. Within a view no member dies. The node that begins a view gives it a base for its
 * fences that is higher than all fences of earlier views.
 */
struct cv_view {
    uint64_t epoch; /* 0: not in a view yet */
    uint64_t base;
    cv_set members;
    cv_node coordinator;
};

/*
 * The base of a view that begins now. Without a disk only the time of day is surely higher after a restart. Each
 * millisecond has room for 2^22 fences, more than a name uses in one. If the clock is set back across a restart, fences
 * may repeat. `group raft` keeps its epochs on disk instead.
 */
static inline uint64_t cv_view_base(uint64_t unix_ms, uint64_t last_base)
{
    const uint64_t first_ms = 1735689600000ull; /* 2025-01-01, so that the number stays positive until 2094 */
    const uint64_t base = (unix_ms > first_ms ? unix_ms - first_ms : 1) << 22;
    return base > last_base ? base : last_base + (1ull << 22);
}

/*
 * A client's fence: the view's base, the algorithm's own count in this view, the node that was let in, and the place
 * among the grants of that entry. A hostile member can let two nodes in with the same count. The node's bits keep the
 * fences of their clients apart.
 *
 *     base + | count | node, as many bits as the view's members need, 3 at least | grant 10 |
 *
 * A hostile member can also tell two nodes different views of one epoch. At least 3 bits keep fences apart then, too,
 * in a group of up to eight.
 */
#define CV_GRANT_BITS 10u

static inline uint32_t cv_view_node_bits(const struct cv_view *view)
{
    uint32_t bits = 3;
    while (bits < 6 && view->members >> (1u << bits))
        bits++;
    return bits;
}

/* The first fence of that node's entry. */
static inline uint64_t cv_view_fence(const struct cv_view *view, uint64_t count, cv_node node)
{
    return view->base + ((count << cv_view_node_bits(view) | node) << CV_GRANT_BITS);
}

/* The number of entries per name that a view has fences for. */
static inline uint64_t cv_view_entries(const struct cv_view *view)
{
    return 1ull << (CV_VIEW_BITS - CV_GRANT_BITS - cv_view_node_bits(view));
}

/* Do `count` fences from `fence` on belong to one entry of that node? */
static inline bool cv_view_is_entry_of(const struct cv_view *view, uint64_t fence, uint64_t count, cv_node node)
{
    const uint64_t offset = fence - view->base, grants = 1ull << CV_GRANT_BITS;
    return fence >= view->base && !(offset >> CV_VIEW_BITS) && offset % grants + count <= grants &&
           (offset >> CV_GRANT_BITS) % (1ull << cv_view_node_bits(view)) == node;
}

#endif
