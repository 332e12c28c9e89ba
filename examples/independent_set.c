// SPDX-License-Identifier: MIT
/*
 * An independent set: a synchronous algorithm of one's own, for synchronizers to host.
 *
 *     cc -shared -fPIC -I include -o mine.so examples/independent_set.c
 *     conclave sim alpha --app ./mine.so -n 8
 *
 * Nodes of a graph choose a set of nodes, no two of them neighbours, that no other node could join: stations that may
 * use a radio channel at the same time, say. A node waits until its neighbours of higher ids have decided. If one of
 * them is in, it stays out; otherwise it is in.
 *
 * Safety    of two neighbours the lower one waits for the other, and stays out if that is in
 * Liveness  the highest of the nodes that wait does not wait for any other
 * Cost      every node tells its neighbours once: 2E messages; n − 1 rounds are enough
 * Assumes   rounds
 */
#include <conclave/algorithm.h>

enum kind { DECIDED };
enum status { WAITING, OUT, IN };

struct decision {
    uint32_t status;
};

struct state {
    uint32_t status;
    uint32_t told;   /* the neighbours know */
    uint64_t before; /* neighbours of higher ids that have not decided yet */
};

static void decide_if_first(struct cv_self *me)
{
    struct state *my = me->state;
    if (my->status == WAITING && !my->before)
        my->status = IN;
}

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    for (uint32_t i = 0; i < cv_degree(me); i++)
        my->before += cv_id_of(me, cv_neighbour(me, i)) > cv_my_id(me);
    decide_if_first(me);
}

/* A round begins: all that was sent in the one before has been received. */
static void pulse(struct cv_self *me, uint64_t round)
{
    struct state *my = me->state;
    (void)round;
    if (my->status == WAITING || my->told)
        return;
    my->told = true;
    cv_result(me, my->status == IN, me->node);
    cv_multicast(me, DECIDED, &(struct decision){my->status});
}

static void on_decided(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct decision *theirs = cv_body(message);
    my->before -= cv_id_of(me, message->from) > cv_my_id(me);
    if (my->status == WAITING && theirs->status == IN)
        my->status = OUT;
    decide_if_first(me);
}

/* The last round is over. A node that has decided in it has no neighbour left to tell. */
static void finish(struct cv_self *me)
{
    const struct state *my = me->state;
    if (my->status != WAITING && !my->told)
        cv_result(me, my->status == IN, me->node);
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, status, MODE), .words = "waiting|out|in"},
    {CV_FIELD(struct state, told, FLAG)},
    {CV_FIELD(struct state, before, NUMBER)},
    {0},
};

static const struct cv_field fields[] = {{CV_FIELD(struct decision, status, MODE), .words = "waiting|out|in"}, {0}};

static const struct cv_kind kinds[] = {
    [DECIDED] = CV_KIND("decided", struct decision, on_decided, fields),
    {0},
};

/* The one symbol that conclave looks for. */
const struct cv_algorithm conclave_algorithm = {
    .abi = CV_ABI,
    .problem = CV_SYNCHRONOUS,
    .name = "independent-set",
    .title = "An independent set",
    .citation = "the example of docs/write-your-own.md",
    .topology = CV_GRAPH,
    .assumes = CV_RELIABLE,
    .kinds = kinds,
    .state_bytes = sizeof(struct state),
    .state_fields = state_fields,
    .init = init,
    .pulse = pulse,
    .finish = finish,
};
