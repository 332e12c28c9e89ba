// SPDX-License-Identifier: MIT
/*
 * S. Vasudevan, J. Kurose, D. Towsley: Design and analysis of a leader election algorithm for mobile ad hoc networks.
 * ICNP 2004; the form of the textbooks, with a failure detector in the place of probes and heartbeats.
 *
 * The source's ELECTION spreads from neighbour to neighbour. The first neighbour that a node hears it from is its
 * parent, so a tree grows. A node acknowledges its parent last, when all its other neighbours have acknowledged, and
 * reports the best node below it. The source thus learns the best of all, and LEADER goes down the tree.
 *
 *              ELECTION of a higher tag, or a call
 *     OUTSIDE -------------------------------------> BUILDING --- all acknowledged, report ---> REPORTED
 *                   ^                                    |                                         |
 *                   | leader lost                        | source: all acknowledged         LEADER |
 *                   '----- SETTLED <---------------------'-----------------------------------------'
 *                          ^     | MERGE: exchange leaders with a neighbour that came back;
 *                          '-----' the better one is passed on
 *
 * Several sources: each election has a tag (number, source), and a node leaves an election for one of a higher tag.
 * A node no longer awaits a lost neighbour. A node that loses its parent before its report is the root of its own
 * subtree; after its report it calls anew. An election that lost a node ends with MERGE to all neighbours instead of
 * LEADER down the tree: the tree may be in pieces, each with a leader of its own.
 *
 * Safety    a settled node follows no node that is worse than itself or that it knows to be lost, and tells every
 *           neighbour that may follow another: in a connected part they end with the same leader, which is the best
 * Liveness  of the elections in a part the one with the highest tag reaches every node and ends
 * Cost      one source, E links: 4E − (n − 1) messages in 3ecc time, or 2 more
 * Assumes   reliable links, as long as they last; a failure detector that tells of lost and returning nodes; FIFO
 *           links if a node returns
 */
#include <conclave/algorithm.h>

enum kind { ELECTION, ACK, LEADER, MERGE };
enum phase { OUTSIDE, SETTLED, BUILDING, REPORTED };

enum link {
    AWAITED = 1u << 0, /* its acknowledgement is awaited */
    CHILD = 1u << 1,   /* it reported to me */
    STRANGER = 1u << 2 /* it may follow another leader: to be told mine */
};

struct call {
    cv_rank tag; /* number and source of the election, compared like ranks */
};

struct report {
    cv_rank tag;
    cv_rank best;       /* of the sender and the nodes below it */
    uint64_t to_parent; /* false: the sender has another parent, and `best` says nothing */
};

struct result {
    cv_rank tag;
    cv_rank leader;
};

struct state {
    cv_rank tag;    /* of the last election I took part in */
    cv_rank best;   /* the best node I have heard of in it; once settled, the leader */
    cv_rank proven; /* suspected, and yet it reported in an election that I called later: it lives; 0: none */
    cv_node parent; /* CV_NOBODY: none, I am a root */
    uint32_t phase;
    uint32_t awaited; /* how many neighbours are */
    uint32_t shaken;  /* a node was lost since I joined */
    uint32_t link[];  /* enum link, per neighbour */
};

static size_t state_size(const struct cv_group *group, cv_node node)
{
    return sizeof(struct state) + (group->edges[node + 1] - group->edges[node]) * sizeof(uint32_t);
}

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    my->parent = CV_NOBODY;
    my->best = cv_my_rank(me);
}

static bool electing(const struct state *my)
{
    return my->phase == BUILDING || my->phase == REPORTED;
}

/* What I know of a neighbour. Nodes that are no neighbours send nothing. */
static uint32_t *link_to(const struct cv_self *me, cv_node node)
{
    struct state *my = me->state;
    const uint32_t index = cv_neighbour_index(me, node);
    assert(index < cv_degree(me));
    return &my->link[index];
}

/* ==== the text: one tree, one leader ================================================================= */

/* What the text leaves out, below. */
static void lose(struct cv_self *me, cv_node node);
static void end_election(struct cv_self *me);
static bool answer_orphan(struct cv_self *me, cv_node child, cv_rank tag);
static void learn(struct cv_self *me, cv_rank leader, enum kind kind, cv_node from);

/* ---- building the tree ---- */

static void join(struct cv_self *me, cv_rank tag, cv_node parent)
{
    struct state *my = me->state;
    if (my->phase == SETTLED)
        cv_no_leader(me);
    if (electing(my) && cv_rank_id(my->tag) == cv_my_id(me))
        cv_yield(me);
    my->tag = tag;
    my->best = cv_my_rank(me);
    my->parent = parent;
    my->phase = BUILDING;
    my->awaited = 0;
    my->shaken = false;
    const struct call mine = {tag};
    for (uint32_t i = 0; i < cv_degree(me); i++) {
        const cv_node node = cv_neighbour(me, i);
        const bool ask = node != parent && cv_present(me, node);
        my->link[i] = ask ? AWAITED : 0;
        my->awaited += ask;
        if (ask)
            cv_send(me, node, ELECTION, &mine);
    }
}

static void acknowledge(struct cv_self *me, cv_node node, bool to_parent)
{
    const struct state *my = me->state;
    const struct report report = {my->tag, to_parent ? my->best : 0, to_parent};
    cv_send(me, node, ACK, &report);
}

/* All that were asked have answered: report to the parent. The root ends the election. */
static void conclude(struct cv_self *me)
{
    struct state *my = me->state;
    if (my->phase != BUILDING || my->awaited)
        return;
    if (my->parent == CV_NOBODY) {
        end_election(me);
    } else {
        my->phase = REPORTED;
        acknowledge(me, my->parent, true);
    }
}

/* Calls an election that outdoes another. */
static void call_above(struct cv_self *me, cv_rank tag)
{
    join(me, cv_rank_make((uint32_t)(tag >> 32) + 1, cv_my_id(me)), CV_NOBODY);
    cv_call(me);
    conclude(me);
}

static void call(struct cv_self *me)
{
    const struct state *my = me->state;
    call_above(me, my->tag);
}

static void start(struct cv_self *me)
{
    if (!electing(me->state))
        call(me);
}

static void tell(struct cv_self *me, cv_node node, uint32_t kind)
{
    const struct state *my = me->state;
    const struct result result = {my->tag, my->best};
    cv_send(me, node, kind, &result);
}

static void on_election(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const struct call *theirs = cv_body(message);
    const cv_node from = message->from;
    if (theirs->tag > my->tag) {
        join(me, theirs->tag, from);
        if (cv_suspected(me, cv_id_of(me, from)))
            lose(me, from); /* it died after it had sent this */
        conclude(me);
    } else if (theirs->tag == my->tag && from == my->parent) {
        lose(me, from); /* a parent asks once: it has died and come back, and has forgotten me */
    } else if (theirs->tag == my->tag) {
        acknowledge(me, from, false);
    }
    if (my->phase == SETTLED)
        tell(me, from, MERGE); /* its election is over here */
}

static void await_no_more(struct cv_self *me, cv_node node)
{
    struct state *my = me->state;
    uint32_t *link = link_to(me, node);
    if (*link & AWAITED) {
        *link &= ~(uint32_t)AWAITED;
        my->awaited--;
        conclude(me);
    }
}

static void on_ack(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct report *report = cv_body(message);
    if (report->to_parent && answer_orphan(me, message->from, report->tag))
        return;
    if (report->tag != my->tag)
        return;
    if (report->to_parent) {
        *link_to(me, message->from) |= CHILD;
        my->best = report->best > my->best ? report->best : my->best;
    }
    await_no_more(me, message->from);
}

/* ---- the result goes down the tree ---- */

/* LEADER: children know as much as I do. MERGE: every neighbour may follow another leader. */
static void settle(struct cv_self *me, cv_rank leader, enum kind kind, cv_node from)
{
    struct state *my = me->state;
    my->phase = SETTLED;
    my->best = leader;
    my->parent = CV_NOBODY;
    my->awaited = 0;
    cv_elected(me, cv_rank_id(leader));
    for (uint32_t i = 0; i < cv_degree(me); i++) {
        const cv_node node = cv_neighbour(me, i);
        const uint32_t link = my->link[i];
        my->link[i] = 0;
        if (node == from)
            continue;
        if ((link & STRANGER || kind == MERGE) && cv_present(me, node))
            tell(me, node, MERGE);
        else if (link & CHILD)
            tell(me, node, LEADER);
    }
}

static void on_leader(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const struct result *result = cv_body(message);
    if (message->from == my->parent && result->tag == my->tag)
        learn(me, result->leader, LEADER, message->from);
}

/* ==== when nodes die, links break, and both come back ================================================ */

/* Is that node lost, as far as I know? A report that is older than the suspicion proves nothing. */
static bool lost(const struct cv_self *me, cv_rank node)
{
    const struct state *my = me->state;
    return node != my->proven && cv_suspected(me, cv_rank_id(node));
}

/* The text just settles. But the best node may have died after its report, and the tree may be in pieces. */
static void end_election(struct cv_self *me)
{
    struct state *my = me->state;
    if (my->shaken && lost(me, my->best)) {
        call_above(me, my->tag); /* it reported, and died */
        return;
    }
    if (lost(me, my->best))
        my->proven = my->best;
    settle(me, my->best, my->shaken ? MERGE : LEADER, CV_NOBODY);
}

/* A node that was cut off after its report can be better than the leader, and the leader can have died since. */
static void learn(struct cv_self *me, cv_rank leader, enum kind kind, cv_node from)
{
    if (leader < cv_my_rank(me) || lost(me, leader))
        call(me);
    else
        settle(me, leader, kind, from);
}

/* ---- what goes missing ---- */

static void lose(struct cv_self *me, cv_node node)
{
    struct state *my = me->state;
    if (!electing(my))
        return;
    my->shaken = true;
    if (node == my->parent && my->phase == REPORTED) {
        call(me); /* no parent is left to tell me the result */
    } else if (node == my->parent) {
        my->parent = CV_NOBODY;
        acknowledge(me, node, false); /* if it lives after all, it need not wait for me */
    } else if (cv_neighbour_index(me, node) < cv_degree(me)) {
        await_no_more(me, node);
    }
}

static void suspect(struct cv_self *me, cv_node node)
{
    struct state *my = me->state;
    if (my->proven == cv_rank_of(me, node))
        my->proven = 0;
    if (my->phase == SETTLED && cv_follows(me, cv_id_of(me, node)))
        call(me);
    else
        lose(me, node);
}

/* A child reports to me, but I died since I asked it, or have the result already. */
static bool answer_orphan(struct cv_self *me, cv_node child, cv_rank tag)
{
    const struct state *my = me->state;
    if (tag > my->tag) {
        call_above(me, tag); /* I have forgotten that election */
        return true;
    }
    if (my->phase != SETTLED)
        return false;
    tell(me, child, MERGE); /* it missed the result */
    return true;
}

/* ---- leaders of different parts meet ---- */

static void on_merge(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct result *theirs = cv_body(message);
    const cv_node from = message->from;
    if (electing(my) && from == my->parent && theirs->tag >= my->tag) {
        my->tag = theirs->tag;
        learn(me, theirs->leader, MERGE, from);
    } else if (electing(my)) {
        *link_to(me, from) |= STRANGER;
        if (theirs->tag > my->tag)
            await_no_more(me, from); /* it will not come down to my election */
    } else if (my->phase == OUTSIDE && (theirs->leader < my->best || lost(me, theirs->leader))) {
        call(me);
    } else if (theirs->leader < my->best) {
        tell(me, from, MERGE);
    } else if (lost(me, theirs->leader)) {
        *link_to(me, from) |= STRANGER; /* one of us will hear news of that leader */
    } else if (!cv_follows(me, cv_rank_id(theirs->leader))) {
        my->tag = theirs->tag > my->tag ? theirs->tag : my->tag;
        settle(me, theirs->leader, MERGE, from);
    }
}

/* I tell strangers my leader: now, or at the end of my election. */
static void trust(struct cv_self *me, cv_node node)
{
    struct state *my = me->state;
    const uint32_t place = cv_neighbour_index(me, node);
    if (place < cv_degree(me))
        my->link[place] |= STRANGER;
    for (uint32_t i = 0; i < cv_degree(me) && my->phase == SETTLED; i++)
        if (my->link[i] & STRANGER && cv_present(me, cv_neighbour(me, i))) {
            my->link[i] = 0;
            tell(me, cv_neighbour(me, i), MERGE);
        }
}

/* Back from a crash, a node is a part of the network by itself, which merges with what it finds. */
static void recover(struct cv_self *me)
{
    cv_call(me);
    settle(me, cv_my_rank(me), MERGE, CV_NOBODY);
}

/* ===================================================================================================== */

static const char *invariant(const struct cv_self *me)
{
    const struct state *my = me->state;
    uint32_t awaited = 0;
    for (uint32_t i = 0; i < cv_degree(me); i++)
        awaited += my->link[i] & AWAITED;
    if (awaited != my->awaited)
        return "the awaited neighbours are counted wrongly";
    if ((my->phase == BUILDING) != (my->awaited > 0))
        return "a node builds the tree as long as it awaits somebody";
    if (my->phase == REPORTED && my->parent == CV_NOBODY)
        return "who has reported has a parent";
    if (my->best < cv_my_rank(me))
        return "a node knows nobody worse than itself as the best";
    return NULL;
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, phase, MODE), .words = "outside|settled|building|reported"},
    {CV_FIELD(struct state, parent, MAYBE)},
    {CV_FIELD(struct state, best, RANK)},
    {CV_FIELD(struct state, awaited, NUMBER)},
    {CV_FIELD(struct state, link[0], MARKS), .each = CV_EACH_NEIGHBOUR, .words = "awaited|child|stranger"},
    {CV_FIELD(struct state, tag, TAG)},
    {CV_FIELD(struct state, proven, RANK)},
    {CV_FIELD(struct state, shaken, FLAG)},
    {0},
};

static const struct cv_field call_fields[] = {{CV_FIELD(struct call, tag, TAG)}, {0}};

static const struct cv_field report_fields[] = {
    {CV_FIELD(struct report, best, RANK)},
    {CV_FIELD(struct report, to_parent, FLAG)},
    {CV_FIELD(struct report, tag, TAG)},
    {0},
};

static const struct cv_field result_fields[] = {
    {CV_FIELD(struct result, leader, RANK)},
    {CV_FIELD(struct result, tag, TAG)},
    {0},
};

static const struct cv_kind kinds[] = {
    [ELECTION] = CV_KIND("election", struct call, on_election, call_fields),
    [ACK] = CV_KIND("ack", struct report, on_ack, report_fields),
    [LEADER] = CV_KIND("leader", struct result, on_leader, result_fields),
    [MERGE] = CV_KIND("merge", struct result, on_merge, result_fields),
    {0},
};

#define ONE_SOURCE (CV_STEADY | CV_ONE_CALLER | CV_ALL_ALIVE)

#define DERIVED CV_DERIVED_IN("docs/elections/wireless.md")

static const struct cv_cost costs[] = {
    {"best: a tree", CV_MESSAGES_ARE("3(n − 1)"), CV_LISTED, DERIVED},
    {"worst: a complete graph", CV_MESSAGES_ARE("(2n − 1)(n − 1)"), CV_LISTED, DERIVED},
    {"one source", CV_MESSAGES_ARE("4E − (n − 1)"), ONE_SOURCE, DERIVED},
    {"one source", CV_DELAY_IS("3ecc + w"), ONE_SOURCE | CV_UNIT_DELAY, DERIVED},
    {0},
};

const struct cv_algorithm cv_wireless = {
    .abi = CV_ABI,
    .problem = CV_ELECTION,
    .name = "wireless",
    .title = "Election in wireless ad hoc networks",
    .citation = "S. Vasudevan, J. Kurose, D. Towsley, ICNP 2004",
    .topology = CV_GRAPH,
    .assumes = CV_RELIABLE | CV_DETECTOR | CV_FIFO_RECOVERY,
    .claims = CV_ELECTION_CLAIMS | CV_PER_COMPONENT,
    .kinds = kinds,
    .costs = costs,
    .state_size = state_size,
    .state_fields = state_fields,
    .init = init,
    .start = start,
    .recover = recover,
    .suspect = suspect,
    .trust = trust,
    .invariant = invariant,
};
