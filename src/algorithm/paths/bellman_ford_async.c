// SPDX-License-Identifier: MIT
/*
 * R. Bellman, L. R. Ford: shortest paths, without rounds: as the ARPANET's first routing did it (J. McQuillan,
 * D. Walden, Computer Networks 1, 1977).
 *
 * The source tells its neighbours how far they are from it. A node that is told of a shorter way than it knows takes
 * it, and tells its own neighbours at once. The result is right for all delays, but a bad way that is fast is passed
 * on before the good one comes: on `--graph gadget:K` the last node is told 2^K distances, each shorter than the one
 * before.
 *
 * Safety    a distance is that of a real way
 * Liveness  every correction makes a distance smaller, and there are finitely many ways
 * Cost      on the gadget 3(2^K − 1) messages, in general exponentially many; in rounds it would be 2E(n − 1)
 * Assumes   reliable links; weights that are not negative. FIFO is not needed: only what is shorter counts
 */
#include <conclave/algorithm.h>

enum kind { DISTANCE };
enum parameter { SOURCE };

#define UNREACHED UINT64_MAX

struct distance {
    uint64_t distance; /* of the receiver, over the sender */
};

struct state {
    uint64_t distance;
};

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    my->distance = UNREACHED;
}

static void take(struct cv_self *me, uint64_t distance, cv_node via)
{
    struct state *my = me->state;
    my->distance = distance;
    cv_result(me, distance, via);
    for (uint32_t i = 0; i < cv_degree(me); i++)
        if (cv_weight(me, i) != CV_NO_WAY)
            cv_send(me, cv_neighbour(me, i), DISTANCE, &(struct distance){distance + cv_weight(me, i)});
}

static void start(struct cv_self *me)
{
    if (cv_parameter(me, SOURCE) == (int64_t)me->node)
        take(me, 0, me->node);
}

static void on_distance(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const struct distance *offer = cv_body(message);
    if (offer->distance < my->distance)
        take(me, offer->distance, message->from);
}

static const struct cv_field state_fields[] = {{CV_FIELD(struct state, distance, NUMBER)}, {0}};

static const struct cv_field fields[] = {{CV_FIELD(struct distance, distance, NUMBER)}, {0}};

static const struct cv_kind kinds[] = {
    [DISTANCE] = CV_KIND("distance", struct distance, on_distance, fields),
    {0},
};

static const struct cv_parameter parameters[] = {
    [SOURCE] = {"source", "whose distances are sought", NULL, 0, CV_MEMBER, 0},
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/synchronizers/bellman-ford-async.md")

static const struct cv_cost costs[] = {
    {"the gadget, with its own delays", CV_MESSAGES_ARE("3(2^((n − 1)/2) − 1)"),
     CV_STEADY | CV_ALL_ALIVE | CV_SLOW_GADGET, DERIVED},
    {"the gadget, with its own delays", CV_DELAY_IS("2^((n + 1)/2) − 2"), CV_STEADY | CV_ALL_ALIVE | CV_SLOW_GADGET,
     DERIVED},
    {"the gadget, messages pile up", CV_MESSAGES_ARE("3(2^((n − 1)/2) − 1)"),
     CV_STEADY | CV_ALL_ALIVE | CV_SERIAL_GADGET, DERIVED},
    {"the gadget, messages pile up", CV_DELAY_IS("2^((n − 1)/2) + n − 2"), CV_STEADY | CV_ALL_ALIVE | CV_SERIAL_GADGET,
     DERIVED},
    {0},
};

const struct cv_algorithm cv_bellman_ford_async = {
    .abi = CV_ABI,
    .problem = CV_PATHS,
    .name = "bellman-ford-async",
    .title = "Bellman and Ford's shortest paths, asynchronously",
    .citation = "R. Bellman, 1958; L. R. Ford, 1956; J. McQuillan, D. Walden, Computer Networks 1, 1977",
    .topology = CV_GRAPH,
    .assumes = CV_RELIABLE | CV_NO_CRASH,
    .claims = CV_SHORTEST_PATHS,
    .kinds = kinds,
    .parameters = parameters,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_fields = state_fields,
    .init = init,
    .start = start,
};
