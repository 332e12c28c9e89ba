// SPDX-License-Identifier: MIT
/*
 * R. Bellman: On a routing problem, 1958; L. R. Ford: Network flow theory, 1956. As a synchronous algorithm.
 *
 * In every round each node offers each neighbour the way over itself: its own distance from the source and the edge
 * between them. A node that is offered a shorter way than it knows takes it. After r rounds every node knows the
 * shortest way of at most r edges, so n − 1 rounds are enough.
 *
 * Safety    a distance is that of a real way
 * Liveness  the k-th node of a shortest way has its distance after k rounds
 * Cost      2E messages a round, 2E(n − 1) in all; with send=changed only nodes with a new distance send
 * Assumes   rounds; weights that are not negative
 */
#include <conclave/algorithm.h>

enum kind { OFFER };
enum parameter { SOURCE, SEND };
enum send { ALWAYS, CHANGED };

#define UNREACHED UINT64_MAX

struct offer {
    uint64_t distance; /* of the receiver, over the sender */
};

struct state {
    uint64_t distance;
    cv_node via;      /* the neighbour on the way to the source */
    uint32_t changed; /* since I last told the neighbours */
};

/* By default the smallest id. */
static bool is_source(const struct cv_self *me)
{
    return cv_parameter(me, SOURCE) == (int64_t)me->node;
}

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    my->distance = is_source(me) ? 0 : UNREACHED;
    my->via = me->node;
    my->changed = is_source(me);
}

static void pulse(struct cv_self *me, uint64_t round)
{
    struct state *my = me->state;
    if (round == 1 && is_source(me))
        cv_result(me, 0, me->node);
    if (cv_parameter(me, SEND) == CHANGED && !my->changed)
        return;
    my->changed = false;
    for (uint32_t i = 0; i < cv_degree(me); i++) {
        const uint64_t distance = my->distance == UNREACHED ? UNREACHED : my->distance + cv_weight(me, i);
        if (cv_weight(me, i) != CV_NO_WAY)
            cv_send(me, cv_neighbour(me, i), OFFER, &(struct offer){distance});
    }
}

static void on_offer(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct offer *offer = cv_body(message);
    if (offer->distance >= my->distance)
        return;
    my->distance = offer->distance;
    my->via = message->from;
    my->changed = true;
    cv_result(me, my->distance, my->via);
}

/* Without any round nobody was asked: a source that is alone, say. */
static void finish(struct cv_self *me)
{
    if (!cv_rounds(me) && is_source(me))
        cv_result(me, 0, me->node);
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, distance, NUMBER)},
    {CV_FIELD(struct state, via, NODE)},
    {CV_FIELD(struct state, changed, FLAG)},
    {0},
};

static const struct cv_field fields[] = {{CV_FIELD(struct offer, distance, NUMBER)}, {0}};

static const struct cv_kind kinds[] = {
    [OFFER] = CV_KIND("offer", struct offer, on_offer, fields),
    {0},
};

static const struct cv_parameter parameters[] = {
    [SOURCE] = {"source", "whose distances are sought", NULL, 0, CV_MEMBER, 0},
    [SEND] = {"send", "who offers ways in a round: everybody, or who has found a new one", "always|changed", 0,
              CV_CHOICE, 0},
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/synchronizers/bellman-ford.md")

static const struct cv_cost costs[] = {
    {"everybody in every round", CV_MESSAGES_ARE("2E·R"), CV_LISTED, DERIVED},
    {"in rounds", CV_DELAY_IS("R"), CV_LISTED, DERIVED},
    {0},
};

const struct cv_algorithm cv_bellman_ford = {
    .abi = CV_ABI,
    .problem = CV_SYNCHRONOUS,
    .name = "bellman-ford",
    .title = "Bellman and Ford's shortest paths",
    .citation = "R. Bellman, Quarterly of Applied Mathematics 16, 1958; L. R. Ford, RAND P-923, 1956",
    .topology = CV_GRAPH,
    .assumes = CV_RELIABLE,
    .claims = CV_SHORTEST_PATHS,
    .kinds = kinds,
    .parameters = parameters,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_fields = state_fields,
    .init = init,
    .pulse = pulse,
    .finish = finish,
};
