// SPDX-License-Identifier: MIT
/*
 * B. Awerbuch: Complexity of network synchronization. JACM 32(4), 1985. The beta synchronizer.
 *
 * A tree spans the network. A node whose own messages of a round are acknowledged, and whose children have all said
 * SAFE, says SAFE to its parent: all below it is safe. So the root learns that all nodes are safe, and NEXT goes
 * down the tree: the next round begins. The NEXT of the last round says that all is over.
 *
 * The network builds the tree itself. TREE spreads from the root. The first neighbour that a node hears it from is its
 * parent, and hears CHILD; all others hear TAKEN. A node begins its first round as it joins, and is not safe before all
 * its own TREEs are answered: only then it knows its children.
 *
 * Safety    NEXT is sent when every message of the round has arrived
 * Liveness  answers and acknowledgements wait for nothing, so the leaves get safe, and then those above them
 * Cost      a round takes an ACK for each message, a SAFE up and a NEXT down every edge of the tree: 2(n − 1); with h
 *           its height, 2h + 2 message times. Before that 2E − (n − 1) TREEs and as many answers
 * Assumes   reliable links; no node dies; a connected graph. FIFO is not needed: what could be overtaken is answered
 *           before
 */
#include <conclave/synchronizer.h>

enum kind { MESSAGE, ACK, SAFE, NEXT, TREE, CHILD, TAKEN };
enum parameter { ROOT };

struct state {
    cv_node parent;      /* CV_NOBODY before I join; the root is its own */
    uint32_t missing;    /* acknowledgements of my own messages of this round */
    uint32_t unanswered; /* TREEs of mine */
    uint32_t children;
    uint32_t safe; /* children that are, in this round */
    uint32_t unused;
};

static size_t state_size(const struct cv_group *group, cv_node node)
{
    const uint64_t degree = group->edges[node + 1] - group->edges[node];
    return sizeof(struct state) + cv_hosted_bytes(group, node) + degree * sizeof(uint32_t);
}

/* For each neighbour, whether it is a child. These flags come last in the state. */
static uint32_t *child_flags(const struct cv_self *me)
{
    unsigned char *state = me->state;
    return (uint32_t *)(void *)(state + sizeof(struct state) + cv_hosted_bytes(me->group, me->node));
}

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    my->parent = CV_NOBODY;
    cv_round_init(me);
}

static bool is_root(const struct cv_self *me)
{
    return cv_parameter(me, ROOT) == (int64_t)me->node;
}

static void begin_round(struct cv_self *me)
{
    struct state *my = me->state;
    for (uint32_t i = 0; my->children && i < cv_degree(me); i++)
        if (child_flags(me)[i])
            cv_signal(me, cv_neighbour(me, i), NEXT);
    my->safe = 0;
    my->missing = cv_round_next(me);
}

/*
 * When all below me is safe the parent hears of it; the root begins the next round, alone it goes through all at once.
 */
static void go_on(struct cv_self *me)
{
    struct state *my = me->state;
    while (!cv_round_done(me) && !my->missing && !my->unanswered && my->safe == my->children) {
        if (!is_root(me)) {
            cv_signal(me, my->parent, SAFE);
            return;
        }
        begin_round(me);
    }
}

/* ---- the tree --------------------------------------------------------------------------------------- */

static void join(struct cv_self *me, cv_node parent)
{
    struct state *my = me->state;
    my->parent = parent;
    for (uint32_t i = 0; i < cv_degree(me); i++)
        if (cv_neighbour(me, i) != parent) {
            cv_signal(me, cv_neighbour(me, i), TREE);
            my->unanswered++;
        }
    begin_round(me);
    go_on(me);
}

static void start(struct cv_self *me)
{
    if (is_root(me))
        join(me, me->node);
}

static void on_tree(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const bool first = my->parent == CV_NOBODY;
    cv_signal(me, message->from, first ? CHILD : TAKEN);
    if (first)
        join(me, message->from);
}

static void on_taken(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    (void)message;
    my->unanswered--;
    go_on(me);
}

static void on_child(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const uint32_t neighbour = cv_neighbour_index(me, message->from);
    assert(neighbour < cv_degree(me));
    child_flags(me)[neighbour] = true;
    my->children++;
    my->unanswered--;
    go_on(me);
}

/* ---- rounds ----------------------------------------------------------------------------------------- */

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

static void on_next(struct cv_self *me, const struct cv_message *message)
{
    (void)message;
    begin_round(me);
    go_on(me);
}

static const char *invariant(const struct cv_self *me)
{
    const struct state *my = me->state;
    uint32_t children = 0;
    for (uint32_t i = 0; i < cv_degree(me); i++)
        children += child_flags(me)[i];
    if (children != my->children)
        return "the children are counted wrongly";
    if (children + my->unanswered > cv_degree(me) || my->missing > cv_degree(me))
        return "it waits for more answers than it has neighbours";
    if (!my->unanswered && my->safe > children)
        return "more children are safe than there are";
    return (my->parent == CV_NOBODY) != (cv_round(me) == 0) ? "the first round begins with joining the tree" : NULL;
}

static bool valid(const struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const uint32_t place = cv_neighbour_index(me, message->from);
    const bool child = place < cv_degree(me) && child_flags(me)[place];
    switch (message->kind) {
    case MESSAGE:
        return cv_envelope_valid(me, message);
    case ACK:
        return my->missing;
    case SAFE:
        return my->parent != CV_NOBODY && my->safe < cv_degree(me); /* it may overtake the word that it is a child */
    case NEXT:
        return !is_root(me) && message->from == my->parent && !cv_round_done(me);
    case TREE:
        return true;
    default:
        return my->unanswered && !child;
    }
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, parent, MAYBE)},
    {CV_FIELD(struct state, missing, NUMBER)},
    {CV_FIELD(struct state, unanswered, NUMBER)},
    {CV_FIELD(struct state, children, NUMBER)},
    {CV_FIELD(struct state, safe, NUMBER)},
    {CV_FIELD(struct state, unused, UNUSED)},
    {.name = "child", .bytes = sizeof(uint32_t), .type = CV_FIELD_FLAG, .row = "child", .each = CV_EACH_NEIGHBOUR},
    {0},
};

static const struct cv_kind kinds[] = {
    [MESSAGE] = CV_KIND("message", struct cv_envelope, on_message, NULL),
    [ACK] = CV_SIGNAL("ack", on_ack),
    [SAFE] = CV_SIGNAL("safe", on_safe),
    [NEXT] = CV_SIGNAL("next", on_next),
    [TREE] = CV_SIGNAL("tree", on_tree),
    [CHILD] = CV_SIGNAL("child", on_child),
    [TAKEN] = CV_SIGNAL("taken", on_taken),
    {0},
};

static const struct cv_parameter parameters[] = {
    [ROOT] = {"root", "where the tree begins (the smallest id)", NULL, 0, CV_MEMBER, 0},
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/synchronizers/beta.md")

static const struct cv_cost costs[] = {
    {"a round, besides its messages", CV_MESSAGES_ARE("2(n − 1)"), CV_LISTED,
     CV_TEXT_SAYS("Ghosh: (N-1) safe messages and (N-1) next messages")},
    {"a round: down the tree, out and back, up the tree", CV_DELAY_IS("2h + 2"), CV_LISTED, DERIVED},
    {"a round, one way along the tree alone", CV_DELAY_IS("h"), CV_LISTED,
     CV_TEXT_SAYS("Ghosh: T(β) = depth of the tree")},
    {"R rounds of M messages", CV_MESSAGES_ARE("2M + 2(n − 1)R"), CV_STEADY | CV_ALL_ALIVE,
     CV_TEXT_SAYS("Ghosh: m messages, m acks, (N-1) safe messages and (N-1) next messages")},
    {"2h + 2 a round, and h to the end", CV_DELAY_IS("R(2h + 2) + h"),
     CV_STEADY | CV_ALL_ALIVE | CV_UNIT_DELAY | CV_ALL_SEND, DERIVED},
    {"at most 2h + 2 a round, and h to the end", CV_DELAY_AT_MOST("max(1, R)(2h + 2) + h"),
     CV_STEADY | CV_ALL_ALIVE | CV_UNIT_DELAY, DERIVED},
    {0},
};

const struct cv_algorithm cv_beta = {
    .abi = CV_ABI,
    .problem = CV_SYNCHRONIZER,
    .name = "beta",
    .title = "The beta synchronizer",
    .citation = "B. Awerbuch, JACM 32(4), 1985",
    .topology = CV_GRAPH,
    .assumes = CV_RELIABLE | CV_NO_CRASH | CV_CONNECTED,
    .claims = CV_SYNCHRONIZER_CLAIMS,
    .kinds = kinds,
    .parameters = parameters,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_size = state_size,
    .state_fields = state_fields,
    .init = init,
    .start = start,
    .invariant = invariant,
    .valid = valid,
    .hints = {.preparing = TREE},
};
