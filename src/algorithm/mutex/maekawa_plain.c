// SPDX-License-Identifier: MIT
/*
 * M. Maekawa: A √N algorithm for mutual exclusion in decentralized systems. ACM TOCS 3(2), 1985; as the text first
 * tells it, without what breaks deadlocks.
 *
 * Every process has a voting set; any two sets have a member in common. A process that wants to enter asks its set for
 * their votes. A voter gives its one vote to the first that asks, and keeps the others waiting until it gets it back.
 *
 * Safety    two inside would both have the one vote of the member their sets share
 * Liveness  none: three can each hold a vote that another needs, for ever
 * Cost      3(K − 1) messages for voting sets of K, 2 message times before entry, 2 from an exit to the next entry
 * Assumes   reliable links, no node dies: in a new view without the dead all that wait ask again
 * Fence     each voter tells the highest it has heard of; the entrant takes the highest of all, plus one
 */
#include <conclave/algorithm.h>

enum kind { REQUEST, REPLY, RELEASE };

struct fence {
    uint64_t highest;
};

struct state {
    uint64_t highest; /* voter: of the fences it has heard of */
    uint64_t fence;   /* requester: the highest its voters told of; inside, its own */
    uint32_t missing; /* requester: votes */
    uint32_t voted;   /* voter: the vote is given away */
    uint32_t waiting; /* voter: length of the queue */
    uint32_t unused;
    cv_node queue[]; /* voter: the nodes that wait for the vote, first come first served */
};

static size_t state_size(const struct cv_group *group, cv_node node)
{
    size_t sets = 0;
    for (uint64_t i = 0; i < group->quorums[group->nodes]; i++)
        sets += group->voters[i] == node;
    return sizeof(struct state) + sets * sizeof(cv_node);
}

static bool votes_for(const struct cv_self *me, cv_node node)
{
    for (uint32_t i = 0; i < cv_quorum_size(me, node); i++)
        if (cv_voter(me, node, i) == me->node)
            return true;
    return false;
}

static bool is_my_voter(const struct cv_self *me, cv_node node)
{
    for (uint32_t i = 0; i < cv_quorum_size(me, me->node); i++)
        if (cv_voter(me, me->node, i) == node)
            return true;
    return false;
}

static void adopt(struct cv_self *me, cv_node holder, uint64_t fence)
{
    struct state *my = me->state;
    my->fence = me->node == holder ? fence : 0;
    my->voted = holder != CV_NOBODY && votes_for(me, holder);
}

static void request(struct cv_self *me)
{
    struct state *my = me->state;
    my->fence = 0;
    my->missing = cv_quorum_size(me, me->node);
    for (uint32_t i = 0; i < cv_quorum_size(me, me->node); i++)
        cv_signal(me, cv_voter(me, me->node, i), REQUEST);
}

static void vote(struct cv_self *me, cv_node node)
{
    struct state *my = me->state;
    my->voted = true;
    cv_send(me, node, REPLY, &(struct fence){my->highest});
}

static bool waits(const struct state *my, cv_node node)
{
    for (uint32_t i = 0; i < my->waiting; i++)
        if (my->queue[i] == node)
            return true;
    return false;
}

/* A node that has died and come back asks again, and keeps its position. So the queue never gets too long. */
static void on_request(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    if (!my->voted)
        vote(me, message->from);
    else if (!me->group->absence || !waits(my, message->from))
        my->queue[my->waiting++] = message->from;
}

static void on_reply(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct fence *told = cv_body(message);
    if (told->highest > my->fence)
        my->fence = told->highest;
    if (--my->missing)
        return;
    my->fence = cv_fence_after(me, my->fence);
    cv_enter(me, my->fence);
}

static void release(struct cv_self *me)
{
    const struct state *my = me->state;
    for (uint32_t i = 0; i < cv_quorum_size(me, me->node); i++)
        cv_send(me, cv_voter(me, me->node, i), RELEASE, &(struct fence){my->fence});
}

static void on_release(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct fence *told = cv_body(message);
    if (told->highest > my->highest)
        my->highest = told->highest;
    my->voted = false;
    if (!my->waiting)
        return;
    const cv_node next = my->queue[0];
    memmove(my->queue, my->queue + 1, --my->waiting * sizeof *my->queue);
    my->queue[my->waiting] = 0; /* of equal queues the bytes are equal */
    vote(me, next);
}

static const char *invariant(const struct cv_self *me)
{
    const struct state *my = me->state;
    uint32_t places = 0;
    for (cv_node node = 0; node < cv_nodes(me); node++)
        places += votes_for(me, node);
    for (uint32_t i = my->waiting; i < places; i++)
        if (my->queue[i])
            return "the queue has something after its end";
    return my->waiting && !my->voted ? "a node waits for a vote that is there" : NULL;
}

/* A voter hears from the nodes whose sets it is in, a requester from the members of its own set. */
static bool valid(const struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    switch (message->kind) {
    case REQUEST:
        return votes_for(me, message->from) && !waits(my, message->from);
    case RELEASE:
        return votes_for(me, message->from) && my->voted;
    default:
        return my->missing && is_my_voter(me, message->from);
    }
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, highest, FENCE)},
    {CV_FIELD(struct state, fence, FENCE)},
    {CV_FIELD(struct state, missing, NUMBER)},
    {CV_FIELD(struct state, voted, FLAG)},
    {CV_FIELD(struct state, waiting, NUMBER)},
    {CV_FIELD(struct state, unused, UNUSED)},
    {CV_FIELD(struct state, queue[0], NODE), .each = CV_EACH_SET, .length = offsetof(struct state, waiting)},
    {0},
};

static const struct cv_field fields[] = {{CV_FIELD(struct fence, highest, FENCE)}, {0}};

static const struct cv_kind kinds[] = {
    [REQUEST] = CV_SIGNAL("request", on_request),
    [REPLY] = CV_KIND("reply", struct fence, on_reply, fields),
    [RELEASE] = CV_KIND("release", struct fence, on_release, fields),
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/mutex/maekawa-plain.md")

static const struct cv_cost costs[] = {
    {"best", CV_MESSAGES_ARE("3(K − 1)"), CV_LISTED, DERIVED},
    {"worst", CV_MESSAGES_ARE("3(K − 1)"), CV_LISTED, DERIVED},
    {"3 for each vote but one's own", CV_MESSAGES_ARE("3V"), CV_STEADY | CV_ALL_ALIVE, DERIVED},
    {0},
};

const struct cv_algorithm cv_maekawa_plain = {
    .abi = CV_ABI,
    .problem = CV_MUTEX,
    .name = "maekawa-plain",
    .title = "Maekawa's algorithm, which can deadlock",
    .citation = "M. Maekawa, ACM TOCS 3(2), 1985",
    .topology = CV_COMPLETE,
    .assumes = CV_RELIABLE | CV_KNOWN_GROUP | CV_NO_CRASH,
    .claims = CV_EXCLUSION | CV_FENCES_RISE,
    .quorums = true,
    .kinds = kinds,
    .costs = costs,
    .state_size = state_size,
    .state_fields = state_fields,
    .adopt = adopt,
    .request = request,
    .release = release,
    .invariant = invariant,
    .valid = valid,
    .hints = {.answers = 1u << REPLY},
};
