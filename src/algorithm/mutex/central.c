// SPDX-License-Identifier: MIT
/*
 * The centralized algorithm, as in A. S. Tanenbaum, M. van Steen: Distributed Systems, and P. Krzyzanowski's notes.
 *
 * One process, the coordinator, lets one in at a time. A process that wants to enter asks it, and one that leaves tells
 * it. A process that has to wait stands in its queue and hears nothing (central) or "permission denied" (central-deny),
 * and is let in later. With central-deny every request is answered, so silence for 2D means a dead coordinator.
 *
 * Safety    the coordinator grants only when no process is inside
 * Liveness  the queue is first come, first served; while the coordinator lives the turn of each process comes
 * Cost      3 messages for an entry and its exit, 2 message times before entry, 2 from an exit to the next entry
 * Assumes   reliable links; if the coordinator dies a new view elects another, and all that wait ask again
 * Fence     the coordinator counts its grants
 */
#include <conclave/algorithm.h>

enum kind { REQUEST, GRANT, RELEASE, DENIED };
enum timer { NO_ANSWER };

struct grant {
    uint64_t fence;
};

struct state {
    uint64_t grants; /* the coordinator's, so far */
    cv_node holder;  /* the node it let in; CV_NOBODY: none */
    cv_node first;   /* its queue: the node that has waited longest */
    cv_node last;    /* its queue: the node that came last */
    uint32_t unused;
    cv_node behind[]; /* the next node in the queue after each node; only the coordinator has these */
};

static bool coordinates(const struct cv_self *me)
{
    return me->node == cv_coordinator(me);
}

static size_t state_size(const struct cv_group *group, cv_node node)
{
    return sizeof(struct state) + (node == group->coordinator ? group->nodes * sizeof(cv_node) : 0);
}

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    my->holder = my->first = my->last = CV_NOBODY;
    for (cv_node node = 0; coordinates(me) && node < cv_nodes(me); node++)
        my->behind[node] = CV_NOBODY;
}

static void adopt(struct cv_self *me, cv_node holder, uint64_t fence)
{
    struct state *my = me->state;
    (void)fence;
    my->holder = holder;
}

static void let_in(struct cv_self *me, cv_node node)
{
    struct state *my = me->state;
    const struct grant grant = {cv_fence(me, ++my->grants)};
    my->holder = node;
    if (node == me->node)
        cv_enter(me, grant.fence);
    else
        cv_send(me, node, GRANT, &grant);
}

static void queue_up(struct cv_self *me, cv_node node)
{
    struct state *my = me->state;
    my->behind[node] = CV_NOBODY;
    if (my->last == CV_NOBODY)
        my->first = node;
    else
        my->behind[my->last] = node;
    my->last = node;
}

static void ask(struct cv_self *me, cv_node node)
{
    const struct state *my = me->state;
    assert(coordinates(me));
    if (my->holder == CV_NOBODY)
        let_in(me, node);
    else
        queue_up(me, node);
}

static void let_next_in(struct cv_self *me)
{
    struct state *my = me->state;
    assert(coordinates(me));
    const cv_node next = my->first;
    my->holder = CV_NOBODY;
    if (next == CV_NOBODY)
        return;
    my->first = my->behind[next];
    my->behind[next] = CV_NOBODY; /* of equal queues the bytes are equal */
    if (my->first == CV_NOBODY)
        my->last = CV_NOBODY;
    let_in(me, next);
}

static void request(struct cv_self *me)
{
    if (coordinates(me))
        ask(me, me->node);
    else
        cv_signal(me, cv_coordinator(me), REQUEST);
}

static void request_deny(struct cv_self *me)
{
    request(me);
    if (!coordinates(me) && cv_bound(me))
        cv_arm(me, NO_ANSWER, 2 * cv_bound(me));
}

/* Silence within a round trip is not a denial. */
static void timeout(struct cv_self *me, uint32_t timer)
{
    (void)timer;
    cv_note(me, "knows that the coordinator is dead");
}

static void on_request(struct cv_self *me, const struct cv_message *message)
{
    ask(me, message->from);
}

static void on_request_deny(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    if (my->holder != CV_NOBODY)
        cv_signal(me, message->from, DENIED);
    ask(me, message->from);
}

static void on_grant(struct cv_self *me, const struct cv_message *message)
{
    const struct grant *grant = cv_body(message);
    cv_enter(me, grant->fence);
}

static void on_denied(struct cv_self *me, const struct cv_message *message)
{
    (void)message;
    cv_cancel(me, NO_ANSWER);
    cv_note(me, "permission denied, waits");
}

static void on_grant_deny(struct cv_self *me, const struct cv_message *message)
{
    cv_cancel(me, NO_ANSWER);
    on_grant(me, message);
}

static void release(struct cv_self *me)
{
    if (coordinates(me))
        let_next_in(me);
    else
        cv_signal(me, cv_coordinator(me), RELEASE);
}

static void on_release(struct cv_self *me, const struct cv_message *message)
{
    (void)message;
    let_next_in(me);
}

static bool waits(const struct state *my, cv_node node)
{
    return my->behind[node] != CV_NOBODY || my->last == node;
}

/* Requests and releases go to the coordinator, all else comes from it. */
static bool valid(const struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    switch (message->kind) {
    case REQUEST:
        return coordinates(me) && message->from != me->node && !waits(my, message->from);
    case RELEASE:
        return coordinates(me) && message->from != me->node && message->from == my->holder;
    case GRANT:
        return !coordinates(me) && message->from == cv_coordinator(me) && me->region == CV_TRYING;
    default:
        return !coordinates(me) && message->from == cv_coordinator(me);
    }
}

/* The coordinator treats all other nodes alike, and only the coordinator itself is special. */
static void rename(const struct cv_renaming *renaming, const struct cv_group *group, cv_node node, void *state,
                   struct cv_message *message)
{
    struct state *my = state;
    if (message)
        return;
    renaming->node(renaming, &my->holder);
    renaming->node(renaming, &my->first);
    renaming->node(renaming, &my->last);
    if (group->coordinator == node)
        renaming->row(renaming, my->behind);
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, grants, NUMBER)},
    {CV_FIELD(struct state, holder, MAYBE)},
    {CV_FIELD(struct state, first, MAYBE)},
    {CV_FIELD(struct state, last, MAYBE)},
    {CV_FIELD(struct state, unused, UNUSED)},
    {CV_FIELD(struct state, behind[0], MAYBE), .each = CV_EACH_NODE},
    {0},
};

static const struct cv_field grant_fields[] = {{CV_FIELD(struct grant, fence, FENCE)}, {0}};

static const struct cv_kind kinds[] = {
    [REQUEST] = CV_SIGNAL("request", on_request),
    [GRANT] = CV_KIND("grant", struct grant, on_grant, grant_fields),
    [RELEASE] = CV_SIGNAL("release", on_release),
    {0},
};

static const struct cv_kind kinds_deny[] = {
    [REQUEST] = CV_SIGNAL("request", on_request_deny),
    [GRANT] = CV_KIND("grant", struct grant, on_grant_deny, grant_fields),
    [RELEASE] = CV_SIGNAL("release", on_release),
    [DENIED] = CV_SIGNAL("denied", on_denied),
    {0},
};

static const char *const timers_deny[] = {[NO_ANSWER] = "no answer", NULL};

static const struct cv_parameter parameters[] = {
    {"coordinator", "who coordinates; by default the highest id", NULL, -1, CV_MEMBER, 0},
    {0},
};

static const struct cv_cost costs[] = {
    {"best: the coordinator itself", CV_MESSAGES_ARE("0"), CV_LISTED, CV_DERIVED_IN("docs/mutex/central.md")},
    {"worst", CV_MESSAGES_ARE("3"), CV_LISTED,
     CV_TEXT_SAYS("tables of CS677 and Tanenbaum: Messages per entry/exit: 3")},
    {"3 an entry, the coordinator's own are free", CV_MESSAGES_ARE("3x"), CV_STEADY | CV_ALL_ALIVE,
     CV_TEXT_SAYS("Tanenbaum: three messages per use of a critical section")},
    {"before an entry nobody contends for", CV_DELAY_IS("2"), CV_LISTED,
     CV_TEXT_SAYS("tables of CS677 and Tanenbaum: Delay before entry: 2")},
    {0},
};

#define DERIVED_TOO CV_DERIVED_IN("docs/mutex/central-deny.md")

static const struct cv_cost costs_deny[] = {
    {"best: the coordinator itself", CV_MESSAGES_ARE("0"), CV_LISTED, DERIVED_TOO},
    {"worst", CV_MESSAGES_ARE("4"), CV_LISTED, DERIVED_TOO},
    {"3 an entry and 1 for each request that finds it busy", CV_MESSAGES_AT_MOST("4x"), CV_STEADY | CV_ALL_ALIVE,
     DERIVED_TOO},
    {0},
};

const struct cv_algorithm cv_central = {
    .abi = CV_ABI,
    .problem = CV_MUTEX,
    .name = "central",
    .title = "The centralized algorithm",
    .citation = "A. S. Tanenbaum, M. van Steen, Distributed Systems",
    .topology = CV_COMPLETE,
    .assumes = CV_RELIABLE | CV_KNOWN_GROUP | CV_NO_CRASH,
    .claims = CV_MUTEX_CLAIMS | CV_BOUNDED_WAITING,
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
    .hints = {.rename = rename},
};

const struct cv_algorithm cv_central_deny = {
    .abi = CV_ABI,
    .problem = CV_MUTEX,
    .name = "central-deny",
    .title = "The centralized algorithm that says no",
    .citation = "A. S. Tanenbaum, M. van Steen, Distributed Systems",
    .topology = CV_COMPLETE,
    .assumes = CV_RELIABLE | CV_KNOWN_GROUP | CV_NO_CRASH,
    .claims = CV_MUTEX_CLAIMS | CV_BOUNDED_WAITING,
    .kinds = kinds_deny,
    .timers = timers_deny,
    .parameters = parameters,
    .costs = costs_deny,
    .state_size = state_size,
    .state_fields = state_fields,
    .init = init,
    .adopt = adopt,
    .timeout = timeout,
    .request = request_deny,
    .release = release,
    .valid = valid,
    .hints = {.rename = rename},
};
