// SPDX-License-Identifier: MIT
/*
 * L. Lamport: Time, clocks, and the ordering of events in a distributed system. CACM 21(7), 1978.
 *
 * Every process keeps the same queue of requests, ordered by their time. A process that wants to enter tells all
 * others, and they always answer. A process enters when its request is first in its own queue and it has since heard
 * something later from every other: nothing earlier can still be on its way. When it leaves it tells all others to
 * strike its request.
 *
 * Safety    links are FIFO: after something later from a process, no earlier request of it can come
 * Liveness  every process answers at once; the first request of all is first in every queue
 * Cost      3(n − 1) messages, 2 message times before entry, 1 from an exit to the next entry
 * Assumes   reliable FIFO links, no process dies: in a new view without the dead all that wait ask again
 * Fence     the request's time and the rank of its id: entries happen in this order
 */
#include <conclave/algorithm.h>

enum kind { REQUEST, ACK, RELEASE };

/* Every message says when it was sent. */
struct stamp {
    uint64_t time;
};

/* What a node knows of each node, itself included. */
struct peer {
    uint64_t request; /* the time of its outstanding request; NONE if there is none */
    uint64_t later;   /* it has said something later than my outstanding request */
};

#define NONE UINT64_MAX

struct state {
    uint64_t inside;
    struct peer peers[];
};

static size_t state_size(const struct cv_group *group, cv_node node)
{
    (void)node;
    return sizeof(struct state) + group->nodes * sizeof(struct peer);
}

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    for (cv_node node = 0; node < cv_nodes(me); node++)
        my->peers[node].request = NONE;
}

static void adopt(struct cv_self *me, cv_node holder, uint64_t fence)
{
    struct state *my = me->state;
    (void)fence;
    if (holder != CV_NOBODY)
        my->peers[holder].request = 0;
    my->inside = me->node == holder;
}

/* Was that request made before mine? */
static bool before_mine(const struct cv_self *me, cv_node node)
{
    const struct state *my = me->state;
    return cv_before(me, my->peers[node].request, node, my->peers[me->node].request, me->node);
}

static void try_to_enter(struct cv_self *me)
{
    struct state *my = me->state;
    const uint64_t mine = my->peers[me->node].request;
    if (my->inside || mine == NONE)
        return;
    for (uint32_t i = 0; i < cv_degree(me); i++) {
        const cv_node node = cv_neighbour(me, i);
        if (!my->peers[node].later || before_mine(me, node))
            return;
    }
    my->inside = true;
    cv_enter(me, cv_request_fence(me, mine));
}

static void hear(struct cv_self *me, cv_node node, uint64_t time)
{
    struct state *my = me->state;
    const uint64_t mine = my->peers[me->node].request;
    my->peers[node].later |= mine != NONE && time > mine;
}

static void want(struct cv_self *me)
{
    struct state *my = me->state;
    const uint64_t now = cv_clock(me);
    my->peers[me->node].request = now;
    cv_multicast(me, REQUEST, &(struct stamp){now});
    try_to_enter(me);
}

static void on_request(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct stamp *stamp = cv_body(message);
    my->peers[message->from].request = stamp->time;
    hear(me, message->from, stamp->time);
    cv_send(me, message->from, ACK, &(struct stamp){cv_clock(me)});
    try_to_enter(me);
}

static void on_ack(struct cv_self *me, const struct cv_message *message)
{
    const struct stamp *stamp = cv_body(message);
    hear(me, message->from, stamp->time);
    try_to_enter(me);
}

static void release(struct cv_self *me)
{
    struct state *my = me->state;
    my->inside = false;
    my->peers[me->node].request = NONE;
    for (uint32_t i = 0; i < cv_degree(me); i++)
        my->peers[cv_neighbour(me, i)].later = false;
    cv_multicast(me, RELEASE, &(struct stamp){cv_clock(me)});
}

static void on_release(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct stamp *stamp = cv_body(message);
    my->peers[message->from].request = NONE;
    hear(me, message->from, stamp->time);
    try_to_enter(me);
}

/* A node has one request at a time, and releases only that. */
static bool valid(const struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const bool requested = my->peers[message->from].request != NONE;
    return message->kind == REQUEST ? !requested : message->kind == RELEASE ? requested : true;
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, inside, FLAG)},
    {CV_FIELD(struct state, peers[0].request, CLOCK), .each = CV_EACH_NODE},
    {CV_FIELD(struct state, peers[0].later, FLAG), .each = CV_EACH_NODE},
    {0},
};

static const struct cv_field fields[] = {{CV_FIELD(struct stamp, time, CLOCK)}, {0}};

static const struct cv_kind kinds[] = {
    [REQUEST] = CV_KIND("request", struct stamp, on_request, fields),
    [ACK] = CV_KIND("ack", struct stamp, on_ack, fields),
    [RELEASE] = CV_KIND("release", struct stamp, on_release, fields),
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/mutex/lamport.md")

static const struct cv_cost costs[] = {
    {"best", CV_MESSAGES_ARE("3(n − 1)"), CV_LISTED, DERIVED},
    {"worst", CV_MESSAGES_ARE("3(n − 1)"), CV_LISTED, DERIVED},
    {"3(n − 1) an entry", CV_MESSAGES_ARE("3(n − 1)e"), CV_STEADY | CV_ALL_ALIVE, DERIVED},
    {0},
};

const struct cv_algorithm cv_lamport = {
    .abi = CV_ABI,
    .problem = CV_MUTEX,
    .name = "lamport",
    .title = "Lamport's mutual exclusion",
    .citation = "L. Lamport, CACM 21(7), 1978",
    .topology = CV_COMPLETE,
    .assumes = CV_RELIABLE | CV_FIFO | CV_KNOWN_GROUP | CV_NO_CRASH,
    .claims = CV_MUTEX_CLAIMS | CV_BOUNDED_WAITING | CV_REQUEST_ORDER,
    .kinds = kinds,
    .costs = costs,
    .state_size = state_size,
    .state_fields = state_fields,
    .init = init,
    .adopt = adopt,
    .request = want,
    .release = release,
    .valid = valid,
    .hints = {.clocked = CV_CLOCKS_REQUESTS, .alike = true},
};
