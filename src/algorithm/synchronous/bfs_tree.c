// SPDX-License-Identifier: MIT
/*
 * N. Lynch: Distributed algorithms, 1996, section 4.2: SynchBFS. A breadth-first tree, layer by layer.
 *
 * The source is the root. A node that has joined the tree in one round searches in the next: it writes to all
 * neighbours, and those that are not in the tree yet join it below the first that asked. So the tree grows by one layer
 * a round, and a node's depth is the fewest links between it and the source.
 *
 * Safety    a parent is a neighbour that is one layer higher
 * Liveness  a node that is k links away has joined after k rounds
 * Cost      every node searches once, with a message over each of its links: 2E in all; as many rounds as there are
 *           layers
 * Assumes   rounds: a slow link would make a detour look shorter
 */
#include <conclave/algorithm.h>

enum kind { SEARCH };
enum parameter { SOURCE };

#define OUTSIDE UINT64_MAX /* the depth of a node that has not joined the tree */

struct search {
    uint64_t depth; /* of the sender */
};

struct state {
    uint64_t depth;
    cv_node parent;  /* the source's, and before one joins: oneself */
    uint32_t joined; /* in the round before: in this one it searches */
};

static void join(struct cv_self *me, uint64_t depth, cv_node parent)
{
    struct state *my = me->state;
    *my = (struct state){depth, parent, true};
    cv_result(me, depth, parent);
}

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    my->depth = OUTSIDE;
    my->parent = me->node;
}

static void pulse(struct cv_self *me, uint64_t round)
{
    struct state *my = me->state;
    if (round == 1 && cv_parameter(me, SOURCE) == (int64_t)me->node)
        join(me, 0, me->node);
    if (!my->joined)
        return;
    my->joined = false;
    for (uint32_t i = 0; i < cv_degree(me); i++)
        if (cv_weight(me, i) != CV_NO_WAY)
            cv_send(me, cv_neighbour(me, i), SEARCH, &(struct search){my->depth});
}

static void on_search(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const struct search *search = cv_body(message);
    if (my->depth == OUTSIDE)
        join(me, search->depth + 1, message->from);
}

/* Without any round nobody was asked: a source that is alone, say. */
static void finish(struct cv_self *me)
{
    if (!cv_rounds(me) && cv_parameter(me, SOURCE) == (int64_t)me->node)
        join(me, 0, me->node);
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, depth, NUMBER)},
    {CV_FIELD(struct state, parent, NODE)},
    {CV_FIELD(struct state, joined, FLAG)},
    {0},
};

static const struct cv_field fields[] = {{CV_FIELD(struct search, depth, NUMBER)}, {0}};

static const struct cv_kind kinds[] = {
    [SEARCH] = CV_KIND("search", struct search, on_search, fields),
    {0},
};

static const struct cv_parameter parameters[] = {
    [SOURCE] = {"source", "the root of the tree", NULL, 0, CV_MEMBER, 0},
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/synchronizers/bfs-tree.md")

static const struct cv_cost costs[] = {
    {"everybody once", CV_MESSAGES_ARE("2E"), CV_LISTED, DERIVED},
    {"in rounds", CV_DELAY_IS("R"), CV_LISTED, DERIVED},
    {0},
};

const struct cv_algorithm cv_bfs_tree = {
    .abi = CV_ABI,
    .problem = CV_SYNCHRONOUS,
    .name = "bfs-tree",
    .title = "Lynch's breadth-first tree",
    .citation = "N. Lynch, Distributed Algorithms, 1996, section 4.2",
    .topology = CV_GRAPH,
    .assumes = CV_RELIABLE,
    .claims = CV_FEWEST_HOPS,
    .kinds = kinds,
    .parameters = parameters,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_fields = state_fields,
    .init = init,
    .pulse = pulse,
    .finish = finish,
};
