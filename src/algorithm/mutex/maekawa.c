// SPDX-License-Identifier: MIT
/*
 * M. Maekawa: A √N algorithm for mutual exclusion in decentralized systems. ACM TOCS 3(2), 1985; with the correction
 * of B. A. Sanders: The information structure of distributed mutual exclusion algorithms. ACM TOCS 5(3), 1987.
 *
 * As the plain algorithm, but votes can be taken back. Requests are ordered by their time. A voter that has to keep a
 * request waiting says FAIL, unless that request is better than the one it voted for: then it INQUIREs there. A
 * requester that is inquired and has failed somewhere cannot enter yet in any case, and RELINQUISHes that vote.
 *
 * Safety    two inside would both have the one vote of the member their sets share; only a vote that has arrived is
 *           ever given back, and only to the voter that asked for it
 * Liveness  the best request of all is never kept waiting: a requester that holds one of its votes has failed
 *           somewhere, or enters
 * Cost      3(K − 1) messages without contention, up to 7(K − 1) with it, for voting sets of K
 * Assumes   reliable FIFO links, no node dies: in a new view without the dead all that wait ask again
 * Fence     each voter tells the highest it has heard of; the entrant takes the highest of all, plus one
 *
 * With `recall=no` votes are given in the order of the timestamps, and none is taken back. That is the step before, of
 * which the text asks "is that enough?"
 */
#include <conclave/algorithm.h>

enum kind { REQUEST, REPLY, RELEASE, FAIL, INQUIRE, RELINQUISH };
enum mode { RELEASED, WANTED, HELD };
enum parameter { LITERAL, RECALL };
enum { RECALL_YES, RECALL_NO };

struct stamp {
    uint64_t time; /* of the request that is meant */
};

struct fence {
    uint64_t highest;
};

/* What a requester knows of one of its voters. */
enum vote { VOTED = 1, FAILED = 2, INQUIRED = 4 };

/* A request at a voter. */
struct wish {
    uint64_t time;
    cv_node node;
    uint32_t failed; /* it has been told to wait */
};

struct state {
    uint64_t time;     /* requester: of the outstanding request */
    uint64_t fence;    /* requester: the highest its voters told of; inside, its own */
    uint32_t mode;     /* requester: enum mode */
    uint32_t missing;  /* requester: votes */
    uint64_t highest;  /* voter: of the fences it has heard of */
    struct wish voted; /* voter: the request it voted for; CV_NOBODY: none */
    uint32_t inquired; /* voter: it has asked for the vote back */
    uint32_t waiting;  /* voter: length of the queue */
    uint32_t said[];   /* requester: what each of its voters said (enum vote); after it the voter's queue */
};

/* The queue has room for every set the voter is in. */
static struct wish *queue(const struct cv_self *me)
{
    struct state *my = me->state;
    return (struct wish *)(void *)(my->said + (cv_quorum_size(me, me->node) + 1) / 2 * 2);
}

/* How many voting sets a node is in. */
static uint32_t sets_of(const struct cv_group *group, cv_node node)
{
    uint32_t sets = 0;
    for (uint64_t i = 0; i < group->quorums[group->nodes]; i++)
        sets += group->voters[i] == node;
    return sets;
}

static size_t state_size(const struct cv_group *group, cv_node node)
{
    const uint64_t voters = group->quorums[node + 1] - group->quorums[node];
    return sizeof(struct state) + (voters + 1) / 2 * 2 * sizeof(uint32_t) + sets_of(group, node) * sizeof(struct wish);
}

/* The index of a voter in a voting set; the size of the set if it is not in it. */
static uint32_t place_in(const struct cv_self *me, cv_node set, cv_node voter)
{
    uint32_t place = 0;
    while (place < cv_quorum_size(me, set) && cv_voter(me, set, place) != voter)
        place++;
    return place;
}

/* The index of one of my own voters. Only my voters answer my requests. */
static uint32_t my_voter(const struct cv_self *me, cv_node voter)
{
    const uint32_t place = place_in(me, me->node, voter);
    assert(place < cv_quorum_size(me, me->node));
    return place;
}

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    my->voted.node = CV_NOBODY;
}

static void adopt(struct cv_self *me, cv_node holder, uint64_t fence)
{
    struct state *my = me->state;
    const bool mine = holder != CV_NOBODY && place_in(me, holder, me->node) < cv_quorum_size(me, holder);
    my->voted = (struct wish){.node = mine ? holder : CV_NOBODY};
    my->mode = me->node == holder ? HELD : RELEASED;
    my->fence = me->node == holder ? fence : 0;
}

/* ---- requester ---- */

static void request(struct cv_self *me)
{
    struct state *my = me->state;
    const uint32_t voters = cv_quorum_size(me, me->node);
    my->mode = WANTED;
    my->time = cv_clock(me);
    my->fence = 0;
    my->missing = voters;
    memset(my->said, 0, voters * sizeof *my->said);
    for (uint32_t i = 0; i < voters; i++)
        cv_send(me, cv_voter(me, me->node, i), REQUEST, &(struct stamp){my->time});
}

static void on_reply(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct fence *told = cv_body(message);
    my->said[my_voter(me, message->from)] = VOTED;
    if (told->highest > my->fence)
        my->fence = told->highest;
    if (--my->missing)
        return;
    my->mode = HELD;
    my->fence = cv_fence_after(me, my->fence);
    cv_enter(me, my->fence);
}

static void relinquish(struct cv_self *me, uint32_t place)
{
    struct state *my = me->state;
    my->said[place] = FAILED;
    my->missing++;
    cv_send(me, cv_voter(me, me->node, place), RELINQUISH, &(struct stamp){my->time});
}

/* The text's example says "relinquish to V". So `literal` also gives back votes that are still on their way, and counts
 * them when they come. */
static void give_back(struct cv_self *me, uint32_t place)
{
    struct state *my = me->state;
    if (!cv_parameter(me, LITERAL)) {
        relinquish(me, place);
        return;
    }
    for (uint32_t i = 0; i < cv_quorum_size(me, me->node); i++) {
        my->missing -= !(my->said[i] & VOTED);
        relinquish(me, i);
    }
}

static void on_fail(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    my->said[my_voter(me, message->from)] = FAILED;
    for (uint32_t i = 0; i < cv_quorum_size(me, me->node); i++)
        if (my->said[i] & INQUIRED)
            give_back(me, i);
}

/* A requester that no longer has the vote, or will give it back soon, says nothing: a RELEASE is or will be on its way.
 */
static void on_inquire(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct stamp *stamp = cv_body(message);
    const uint32_t place = my_voter(me, message->from);
    bool failed = false;
    if (my->mode != WANTED || stamp->time != my->time || !(my->said[place] & VOTED))
        return;
    for (uint32_t i = 0; i < cv_quorum_size(me, me->node); i++)
        failed |= my->said[i] == FAILED;
    if (failed)
        give_back(me, place);
    else
        my->said[place] |= INQUIRED;
}

static void release(struct cv_self *me)
{
    struct state *my = me->state;
    my->mode = RELEASED;
    for (uint32_t i = 0; i < cv_quorum_size(me, me->node); i++) {
        cv_send(me, cv_voter(me, me->node, i), RELEASE, &(struct fence){my->fence});
        my->said[i] = 0;
    }
    my->time = my->fence = 0;
}

/* ---- voter ---- */

static bool before(const struct cv_self *me, const struct wish *one, const struct wish *other)
{
    return cv_before(me, one->time, one->node, other->time, other->node);
}

/* The best request in the queue, which is sorted; NULL: the queue is empty. */
static struct wish *best_waiting(const struct cv_self *me)
{
    const struct state *my = me->state;
    return my->waiting ? queue(me) : NULL;
}

/* A node that has died and come back asks again, and its earlier request is void. So the queue never gets too long. */
static void forget_earlier(struct cv_self *me, cv_node node)
{
    struct state *my = me->state;
    struct wish *waiting = queue(me);
    uint32_t place = 0;
    while (place < my->waiting && waiting[place].node != node)
        place++;
    if (place == my->waiting)
        return;
    memmove(&waiting[place], &waiting[place + 1], (--my->waiting - place) * sizeof *waiting);
    waiting[my->waiting] = (struct wish){0};
}

static void queue_up(struct cv_self *me, struct wish wish)
{
    struct state *my = me->state;
    struct wish *waiting = queue(me);
    if (me->group->absence && !cv_parameter(me, LITERAL))
        forget_earlier(me, wish.node);
    if (cv_parameter(me, LITERAL) && my->waiting == sets_of(me->group, me->node))
        my->waiting--; /* a node asked again although it waits, and `valid` does not see a node's requests to itself */
    uint32_t place = my->waiting++;
    for (; place && before(me, &wish, &waiting[place - 1]); place--)
        waiting[place] = waiting[place - 1];
    waiting[place] = wish;
}

static void vote(struct cv_self *me, struct wish wish)
{
    struct state *my = me->state;
    my->voted = wish;
    my->inquired = false;
    cv_send(me, wish.node, REPLY, &(struct fence){my->highest});
}

static void fail(struct cv_self *me, struct wish *wish)
{
    wish->failed = true;
    cv_signal(me, wish->node, FAIL);
}

/* Tells a request that it has to wait, unless it is the best of all. Then the voter wants its vote back. */
static void keep_waiting(struct cv_self *me, struct wish *wish)
{
    struct state *my = me->state;
    struct wish *best = best_waiting(me);
    if (before(me, &my->voted, wish) || (best && before(me, best, wish))) {
        fail(me, wish);
        return;
    }
    if (best && !best->failed)
        fail(me, best); /* Sanders: it hoped to be next, and now is not */
    if (!my->inquired)
        cv_send(me, my->voted.node, INQUIRE, &(struct stamp){my->voted.time});
    my->inquired = true;
}

/* Is there a request for each set this voter is in? A node's requests to itself are not asked for `valid`. */
static bool is_full(const struct cv_self *me)
{
    const struct state *my = me->state;
    return my->waiting + (my->voted.node != CV_NOBODY) >= sets_of(me->group, me->node);
}

static void on_request(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const struct stamp *stamp = cv_body(message);
    struct wish wish = {stamp->time, message->from, false};
    if (my->voted.node == CV_NOBODY) {
        vote(me, wish);
        return;
    }
    if (cv_parameter(me, LITERAL) && is_full(me))
        return; /* a node asks twice */
    if (cv_parameter(me, RECALL) == RECALL_YES)
        keep_waiting(me, &wish);
    queue_up(me, wish);
}

static void vote_for_next(struct cv_self *me)
{
    struct state *my = me->state;
    struct wish *best = best_waiting(me);
    my->voted = (struct wish){.node = CV_NOBODY};
    my->inquired = false;
    if (!best)
        return;
    const struct wish next = *best;
    memmove(best, best + 1, --my->waiting * sizeof *best);
    best[my->waiting] = (struct wish){0};
    vote(me, next);
}

static void on_relinquish(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct stamp *stamp = cv_body(message);
    if (my->voted.node != message->from || my->voted.time != stamp->time)
        return;
    my->voted.failed = true;
    queue_up(me, my->voted);
    vote_for_next(me);
}

static void on_release(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct fence *told = cv_body(message);
    if (told->highest > my->highest)
        my->highest = told->highest;
    vote_for_next(me);
}

/* ---- which messages can have been sent ---- */

static bool waits(const struct cv_self *me, cv_node node)
{
    const struct state *my = me->state;
    for (uint32_t i = 0; i < my->waiting; i++)
        if (queue(me)[i].node == node)
            return true;
    return false;
}

/* To a voter. */
static bool valid_to_voter(const struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const bool votes = my->voted.node == message->from;
    if (place_in(me, message->from, me->node) == cv_quorum_size(me, message->from))
        return false;
    if (cv_parameter(me, LITERAL)) /* votes that were given back too early are released as well */
        return message->kind != REQUEST || !is_full(me);
    return message->kind == REQUEST ? !votes && !waits(me, message->from) : message->kind != RELEASE || votes;
}

static bool valid(const struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    if (message->kind >= FAIL && cv_parameter(me, RECALL) == RECALL_NO)
        return false;
    if (message->kind == REQUEST || message->kind == RELEASE || message->kind == RELINQUISH)
        return valid_to_voter(me, message);
    const uint32_t place = place_in(me, me->node, message->from);
    if (place == cv_quorum_size(me, me->node))
        return false;
    return message->kind == INQUIRE || cv_parameter(me, LITERAL) ||
           (my->mode == WANTED && my->missing && !(my->said[place] & VOTED));
}

#define QUEUE .row = "queue", .each = CV_EACH_SET, .length = offsetof(struct state, waiting)

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, time, CLOCK)},
    {CV_FIELD(struct state, fence, FENCE)},
    {CV_FIELD(struct state, mode, MODE), .words = "released|wanted|held"},
    {CV_FIELD(struct state, missing, NUMBER)},
    {CV_FIELD(struct state, highest, FENCE)},
    {CV_FIELD(struct state, voted.time, CLOCK)},
    {CV_FIELD(struct state, voted.node, MAYBE)},
    {CV_FIELD(struct state, voted.failed, FLAG)},
    {CV_FIELD(struct state, inquired, FLAG)},
    {CV_FIELD(struct state, waiting, NUMBER)},
    {CV_FIELD(struct state, said[0], MARKS), .each = CV_EACH_VOTER, .words = "voted|failed|inquired"},
    {CV_FIELD(struct wish, time, CLOCK), QUEUE},
    {CV_FIELD(struct wish, node, NODE), QUEUE},
    {CV_FIELD(struct wish, failed, FLAG), QUEUE},
    {0},
};

static const struct cv_field stamp_fields[] = {{CV_FIELD(struct stamp, time, CLOCK)}, {0}};

static const struct cv_field fence_fields[] = {{CV_FIELD(struct fence, highest, FENCE)}, {0}};

static const struct cv_kind kinds[] = {
    [REQUEST] = CV_KIND("request", struct stamp, on_request, stamp_fields),
    [REPLY] = CV_KIND("reply", struct fence, on_reply, fence_fields),
    [RELEASE] = CV_KIND("release", struct fence, on_release, fence_fields),
    [FAIL] = CV_SIGNAL("fail", on_fail),
    [INQUIRE] = CV_KIND("inquire", struct stamp, on_inquire, stamp_fields),
    [RELINQUISH] = CV_KIND("relinquish", struct stamp, on_relinquish, stamp_fields),
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/mutex/maekawa.md")

static const struct cv_parameter parameters[] = {
    [LITERAL] = {"literal", "give back the votes of the whole voting set, as the text says", "no|yes", 0, CV_CHOICE, 0},
    [RECALL] = {"recall", "take votes back; no: only compare timestamps, which is not enough", "yes|no", 0, CV_CHOICE,
                CV_NO_DEADLOCK | CV_EVERY_REQUEST},
    {0},
};

static const struct cv_cost costs[] = {
    {"best", CV_MESSAGES_ARE("3(K − 1)"), CV_LISTED, DERIVED},
    {"worst", CV_MESSAGES_AT_MOST("7(K − 1)"), CV_LISTED, DERIVED},
    {"7 for each vote but one's own", CV_MESSAGES_AT_MOST("7V"), CV_STEADY | CV_ALL_ALIVE, DERIVED},
    {0},
};

const struct cv_algorithm cv_maekawa = {
    .abi = CV_ABI,
    .problem = CV_MUTEX,
    .name = "maekawa",
    .title = "Maekawa's algorithm",
    .citation = "M. Maekawa, ACM TOCS 3(2), 1985; B. A. Sanders, ACM TOCS 5(3), 1987",
    .topology = CV_COMPLETE,
    .assumes = CV_RELIABLE | CV_FIFO | CV_KNOWN_GROUP | CV_NO_CRASH,
    .claims = CV_MUTEX_CLAIMS,
    .quorums = true,
    .kinds = kinds,
    .parameters = parameters,
    .costs = costs,
    .state_size = state_size,
    .state_fields = state_fields,
    .init = init,
    .adopt = adopt,
    .request = request,
    .release = release,
    .valid = valid,
    .hints = {.clocked = CV_CLOCKS_ORDER, .alike = true},
};
