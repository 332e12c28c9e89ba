// SPDX-License-Identifier: MIT
/*
 * G. Ricart, A. K. Agrawala: An optimal algorithm for mutual exclusion in computer networks. CACM 24(1), 1981.
 *
 * A process that wants to enter asks all others, with the time of its request. A process that does not want to enter,
 * or asked later, says OK at once. A process that is inside, or asked earlier, says OK when it leaves. With the OK of
 * all others a process enters.
 *
 * Safety    of two that want to enter, the later one cannot have the earlier one's OK before that one has left
 * Liveness  no process holds back the earliest request of all
 * Cost      2(n − 1) messages always, 2 message times before entry, 1 from an exit to the next entry
 * Assumes   reliable links; no process dies: in a new view without the dead all that wait ask again. FIFO is not needed
 * Fence     the request's time and the rank of its id: entries happen in this order
 */
#include <conclave/algorithm.h>

enum kind { REQUEST, OK };
enum mode { RELEASED, WANTED, HELD };

struct request {
    uint64_t time; /* Lamport's, when it was made */
};

struct state {
    uint64_t time;       /* of the outstanding request; 0 if there is none */
    uint32_t mode;       /* enum mode */
    uint32_t missing;    /* OKs */
    uint32_t deferred[]; /* a bit per node: it has asked and waits for my OK */
};

static size_t state_size(const struct cv_group *group, cv_node node)
{
    (void)node;
    return sizeof(struct state) + cv_bits_words(group->nodes) * sizeof(uint32_t);
}

static void adopt(struct cv_self *me, cv_node holder, uint64_t fence)
{
    struct state *my = me->state;
    (void)fence;
    my->mode = me->node == holder ? HELD : RELEASED;
}

static void enter(struct cv_self *me)
{
    struct state *my = me->state;
    my->mode = HELD;
    cv_enter(me, cv_request_fence(me, my->time));
}

static void want(struct cv_self *me)
{
    struct state *my = me->state;
    my->mode = WANTED;
    my->missing = cv_degree(me);
    my->time = cv_clock(me);
    cv_multicast(me, REQUEST, &(struct request){my->time});
    if (!my->missing)
        enter(me);
}

static void on_request(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct request *theirs = cv_body(message);
    const bool mine_is_first = cv_before(me, my->time, me->node, theirs->time, message->from);
    if (my->mode == HELD || (my->mode == WANTED && mine_is_first))
        cv_bits_add(my->deferred, message->from);
    else
        cv_signal(me, message->from, OK);
}

static void on_ok(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    (void)message;
    if (--my->missing == 0)
        enter(me);
}

static void release(struct cv_self *me)
{
    struct state *my = me->state;
    my->mode = RELEASED;
    my->time = 0;
    cv_signal_each(me, my->deferred, cv_bits_words(cv_nodes(me)), OK);
}

static const char *invariant(const struct cv_self *me)
{
    const struct state *my = me->state;
    return my->mode == WANTED && !my->missing ? "with everybody's OK it would be inside" : NULL;
}

/* A node asks again only after its answer, and answers only when it was asked. */
static bool valid(const struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    if (message->kind == REQUEST)
        return !cv_bits_has(my->deferred, message->from);
    return my->mode == WANTED && my->missing;
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, mode, MODE), .words = "released|wanted|held"},
    {CV_FIELD(struct state, time, CLOCK)},
    {CV_FIELD(struct state, missing, NUMBER)},
    {CV_FIELD(struct state, deferred[0], NODES), .each = CV_EACH_NODE},
    {0},
};

static const struct cv_field fields[] = {{CV_FIELD(struct request, time, CLOCK)}, {0}};

static const struct cv_kind kinds[] = {
    [REQUEST] = CV_KIND("request", struct request, on_request, fields),
    [OK] = CV_SIGNAL("ok", on_ok),
    {0},
};

#define TABLES CV_TEXT_SAYS("tables of CS677 and Tanenbaum: Messages per entry/exit: 2 ( n - 1 )")

static const struct cv_cost costs[] = {
    {"best", CV_MESSAGES_ARE("2(n − 1)"), CV_LISTED, TABLES},
    {"worst", CV_MESSAGES_ARE("2(n − 1)"), CV_LISTED, TABLES},
    {"2(n − 1) an entry", CV_MESSAGES_ARE("2(n − 1)e"), CV_STEADY | CV_ALL_ALIVE, TABLES},
    {"before an entry, all messages at once", CV_DELAY_IS("2"), CV_LISTED,
     CV_DERIVED_IN("docs/mutex/ricart-agrawala.md")},
    {"before an entry, one message after another", CV_DELAY_IS("2(n − 1)"), CV_LISTED,
     CV_TEXT_SAYS("tables of CS677 and Tanenbaum: Delay before entry: 2 ( n - 1 )")},
    {0},
};

const struct cv_algorithm cv_ricart_agrawala = {
    .abi = CV_ABI,
    .problem = CV_MUTEX,
    .name = "ricart-agrawala",
    .title = "Ricart and Agrawala's algorithm",
    .citation = "G. Ricart, A. K. Agrawala, CACM 24(1), 1981",
    .topology = CV_COMPLETE,
    .assumes = CV_RELIABLE | CV_KNOWN_GROUP | CV_NO_CRASH,
    .claims = CV_MUTEX_CLAIMS | CV_BOUNDED_WAITING | CV_REQUEST_ORDER,
    .kinds = kinds,
    .costs = costs,
    .state_size = state_size,
    .state_fields = state_fields,
    .adopt = adopt,
    .request = want,
    .release = release,
    .valid = valid,
    .invariant = invariant,
    .hints = {.clocked = CV_CLOCKS_ORDER, .alike = true, .answers = 1u << OK},
};
