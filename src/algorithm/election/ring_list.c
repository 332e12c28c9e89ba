// SPDX-License-Identifier: MIT
/*
 * The ring algorithm with a list of ids, of the textbooks (A. Tanenbaum, M. van Steen: Distributed Systems); after
 * G. Le Lann: Distributed systems - towards a formal approach. IFIP Congress, 1977.
 *
 * A caller sends a list with its own id round the ring; everybody adds its id and passes the list on. Who finds its
 * own id on the list closes it: the best one listed is the leader, and a second list goes round to announce it. That
 * list collects ids too: if the leader's is missing when it comes back, the leader has died and it all begins anew.
 *
 *                    call: send ELECTION                    pass on an ELECTION
 *     CALLING <---------------------------- NORMAL ----------------------------> WAITING
 *        |                                   ^  ^                                   |
 *        '-- own ELECTION back, COORDINATOR -'  '----------- COORDINATOR -----------'
 *     and from both: no result in time after a crash, call again
 *
 * Safety    a list that comes back has passed every live node, so every list that was begun after the last change
 *           names the same leader; a leader that died in between is missing on the second list
 * Liveness  a list comes back within a ring's worth of delays; if a crash is told meanwhile it may have died with
 *           its holder, so whoever waits for its result does so for another two rounds and then calls
 * Cost      k callers: k lists of each kind go once round the ring of the living, 2kn; a multicast saves k
 * Assumes   reliable links; a failure detector tells of crashes. The dead are skipped
 */
#include <conclave/algorithm.h>

enum kind { ELECTION, COORDINATOR };
enum timer { NO_RESULT };
enum parameter { POLICY, ANNOUNCE };
enum { POLICY_MAX, POLICY_MIN };
enum { ANNOUNCE_RING, ANNOUNCE_MULTICAST };

enum mode { NORMAL, WAITING, CALLING };

/* What goes in front of the list of ids. */
struct ballot {
    cv_rank best; /* of those on the list; in a COORDINATOR the leader */
};

struct state {
    cv_rank leader; /* whom it follows, if anybody */
    uint32_t mode;
    uint32_t unused;
};

static bool better(const struct cv_self *me, cv_rank one, cv_rank other)
{
    return cv_parameter(me, POLICY) == POLICY_MIN ? one < other : one > other;
}

/* Adds its own id to the list and sends it on. */
static void pass_on(struct cv_self *me, uint32_t kind, cv_rank best, struct cv_list list)
{
    const cv_id id = cv_my_id(me);
    cv_send_list(me, cv_successor(me), kind, &(struct ballot){best}, sizeof(struct ballot), list, &id);
}

static void wait_for_result(struct cv_self *me)
{
    cv_arm(me, NO_RESULT, 2 * cv_nodes(me) * cv_bound(me));
}

static void call(struct cv_self *me)
{
    struct state *my = me->state;
    if (my->mode == CALLING)
        return;
    my->mode = CALLING;
    cv_call(me);
    pass_on(me, ELECTION, cv_my_rank(me), (struct cv_list){0});
}

/* Takes that one for the leader. One that is known to be dead will be found out, unless the finder dies as well. */
static void follow(struct cv_self *me, cv_rank leader)
{
    struct state *my = me->state;
    const bool dead = cv_suspected(me, cv_rank_id(leader));
    my->mode = dead ? WAITING : NORMAL;
    my->leader = leader;
    cv_elected(me, cv_rank_id(leader));
    cv_cancel(me, NO_RESULT);
    if (dead)
        wait_for_result(me);
}

static void announce(struct cv_self *me, cv_rank leader)
{
    follow(me, leader);
    if (cv_parameter(me, ANNOUNCE) == ANNOUNCE_MULTICAST)
        cv_multicast(me, COORDINATOR, &(struct ballot){leader});
    else
        pass_on(me, COORDINATOR, leader, (struct cv_list){0});
}

static void on_election(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct ballot *ballot = cv_body(message);
    const struct cv_list list = cv_list(message, sizeof *ballot);
    const cv_rank mine = cv_my_rank(me);
    if (cv_list_has(list, cv_my_id(me))) {
        announce(me, ballot->best); /* not only the caller's right: it may have died */
        return;
    }
    if (my->mode == NORMAL)
        my->mode = WAITING;
    pass_on(me, ELECTION, better(me, mine, ballot->best) ? mine : ballot->best, list);
}

/* "P2 receives Coord, but P4 is not included. P2 re-initiates election." */
static void verify(struct cv_self *me, cv_id leader, struct cv_list list)
{
    if (cv_list_has(list, leader))
        return;
    if (cv_follows(me, leader))
        cv_no_leader(me);
    call(me);
}

static void on_coordinator(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const struct ballot *ballot = cv_body(message);
    const struct cv_list list = cv_list(message, sizeof *ballot);
    if (cv_list_has(list, cv_my_id(me))) {
        verify(me, cv_rank_id(ballot->best), list);
        return;
    }
    if (cv_parameter(me, ANNOUNCE) == ANNOUNCE_RING)
        pass_on(me, COORDINATOR, ballot->best, list);
    if (better(me, cv_my_rank(me), ballot->best))
        call(me); /* it has come back since the list passed its place */
    else if (my->mode != NORMAL || !cv_knows_leader(me) || !better(me, my->leader, ballot->best))
        follow(me, ballot->best); /* otherwise a list that went round before found a better one */
}

static void timeout(struct cv_self *me, uint32_t timer)
{
    struct state *my = me->state;
    (void)timer;
    if (my->mode == CALLING)
        cv_yield(me);
    my->mode = NORMAL;
    call(me);
}

static void suspect(struct cv_self *me, cv_node node)
{
    const struct state *my = me->state;
    if (cv_follows(me, cv_id_of(me, node))) {
        cv_no_leader(me);
        if (my->mode == NORMAL)
            call(me);
    }
    if (my->mode != NORMAL)
        wait_for_result(me);
}

static const struct cv_field fields[] = {
    {CV_FIELD(struct ballot, best), .type = CV_FIELD_RANK},
    {CV_FIELD_IDS(struct ballot)},
    {0},
};

static const struct cv_kind kinds[] = {
    [ELECTION] = {"election", sizeof(struct ballot), on_election, fields},
    [COORDINATOR] = {"coordinator", sizeof(struct ballot), on_coordinator, fields},
    {0},
};

static const char *const timers[] = {[NO_RESULT] = "no result", NULL};

static const struct cv_parameter parameters[] = {
    [POLICY] = {"policy", "who wins", "max|min", 0, CV_CHOICE, CV_BEST_WINS | CV_ANY_CALLER},
    [ANNOUNCE] = {"announce", "how the leader is announced", "ring|multicast", 0, CV_CHOICE, 0},
    {0},
};

#define DERIVED CV_DERIVED, "docs/elections/ring-list.md"

static const struct cv_cost costs[] = {
    {"best, one caller", "2n", CV_MESSAGES, true, CV_LISTED, DERIVED},
    {"worst, all call", "2n²", CV_MESSAGES, true, CV_LISTED, DERIVED},
    {"one caller, multicast", "2n − 1", CV_MESSAGES, true, CV_LISTED, DERIVED},
    {"k callers", "k(2a + announce(d − 1))", CV_MESSAGES, true, CV_STEADY, DERIVED},
    {"k callers", "2a − announce·max(1, a − 1)", CV_DELAY, true, CV_STEADY | CV_UNIT_DELAY, DERIVED},
    {0},
};

const struct cv_algorithm cv_ring_list = {
    .abi = CV_ABI,
    .problem = CV_ELECTION,
    .name = "ring-list",
    .title = "The ring algorithm with a list of ids",
    .citation = "A. Tanenbaum, M. van Steen, Distributed Systems; after G. Le Lann, IFIP Congress, 1977",
    .topology = CV_RING,
    .assumes = CV_RELIABLE | CV_DETECTOR,
    .claims = CV_ELECTION_CLAIMS,
    .kinds = kinds,
    .timers = timers,
    .parameters = parameters,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .start = call,
    .recover = call,
    .timeout = timeout,
    .suspect = suspect,
};
