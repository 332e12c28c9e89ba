// SPDX-License-Identifier: MIT
/*
 * B. Awerbuch: Complexity of network synchronization. JACM 32(4), 1985. The gamma synchronizer.
 *
 * The network is divided into clusters with a tree each: beta inside them, alpha between them. Between two neighbouring
 * clusters one edge is preferred, and carries what they have to tell each other.
 *
 *     WORKING      SAFE goes up the tree: all messages of those below are acknowledged
 *     REPORTED     the head knows: CLUSTER_SAFE goes down the tree, and over the preferred edges to the neighbours
 *     SETTLED      READY goes up the tree: below, all neighbouring clusters are known to be safe as well
 *     READIED      the head knows: PULSE goes down the tree, and the next round begins
 *
 * Safety    a node is told to go on when its own cluster and all around it are safe: nothing is on its way to it
 * Liveness  the clusters in the earliest round get safe, and are not kept waiting by those in the next
 * Cost      a round takes an ACK for each message, four waves over the n − c edges of the trees, and P preferred edges
 *           both ways: 4(n − c) + 2P; with trees of height h, at most 4h + 3 message times. n clusters are alpha, one
 *           is beta with its waves twice
 * Assumes   reliable links; no node dies. FIFO is not needed: a neighbouring cluster may be a round ahead, no more, and
 *           CLUSTER_SAFE is numbered by round
 */
#include <conclave/synchronizer.h>

enum kind { MESSAGE, ACK, SAFE, CLUSTER_SAFE, READY, PULSE };
enum phase { WORKING, REPORTED, SETTLED, READIED };

struct cluster_safe {
    uint64_t round;
};

struct state {
    uint32_t phase;
    uint32_t missing;   /* acknowledgements of my own messages of this round */
    uint32_t children;  /* in the tree of my cluster */
    uint32_t preferred; /* edges of mine, to other clusters */
    uint32_t safe;      /* children that are, in this round */
    uint32_t ready;     /* children that are, in this round */
    uint32_t around[2]; /* clusters over preferred edges that are safe, in the even and odd rounds: this and the next */
};

static size_t state_size(const struct cv_group *group, cv_node node)
{
    return sizeof(struct state) + cv_hosted_bytes(group, node);
}

static cv_node parent(const struct cv_self *me)
{
    return me->group->parents[me->node];
}

static bool is_head(const struct cv_self *me)
{
    return parent(me) == me->node;
}

static bool is_child(const struct cv_self *me, uint32_t neighbour)
{
    return me->group->parents[cv_neighbour(me, neighbour)] == me->node;
}

static bool is_preferred(const struct cv_self *me, uint32_t neighbour)
{
    return me->group->preferred[me->group->edges[me->node] + neighbour];
}

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    for (uint32_t i = 0; i < cv_degree(me); i++) {
        my->children += is_child(me, i);
        my->preferred += is_preferred(me, i);
    }
    cv_round_init(me);
}

static uint32_t *around(const struct cv_self *me)
{
    struct state *my = me->state;
    return &my->around[cv_round(me) & 1];
}

static void begin_round(struct cv_self *me)
{
    struct state *my = me->state;
    for (uint32_t i = 0; cv_round(me) && i < cv_degree(me); i++)
        if (is_child(me, i))
            cv_signal(me, cv_neighbour(me, i), PULSE);
    *around(me) = 0;
    if (cv_round(me)) /* children that started before me may be safe in the first round already */
        my->safe = my->ready = 0;
    my->phase = WORKING;
    my->missing = cv_round_next(me);
}

static void settle(struct cv_self *me)
{
    struct state *my = me->state;
    my->phase = SETTLED;
    for (uint32_t i = 0; i < cv_degree(me); i++)
        if (is_child(me, i) || is_preferred(me, i))
            cv_send(me, cv_neighbour(me, i), CLUSTER_SAFE, &(struct cluster_safe){cv_round(me)});
}

/* Takes the next step of this round if it can; a head tells itself what the others tell their parents. */
static bool step(struct cv_self *me)
{
    struct state *my = me->state;
    const bool safe = my->phase == WORKING && !my->missing && my->safe == my->children;
    const bool ready = my->phase == SETTLED && *around(me) == my->preferred && my->ready == my->children;
    if (!cv_round(me) || cv_round_done(me) || (!safe && !ready))
        return false;
    if (is_head(me)) {
        if (safe)
            settle(me);
        else
            begin_round(me);
    } else {
        my->phase = safe ? REPORTED : READIED;
        cv_signal(me, parent(me), safe ? SAFE : READY);
    }
    return true;
}

/* A node without neighbours goes through all rounds at once. */
static void go_on(struct cv_self *me)
{
    while (step(me))
        continue;
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
    my->missing--;
    go_on(me);
}

static void on_safe(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    (void)message;
    my->safe++;
    go_on(me);
}

static void on_cluster_safe(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct cluster_safe *theirs = cv_body(message);
    if (message->from == parent(me))
        settle(me);
    else
        my->around[theirs->round & 1]++;
    go_on(me);
}

static void on_ready(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    (void)message;
    my->ready++;
    go_on(me);
}

static void on_pulse(struct cv_self *me, const struct cv_message *message)
{
    (void)message;
    begin_round(me);
    go_on(me);
}

static const char *invariant(const struct cv_self *me)
{
    const struct state *my = me->state;
    if (my->missing > cv_degree(me))
        return "it waits for more acknowledgements than it has neighbours";
    if (my->safe > my->children || my->ready > my->safe)
        return "children are safe before they are ready, and each is counted once";
    if (my->around[0] > my->preferred || my->around[1] > my->preferred)
        return "more clusters around are safe than there are";
    return my->phase != WORKING && my->missing ? "who has reported has all acknowledgements" : NULL;
}

static bool valid(const struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const bool up = !is_head(me) && message->from == parent(me);
    const uint32_t place = cv_neighbour_index(me, message->from);
    const bool child = place < cv_degree(me) && is_child(me, place);
    switch (message->kind) {
    case MESSAGE:
        return cv_envelope_valid(me, message);
    case ACK:
        return my->missing;
    case SAFE:
        return child && my->safe < my->children;
    case CLUSTER_SAFE:
        return (up && my->phase == REPORTED) || (!up && place < cv_degree(me) && is_preferred(me, place));
    case READY:
        return child && my->ready < my->safe;
    default:
        return up && my->phase == READIED && !cv_round_done(me);
    }
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, phase, MODE), .words = "working|reported|settled|readied"},
    {CV_FIELD(struct state, missing, NUMBER)},
    {CV_FIELD(struct state, children, NUMBER)},
    {CV_FIELD(struct state, preferred, NUMBER)},
    {CV_FIELD(struct state, safe, NUMBER)},
    {CV_FIELD(struct state, ready, NUMBER)},
    {CV_FIELD(struct state, around[0], NUMBER), .each = CV_EACH_PLACE, .places = "even|odd"},
    {0},
};

static const struct cv_field cluster_safe_fields[] = {{CV_FIELD(struct cluster_safe, round, NUMBER)}, {0}};

static const struct cv_kind kinds[] = {
    [MESSAGE] = CV_KIND("message", struct cv_envelope, on_message, NULL),
    [ACK] = CV_SIGNAL("ack", on_ack),
    [SAFE] = CV_SIGNAL("safe", on_safe),
    [CLUSTER_SAFE] = CV_KIND("cluster-safe", struct cluster_safe, on_cluster_safe, cluster_safe_fields),
    [READY] = CV_SIGNAL("ready", on_ready),
    [PULSE] = CV_SIGNAL("pulse", on_pulse),
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/synchronizers/gamma.md")

static const struct cv_cost costs[] = {
    {"a round, besides its messages", CV_MESSAGES_ARE("4(n − c) + 2P"), CV_LISTED, DERIVED},
    {"a round", CV_DELAY_AT_MOST("4h + 3"), CV_LISTED, DERIVED},
    {"R rounds of M messages", CV_MESSAGES_ARE("2M + R(4(n − c) + 2P)"), CV_STEADY | CV_ALL_ALIVE, DERIVED},
    {"at most 4h + 3 a round", CV_DELAY_AT_MOST("R(4h + 3)"), CV_STEADY | CV_ALL_ALIVE | CV_UNIT_DELAY, DERIVED},
    {0},
};

const struct cv_algorithm cv_gamma = {
    .abi = CV_ABI,
    .problem = CV_SYNCHRONIZER,
    .name = "gamma",
    .title = "The gamma synchronizer",
    .citation = "B. Awerbuch, JACM 32(4), 1985",
    .topology = CV_GRAPH,
    .assumes = CV_RELIABLE | CV_NO_CRASH,
    .claims = CV_SYNCHRONIZER_CLAIMS,
    .clusters = true,
    .kinds = kinds,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_size = state_size,
    .state_fields = state_fields,
    .init = init,
    .start = start,
    .invariant = invariant,
    .valid = valid,
};
