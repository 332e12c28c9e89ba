// SPDX-License-Identifier: MIT
/*
 * S. Lin, Q. Lian, M. Chen, Z. Zhang: A practical distributed mutual exclusion protocol in dynamic peer-to-peer
 * systems. IPTPS 2004; "decentralized" in A. S. Tanenbaum, M. van Steen: Distributed Systems.
 *
 * Every process has one vote. A candidate asks m processes, more than half. A voter answers at once: its vote, or no if
 * it is given away. A candidate that does not get all m gives back what it got, waits a random while and tries again.
 *
 * Safety    two majorities share a voter. A voter that crashes and comes back has forgotten its vote: if 2m − n of
 *           them do, two may be inside; in a new view it cannot happen, because all begin anew
 * Liveness  only by chance: two that keep dividing the votes between them starve
 * Cost      3m messages an attempt, so 3mk for k attempts; 2 message times before entry at the first
 * Assumes   reliable links
 * Fence     each voter tells the highest it has heard of; the entrant takes the highest of all, plus one
 */
#include <conclave/algorithm.h>

enum kind { REQUEST, GRANT, DENY, RELEASE };
enum timer { BACKOFF_OVER };
enum parameter { VOTES, BACKOFF };

/* Every message says which attempt it belongs to. A late answer to an earlier attempt does not count, and a late
 * RELEASE of an earlier attempt frees no newer vote. */
struct ballot {
    uint64_t attempt;
    uint64_t fence; /* GRANT: the highest the voter has heard of; RELEASE: the entrant's own */
};

struct state {
    uint64_t attempt; /* candidate: the number of this one */
    uint64_t fence;   /* candidate: the highest its voters told of; inside, its own */
    uint32_t answers; /* candidate: to this attempt */
    uint32_t granted; /* candidate: votes in this attempt */
    uint64_t highest; /* voter: of the fences it has heard of */
    uint64_t ballot;  /* voter: the attempt it voted for; 0: that candidate was inside when the view began */
    cv_node voted;    /* voter: the candidate it voted for; CV_NOBODY: none */
    uint32_t unused;
};

static uint32_t member_count(const struct cv_self *me)
{
    return cv_degree(me) + 1;
}

static uint32_t votes_needed(const struct cv_self *me)
{
    const uint32_t all = member_count(me), wanted = (uint32_t)cv_parameter(me, VOTES);
    return wanted && wanted < all ? wanted : wanted ? all : all / 2 + 1;
}

/* The i-th voter that a candidate asks: itself, and those after it in node order. */
static cv_node asked(const struct cv_self *me, cv_node candidate, uint32_t i)
{
    const struct cv_group *group = me->group;
    uint32_t place = candidate;
    for (uint32_t at = 0; group->members && at < group->member_count; at++)
        if (group->members[at] == candidate)
            place = at;
    const uint32_t all = member_count(me);
    assert(all > 0);
    place = (place + i) % all;
    return group->members ? group->members[place] : place;
}

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    my->voted = CV_NOBODY;
}

static void adopt(struct cv_self *me, cv_node holder, uint64_t fence)
{
    struct state *my = me->state;
    my->voted = CV_NOBODY;
    my->fence = me->node == holder ? fence : 0;
    for (uint32_t i = 0; holder != CV_NOBODY && i < votes_needed(me); i++)
        if (asked(me, holder, i) == me->node)
            my->voted = holder;
}

static void tell_all_asked(struct cv_self *me, uint32_t kind, uint64_t fence)
{
    const struct state *my = me->state;
    const struct ballot ballot = {my->attempt, fence};
    cv_send(me, me->node, kind, &ballot);
    cv_send_around(me, votes_needed(me) - 1, kind, &ballot);
}

static void try(struct cv_self *me)
{
    struct state *my = me->state;
    my->attempt++;
    my->fence = 0;
    my->answers = my->granted = 0;
    tell_all_asked(me, REQUEST, 0);
}

/*
 * A candidate that has my vote and asks again for the same attempt or an earlier one has died since, and counts from 1
 * again. It knows nothing of my vote, and it may have entered with a fence that it told no voter.
 */
static void forget_the_dead(struct cv_self *me, cv_node candidate, uint64_t attempt)
{
    struct state *my = me->state;
    if (my->voted != candidate || attempt > my->ballot)
        return;
    my->voted = CV_NOBODY;
    my->highest = cv_fence_after(me, my->highest);
}

static void on_request(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct ballot *ballot = cv_body(message);
    forget_the_dead(me, message->from, ballot->attempt);
    const bool free = my->voted == CV_NOBODY;
    if (free) {
        my->voted = message->from;
        my->ballot = ballot->attempt;
    }
    cv_send(me, message->from, free ? GRANT : DENY, &(struct ballot){ballot->attempt, my->highest});
}

/* With all answers a candidate enters, or gives the votes back and waits a random while. */
static void count_votes(struct cv_self *me)
{
    struct state *my = me->state;
    if (my->answers < votes_needed(me))
        return;
    if (my->granted == my->answers) {
        my->fence = cv_fence_after(me, my->fence);
        cv_enter(me, my->fence);
        return;
    }
    tell_all_asked(me, RELEASE, 0);
    const uint64_t longest = (uint64_t)cv_parameter(me, BACKOFF) * member_count(me);
    cv_arm(me, BACKOFF_OVER, longest ? 1 + cv_choose(me, longest < UINT32_MAX ? (uint32_t)longest : UINT32_MAX) : 1);
}

static void on_grant(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct ballot *ballot = cv_body(message);
    if (ballot->attempt != my->attempt)
        return;
    if (ballot->fence > my->fence)
        my->fence = ballot->fence;
    my->answers++;
    my->granted++;
    count_votes(me);
}

static void on_deny(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct ballot *ballot = cv_body(message);
    if (ballot->attempt != my->attempt)
        return;
    my->answers++;
    count_votes(me);
}

static void timeout(struct cv_self *me, uint32_t timer)
{
    (void)timer;
    try(me);
}

static void release(struct cv_self *me)
{
    const struct state *my = me->state;
    tell_all_asked(me, RELEASE, my->fence);
}

static void on_release(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct ballot *ballot = cv_body(message);
    if (ballot->fence > my->highest)
        my->highest = ballot->fence;
    if (my->voted != message->from || my->ballot != ballot->attempt)
        return; /* it was denied here in that attempt, or a later attempt has overtaken the RELEASE */
    my->voted = CV_NOBODY;
    my->ballot = 0;
}

static bool asks(const struct cv_self *me, cv_node candidate, cv_node voter)
{
    for (uint32_t i = 0; i < votes_needed(me); i++)
        if (asked(me, candidate, i) == voter)
            return true;
    return false;
}

/* A candidate asks its voters, and only those answer: each once in an attempt. */
static bool valid(const struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const struct ballot *ballot = cv_body(message);
    if (message->kind == REQUEST || message->kind == RELEASE)
        return asks(me, message->from, me->node);
    return asks(me, me->node, message->from) && ballot->attempt <= my->attempt &&
           (ballot->attempt < my->attempt || (me->region == CV_TRYING && my->answers < votes_needed(me)));
}

/* The attempts: each candidate's are a family. */
static void counters(struct cv_counting *counting, cv_node node, void *state, struct cv_message *message)
{
    struct state *my = state;
    if (my) {
        counting->count(counting, node, &my->attempt);
        if (my->voted != CV_NOBODY)
            counting->count(counting, my->voted, &my->ballot);
        return;
    }
    const bool answers = message->kind == GRANT || message->kind == DENY;
    counting->count(counting, answers ? message->to : message->from,
                    &((struct ballot *)(void *)message->body)->attempt);
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, attempt, NUMBER)},
    {CV_FIELD(struct state, fence, FENCE)},
    {CV_FIELD(struct state, answers, NUMBER)},
    {CV_FIELD(struct state, granted, NUMBER)},
    {CV_FIELD(struct state, highest, FENCE)},
    {CV_FIELD(struct state, ballot, NUMBER)},
    {CV_FIELD(struct state, voted, MAYBE)},
    {CV_FIELD(struct state, unused, UNUSED)},
    {0},
};

static const struct cv_field fields[] = {
    {CV_FIELD(struct ballot, attempt, NUMBER)},
    {CV_FIELD(struct ballot, fence, FENCE)},
    {0},
};

static const struct cv_kind kinds[] = {
    [REQUEST] = CV_KIND("request", struct ballot, on_request, fields),
    [GRANT] = CV_KIND("grant", struct ballot, on_grant, fields),
    [DENY] = CV_KIND("deny", struct ballot, on_deny, fields),
    [RELEASE] = CV_KIND("release", struct ballot, on_release, fields),
    {0},
};

static const char *const timers[] = {[BACKOFF_OVER] = "tries again", NULL};

static const struct cv_parameter parameters[] = {
    [VOTES] = {"votes", "how many votes it takes; 0: more than half", NULL, 0, CV_NUMBER, 0},
    [BACKOFF] = {"backoff", "wait up to so many ticks, times the number of members, before trying again", NULL, 4,
                 CV_NUMBER, 0},
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/mutex/voting.md")

static const struct cv_cost costs[] = {
    {"best: the first attempt succeeds", CV_MESSAGES_ARE("3(m − 1)"), CV_LISTED, DERIVED},
    {"worst but for k, the attempts", CV_MESSAGES_ARE("3(m − 1)k"), CV_LISTED, DERIVED},
    {"the same, messages to oneself counted", CV_MESSAGES_ARE("3mk"), CV_LISTED,
     CV_TEXT_SAYS("table of CS677: Messages per entry/exit: 3mk")},
    {"before an entry, all messages at once", CV_DELAY_IS("2"), CV_LISTED, DERIVED},
    {"before an entry, one message after another", CV_DELAY_IS("2m"), CV_LISTED,
     CV_TEXT_SAYS("table of CS677: Delay before entry: 2m")},
    {0},
};

const struct cv_algorithm cv_voting = {
    .abi = CV_ABI,
    .problem = CV_MUTEX,
    .name = "voting",
    .title = "Decentralized voting",
    .citation = "S. Lin, Q. Lian, M. Chen, Z. Zhang, IPTPS 2004",
    .topology = CV_COMPLETE,
    .assumes = CV_RELIABLE | CV_KNOWN_GROUP | CV_NO_RECOVERY,
    .claims = CV_EXCLUSION | CV_FENCES_RISE,
    .kinds = kinds,
    .timers = timers,
    .parameters = parameters,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_fields = state_fields,
    .init = init,
    .adopt = adopt,
    .timeout = timeout,
    .request = try,
    .release = release,
    .valid = valid,
    .hints = {.counters = counters},
};
