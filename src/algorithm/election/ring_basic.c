// SPDX-License-Identifier: MIT
/*
 * The ring election in its basic version, of the lecture notes that lead up to Chang and Roberts' algorithm
 * (R. Mittal, I. Gupta, N. Borisov: CS 425 Distributed Systems, University of Illinois, 2022).
 *
 * A caller sends its rank round the ring. A better node puts its own rank in its place. The rank that comes back to its
 * owner has passed all nodes, so its owner is the leader and tells the ring. Nodes remember nothing and drop nothing:
 * each caller's ballot elects the leader once more.
 *
 * Safety    the best rank is never replaced, and every other one is, at the best node at the latest
 * Liveness  a ballot reaches the best node in n - 1 steps, is its own for a round, and the result takes another
 * Cost      2n + δ for each caller, δ steps before the best node: 2kn + Σδ in all, n(5n - 1)/2 if all call
 * Assumes   reliable links; a failure detector tells of crashes: then the ring closes over the dead, their rank
 *           is not passed on, and the nodes that were waiting call again
 */
#include <conclave/algorithm.h>

enum kind { ELECTION, ELECTED };

struct ballot {
    cv_rank rank; /* the best so far, or the leader */
};

/* For the sake of crashes only: the rules of the election never look at it. */
struct state {
    cv_rank leader;   /* the leader it follows, if any */
    uint32_t waiting; /* has sent or passed on an ELECTION and not yet heard a result */
    uint32_t calling; /* one of them was its own */
};

static void pass_on(struct cv_self *me, uint32_t kind, cv_rank rank)
{
    cv_send(me, cv_successor(me), kind, &(struct ballot){rank});
}

static void call(struct cv_self *me)
{
    struct state *my = me->state;
    if (my->calling)
        return;
    my->waiting = my->calling = true;
    cv_call(me);
    pass_on(me, ELECTION, cv_my_rank(me));
}

static void follow(struct cv_self *me, cv_rank leader)
{
    struct state *my = me->state;
    my->waiting = my->calling = false;
    my->leader = leader;
    cv_elected(me, cv_rank_id(leader));
}

/*
 * A result that a better one has overtaken: its ring was closed over a node that came back and leads. Old ballots may
 * make me wait once more, but not for such a result. If that leader has died since, the detector tells, and I call.
 */
static bool is_old_news(const struct cv_self *me, cv_rank leader)
{
    const struct state *my = me->state;
    return cv_knows_leader(me) && leader < my->leader;
}

static void on_election(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct ballot *ballot = cv_body(message);
    const cv_rank mine = cv_my_rank(me);
    if (cv_suspected(me, cv_rank_id(ballot->rank))) {
        call(me); /* instead: nobody could stop that ballot any more */
    } else if (ballot->rank == mine) {
        if (is_old_news(me, mine))
            return;
        follow(me, mine);
        pass_on(me, ELECTED, mine);
    } else {
        my->waiting = true;
        pass_on(me, ELECTION, ballot->rank > mine ? ballot->rank : mine);
    }
}

static void on_elected(struct cv_self *me, const struct cv_message *message)
{
    const struct ballot *ballot = cv_body(message);
    const cv_rank mine = cv_my_rank(me);
    if (cv_suspected(me, cv_rank_id(ballot->rank)))
        return;
    if (ballot->rank > mine && !is_old_news(me, ballot->rank)) {
        follow(me, ballot->rank);
        pass_on(me, ELECTED, ballot->rank);
    } else if (ballot->rank < mine) {
        call(me); /* it has come back since that ballot passed its place */
    }
}

/* "Repair the ring, stop forwarding, start a new run": a ballot may have died with that node, or its leader. */
static void suspect(struct cv_self *me, cv_node node)
{
    struct state *my = me->state;
    const bool lost_leader = cv_follows(me, cv_id_of(me, node));
    if (!lost_leader && !my->waiting)
        return;
    if (lost_leader)
        cv_no_leader(me);
    if (my->calling)
        cv_yield(me);
    my->calling = false;
    call(me);
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, waiting, FLAG)},
    {CV_FIELD(struct state, calling, FLAG)},
    {CV_FIELD(struct state, leader, RANK)},
    {0},
};

static const struct cv_field fields[] = {{CV_FIELD(struct ballot, rank, RANK)}, {0}};

static const struct cv_kind kinds[] = {
    [ELECTION] = CV_KIND("election", struct ballot, on_election, fields),
    [ELECTED] = CV_KIND("elected", struct ballot, on_elected, fields),
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/elections/ring-basic.md")

static const struct cv_cost costs[] = {
    {"best, one caller", CV_MESSAGES_ARE("2n"), CV_LISTED, CV_TEXT_SAYS("CS425: best case, No. of messages: 2N")},
    {"worst, one caller", CV_MESSAGES_ARE("3n − 1"), CV_LISTED,
     CV_TEXT_SAYS("CS425: worst case, No. of messages: (3N-1)")},
    {"worst, all call", CV_MESSAGES_ARE("n(5n − 1)/2"), CV_LISTED, DERIVED},
    {"the best calls", CV_MESSAGES_ARE("2n"), CV_STEADY | CV_ONE_CALLER | CV_TOP_CALLS | CV_ALL_ALIVE,
     CV_TEXT_SAYS("CS425: best case, No. of messages: 2N")},
    {"one caller", CV_MESSAGES_ARE("2a + δ"), CV_STEADY | CV_ONE_CALLER, DERIVED},
    {"all call", CV_MESSAGES_ARE("a(5a − 1)/2"), CV_STEADY | CV_ALL_CALL, DERIVED},
    {"some call", CV_MESSAGES_ARE("2ka + δ"), CV_STEADY, DERIVED},
    {"the best calls", CV_DELAY_IS("2n"), CV_STEADY | CV_UNIT_DELAY | CV_ONE_CALLER | CV_TOP_CALLS | CV_ALL_ALIVE,
     CV_TEXT_SAYS("CS425: best case, Turnaround time: 2N message transmission times")},
    {"one caller", CV_DELAY_IS("2a + δ"), CV_STEADY | CV_UNIT_DELAY | CV_ONE_CALLER, DERIVED},
    {"all call", CV_DELAY_IS("3a − 1"), CV_STEADY | CV_UNIT_DELAY | CV_ALL_CALL, DERIVED},
    {"some call", CV_DELAY_AT_MOST("3a − 1"), CV_STEADY | CV_UNIT_DELAY,
     CV_TEXT_SAYS("CS425: Turnaround time: (3N-1) message transmission times")},
    {0},
};

const struct cv_algorithm cv_ring_basic = {
    .abi = CV_ABI,
    .problem = CV_ELECTION,
    .name = "ring-basic",
    .title = "The ring election, basic version",
    .citation = "R. Mittal, I. Gupta, N. Borisov, CS 425 lecture notes, University of Illinois, 2022",
    .topology = CV_RING,
    .assumes = CV_RELIABLE | CV_DETECTOR,
    .claims = CV_ELECTION_CLAIMS,
    .kinds = kinds,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_fields = state_fields,
    .start = call,
    .recover = call,
    .suspect = suspect,
};
