// SPDX-License-Identifier: MIT
/*
 * E. Chang, R. Roberts: An improved algorithm for decentralized extrema-finding in circular configurations of
 * processes. Communications of the ACM 22(5), 1979; in the form with a `participating` state and attributes.
 *
 * A caller sends its rank round the ring. A better node puts its own rank in its place, once: a worse rank that meets
 * a participant dies. The rank that comes back to its owner has passed all nodes, so its owner is the leader and tells
 * the ring.
 *
 * Safety    the best rank is never replaced and never dies; every other is replaced or dies at the best node
 * Liveness  the best rank goes round once: at most 3n - 1 message times, if no node fails
 * Cost      one caller 2n + δ, δ steps before the best node; all call: n(n+1)/2 + n at worst
 * Assumes   reliable links; a failure detector tells of crashes: then the ring closes over the dead, their rank
 *           stops circulating, and the nodes that were waiting call again. A node may come back if links are FIFO
 */
#include <conclave/algorithm.h>

enum kind { ELECTION, ELECTED };

struct ballot {
    cv_rank rank; /* the best so far, or the leader */
};

struct state {
    uint32_t participating; /* has sent or passed on an ELECTION and not yet heard the result */
    uint32_t attribute;     /* of the leader it knows */
};

static void pass_on(struct cv_self *me, uint32_t kind, cv_rank rank)
{
    cv_send(me, cv_successor(me), kind, &(struct ballot){rank});
}

static void call(struct cv_self *me)
{
    struct state *my = me->state;
    if (my->participating)
        return;
    my->participating = true;
    cv_call(me);
    pass_on(me, ELECTION, cv_my_rank(me));
}

static void follow(struct cv_self *me, cv_rank leader)
{
    struct state *my = me->state;
    my->participating = false;
    my->attribute = cv_rank_attribute(leader);
    cv_elected(me, cv_rank_id(leader));
}

/*
 * A result that a better one has overtaken: its ring was closed over a node that came back and leads. Old ballots may
 * make me wait once more, but not for such a result. If that leader has died since, the detector tells, and I call.
 */
static bool is_old_news(const struct cv_self *me, cv_rank leader)
{
    const struct state *my = me->state;
    return cv_knows_leader(me) && leader < cv_rank_make(my->attribute, cv_leader(me));
}

static void on_election(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct ballot *ballot = cv_body(message);
    const cv_rank mine = cv_my_rank(me);
    if (cv_suspected(me, cv_rank_id(ballot->rank))) {
        call(me); /* no node could stop that ballot any more, and its caller may have been the only one */
    } else if (ballot->rank > mine) {
        my->participating = true;
        pass_on(me, ELECTION, ballot->rank);
    } else if (ballot->rank < mine) {
        call(me);
    } else if (!is_old_news(me, mine)) {
        follow(me, mine);
        pass_on(me, ELECTED, mine);
    }
}

static void on_elected(struct cv_self *me, const struct cv_message *message)
{
    const struct ballot *ballot = cv_body(message);
    const cv_rank mine = cv_my_rank(me);
    if (cv_suspected(me, cv_rank_id(ballot->rank)))
        return;
    if (ballot->rank > mine) {
        if (!is_old_news(me, ballot->rank))
            follow(me, ballot->rank);
        pass_on(me, ELECTED, ballot->rank); /* my own leader may be dead: others may be waiting for this one */
    } else if (ballot->rank < mine) {
        call(me); /* it has come back since that ballot passed its place */
    }
}

/* "Repair the ring, stop forwarding, start a new run": a ballot may have died with that node, or its leader. */
static void suspect(struct cv_self *me, cv_node node)
{
    struct state *my = me->state;
    const bool lost_leader = cv_follows(me, cv_id_of(me, node));
    if (!lost_leader && !my->participating)
        return;
    if (lost_leader)
        cv_no_leader(me);
    my->participating = false;
    cv_yield(me);
    call(me);
}

/*
 * A node that comes back calls. But its ballot may die at a participant of a run whose result has already passed its
 * place: so the node before it on the ring tells it.
 */
static void trust(struct cv_self *me, cv_node node)
{
    const struct state *my = me->state;
    if (node == cv_successor(me) && cv_knows_leader(me) && !my->participating)
        pass_on(me, ELECTED, cv_rank_make(my->attribute, cv_leader(me)));
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, participating, FLAG)},
    {CV_FIELD(struct state, attribute, NUMBER)},
    {0},
};

static const struct cv_field fields[] = {{CV_FIELD(struct ballot, rank, RANK)}, {0}};

static const struct cv_kind kinds[] = {
    [ELECTION] = CV_KIND("election", struct ballot, on_election, fields),
    [ELECTED] = CV_KIND("elected", struct ballot, on_elected, fields),
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/elections/chang-roberts.md")

static const struct cv_cost costs[] = {
    {"best, one caller", CV_MESSAGES_ARE("2n"), CV_LISTED, CV_TEXT_SAYS("CS425: best case, No. of messages: 2N")},
    {"worst, one caller", CV_MESSAGES_ARE("3n − 1"), CV_LISTED,
     CV_TEXT_SAYS("CS425: worst case, No. of messages: (3N-1)")},
    {"best, all call", CV_MESSAGES_ARE("3n − 1"), CV_LISTED,
     CV_TEXT_SAYS("CS425: each process initiates, Total: 3N-1 messages")},
    {"worst, all call", CV_MESSAGES_ARE("n(n + 1)/2 + n"), CV_LISTED, DERIVED},
    {"the best calls", CV_MESSAGES_ARE("2n"), CV_STEADY | CV_ONE_CALLER | CV_TOP_CALLS | CV_ALL_ALIVE,
     CV_TEXT_SAYS("CS425: best case, No. of messages: 2N")},
    {"one caller", CV_MESSAGES_ARE("2a + δ"), CV_STEADY | CV_ONE_CALLER, DERIVED},
    {"all call", CV_MESSAGES_ARE("Σ + a"), CV_STEADY | CV_ALL_CALL, DERIVED},
    {"some call", CV_MESSAGES_AT_MOST("a(a + 1)/2 + a"), CV_STEADY, DERIVED},
    {"the best calls", CV_DELAY_IS("2n"), CV_STEADY | CV_UNIT_DELAY | CV_ONE_CALLER | CV_TOP_CALLS | CV_ALL_ALIVE,
     CV_TEXT_SAYS("CS425: best case, Turnaround time: 2N message transmission times")},
    {"one caller", CV_DELAY_IS("2a + δ"), CV_STEADY | CV_UNIT_DELAY | CV_ONE_CALLER, DERIVED},
    {"all call", CV_DELAY_IS("2a"), CV_STEADY | CV_UNIT_DELAY | CV_ALL_CALL, DERIVED},
    {"some call", CV_DELAY_AT_MOST("3a − 1"), CV_STEADY | CV_UNIT_DELAY,
     CV_TEXT_SAYS("CS425: Election completes within 3N - 1 message transmission times")},
    {0},
};

const struct cv_algorithm cv_chang_roberts = {
    .abi = CV_ABI,
    .problem = CV_ELECTION,
    .name = "chang-roberts",
    .title = "Chang and Roberts' ring election",
    .citation = "E. Chang, R. Roberts, CACM 22(5), 1979",
    .topology = CV_RING,
    .assumes = CV_RELIABLE | CV_DETECTOR | CV_FIFO_RECOVERY,
    .claims = CV_ELECTION_CLAIMS,
    .kinds = kinds,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_fields = state_fields,
    .start = call,
    .recover = call,
    .suspect = suspect,
    .trust = trust,
};
