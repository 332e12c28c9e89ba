// SPDX-License-Identifier: MIT
/*
 * B. Awerbuch: Complexity of network synchronization. JACM 32(4), 1985. The alpha synchronizer.
 *
 * Every message is acknowledged. A node whose own messages of a round are all acknowledged is safe, and says so to its
 * neighbours; when they are all safe, nothing of this round can still be on its way to it, and the next may begin.
 *
 * Safety    what a neighbour sent in this round has arrived before its SAFE is sent
 * Liveness  acknowledgements wait for nothing, so every node in the earliest round gets safe
 * Cost      a round takes an ACK for each message and a SAFE each way over every edge: 2E; 3 message times
 * Assumes   reliable links; no node dies. FIFO is not needed: messages are numbered by round
 */
#include <conclave/synchronizer.h>

enum kind { MESSAGE, ACK, SAFE };

struct safe {
    uint64_t round;
};

struct state {
    uint32_t missing; /* acknowledgements of my own messages of this round */
    uint32_t unused;
    uint32_t safe[2]; /* neighbours that are safe, in the even and in the odd rounds: this and the next */
};

static size_t state_size(const struct cv_group *group, cv_node node)
{
    return sizeof(struct state) + cv_hosted_bytes(group, node);
}

static void tell_safe(struct cv_self *me)
{
    cv_multicast(me, SAFE, &(struct safe){cv_round(me)});
}

static void begin_round(struct cv_self *me)
{
    struct state *my = me->state;
    my->missing = cv_round_next(me);
    if (!my->missing && !cv_round_done(me))
        tell_safe(me);
}

/* A node without neighbours goes through all rounds at once. */
static void go_on(struct cv_self *me)
{
    struct state *my = me->state;
    while (!cv_round_done(me) && !my->missing && my->safe[cv_round(me) & 1] == cv_degree(me)) {
        my->safe[cv_round(me) & 1] = 0;
        begin_round(me);
    }
}

static void start(struct cv_self *me)
{
    begin_round(me);
    go_on(me);
}

static void on_message(struct cv_self *me, const struct cv_message *message)
{
    cv_round_keep(me, message);
    cv_signal(me, message->from, ACK);
}

static void on_ack(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    (void)message;
    if (--my->missing)
        return;
    tell_safe(me);
    go_on(me);
}

static void on_safe(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct safe *theirs = cv_body(message);
    my->safe[theirs->round & 1]++;
    go_on(me);
}

static const char *invariant(const struct cv_self *me)
{
    const struct state *my = me->state;
    if (my->safe[0] > cv_degree(me) || my->safe[1] > cv_degree(me))
        return "more neighbours are safe than there are";
    return my->missing > cv_degree(me) ? "it waits for more acknowledgements than it has neighbours" : NULL;
}

/* Neighbours are at most a round apart. */
static bool valid(const struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    if (message->kind == MESSAGE)
        return cv_envelope_valid(me, message);
    if (message->kind == ACK)
        return my->missing;
    const struct safe *theirs = cv_body(message);
    return theirs->round >= cv_round(me) && theirs->round <= cv_round(me) + 1 &&
           my->safe[theirs->round & 1] < cv_degree(me);
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, missing, NUMBER)},
    {CV_FIELD(struct state, unused, UNUSED)},
    {CV_FIELD(struct state, safe[0], NUMBER), .each = CV_EACH_PLACE, .places = "even|odd"},
    {0},
};

static const struct cv_field safe_fields[] = {{CV_FIELD(struct safe, round, NUMBER)}, {0}};

static const struct cv_kind kinds[] = {
    [MESSAGE] = CV_KIND("message", struct cv_envelope, on_message, NULL),
    [ACK] = CV_SIGNAL("ack", on_ack),
    [SAFE] = CV_KIND("safe", struct safe, on_safe, safe_fields),
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/synchronizers/alpha.md")

static const struct cv_cost costs[] = {
    {"a round, besides its messages", CV_MESSAGES_ARE("2E"), CV_LISTED, DERIVED},
    {"a round", CV_DELAY_IS("3"), CV_LISTED,
     CV_TEXT_SAYS("Ghosh: T(α) = 3 (since each process exchanges m, ack, safe)")},
    {"R rounds of M messages", CV_MESSAGES_ARE("2M + 2E·R"), CV_STEADY | CV_ALL_ALIVE, DERIVED},
    {"3 a round", CV_DELAY_IS("3R"), CV_STEADY | CV_ALL_ALIVE | CV_UNIT_DELAY | CV_ALL_SEND,
     CV_TEXT_SAYS("Ghosh: T_A = T_S · T(α), T(α) = 3")},
    {"at most 3 a round", CV_DELAY_AT_MOST("3R"), CV_STEADY | CV_ALL_ALIVE | CV_UNIT_DELAY,
     CV_TEXT_SAYS("Ghosh: T_A = T_S · T(α), T(α) = 3")},
    {0},
};

const struct cv_algorithm cv_alpha = {
    .abi = CV_ABI,
    .problem = CV_SYNCHRONIZER,
    .name = "alpha",
    .title = "The alpha synchronizer",
    .citation = "B. Awerbuch, JACM 32(4), 1985",
    .topology = CV_GRAPH,
    .assumes = CV_RELIABLE | CV_NO_CRASH,
    .claims = CV_SYNCHRONIZER_CLAIMS,
    .kinds = kinds,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_size = state_size,
    .state_fields = state_fields,
    .init = cv_round_init,
    .start = start,
    .invariant = invariant,
    .valid = valid,
};
