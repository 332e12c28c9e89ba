// SPDX-License-Identifier: MIT
/*
 * N. Lynch: Distributed algorithms, 1996, section 4.1: FloodMax and OptFloodMax. An election on any network.
 *
 * In every round each node tells its neighbours the best rank it has heard of, its own at first. A rank gets one link
 * farther in each round, so after as many rounds as the network is wide all have heard of the best: n − 1 are enough
 * for every network, and no node has to know more of it than n.
 *
 * Safety    a rank that spreads is that of a node; after the last round no node knows of a better one
 * Liveness  rounds go on
 * Cost      2E messages a round, 2E(n − 1) in all; with send=changed only nodes that have heard of a better one send
 * Assumes   rounds; links that carry messages both ways, whatever their weights
 */
#include <conclave/algorithm.h>

enum kind { BEST };
enum parameter { SEND };
enum send { ALWAYS, CHANGED };

struct best {
    cv_rank rank;
};

struct state {
    cv_rank best;     /* that I have heard of */
    uint64_t changed; /* since I last told the neighbours */
};

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    my->best = cv_my_rank(me);
    my->changed = true;
}

static void pulse(struct cv_self *me, uint64_t round)
{
    struct state *my = me->state;
    if (round == 1)
        cv_call(me);
    if (cv_parameter(me, SEND) == CHANGED && !my->changed)
        return;
    my->changed = false;
    cv_multicast(me, BEST, &(struct best){my->best});
}

static void on_best(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct best *theirs = cv_body(message);
    if (theirs->rank <= my->best)
        return;
    my->best = theirs->rank;
    my->changed = true;
}

static void finish(struct cv_self *me)
{
    const struct state *my = me->state;
    if (!cv_rounds(me))
        cv_call(me);
    cv_elected(me, cv_rank_id(my->best));
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, best, RANK)},
    {CV_FIELD(struct state, changed, FLAG)},
    {0},
};

static const struct cv_field fields[] = {{CV_FIELD(struct best, rank, RANK)}, {0}};

static const struct cv_kind kinds[] = {
    [BEST] = CV_KIND("best", struct best, on_best, fields),
    {0},
};

static const struct cv_parameter parameters[] = {
    [SEND] = {"send", "who speaks in a round: everybody, or who has heard of a better one", "always|changed", 0,
              CV_CHOICE, 0},
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/synchronizers/flood-max.md")

static const struct cv_cost costs[] = {
    {"everybody in every round", CV_MESSAGES_ARE("2E·R"), CV_LISTED, DERIVED},
    {"in rounds", CV_DELAY_IS("R"), CV_LISTED, DERIVED},
    {0},
};

const struct cv_algorithm cv_flood_max = {
    .abi = CV_ABI,
    .problem = CV_SYNCHRONOUS,
    .name = "flood-max",
    .title = "Lynch's FloodMax election",
    .citation = "N. Lynch, Distributed Algorithms, 1996, section 4.1",
    .topology = CV_GRAPH,
    .assumes = CV_RELIABLE,
    .claims = CV_ELECTION_CLAIMS | CV_PER_COMPONENT,
    .kinds = kinds,
    .parameters = parameters,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_fields = state_fields,
    .init = init,
    .pulse = pulse,
    .finish = finish,
};
