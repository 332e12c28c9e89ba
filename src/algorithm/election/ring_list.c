// SPDX-License-Identifier: MIT
/*
 * The ring algorithm with a list of ids, of the textbooks (A. Tanenbaum, M. van Steen: Distributed Systems); after
 * G. Le Lann: Distributed systems - towards a formal approach. IFIP Congress, 1977.
 *
 * A caller sends a list with its own id round the ring. Every node adds its id and passes the list on. A node that
 * finds its own id on the list closes it: the best one listed is the leader, and a second list goes round to announce
 * it. That list collects ids, too. If the leader's is missing when it comes back, the leader has died and it all
 * begins anew.
 *
 * The texts tell it in several ways. With `list=living` the second list is the first: "containing a list of all living
 * processes". With `stop=leader` the leader does not pass it on: "forwards the message (unless he is the leader)". With
 * `poll=yes` a try to reach a successor that is down is a message: "sequentially poll each successor until a live node
 * is found".
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
 *           its holder, so a node that waits for its result waits for another two rounds and then calls
 * Cost      k callers: k lists of each kind go once round the ring of the living, 2kn; a multicast saves k; polls add
 *           the dead, once for each list
 * Assumes   reliable links; a failure detector tells of crashes. The dead are skipped
 */
#include <conclave/algorithm.h>

enum kind { ELECTION, COORDINATOR, POLL };
enum timer { NO_RESULT };
enum parameter { POLICY, ANNOUNCE, LIST, STOP, POLLING };
enum { POLICY_MAX, POLICY_MIN };
enum { ANNOUNCE_RING, ANNOUNCE_MULTICAST };
enum { LIST_PASSED, LIST_LIVING };
enum { STOP_SENDER, STOP_LEADER };

enum mode { NORMAL, WAITING, CALLING };

/* What goes in front of the list of ids. */
struct ballot {
    cv_rank best; /* of those on the list; in a COORDINATOR the leader */
};

struct state {
    cv_rank leader; /* the leader it follows, if any */
    uint32_t mode;
    uint32_t unused;
};

static bool better(const struct cv_self *me, cv_rank one, cv_rank other)
{
    return cv_parameter(me, POLICY) == POLICY_MIN ? one < other : one > other;
}

/* Tries the members that stand between this node and the next one alive. */
static void poll(struct cv_self *me, cv_node successor)
{
    for (cv_node node = (me->node + 1) % cv_nodes(me); node != successor; node = (node + 1) % cv_nodes(me))
        if (cv_neighbour_index(me, node) < cv_degree(me))
            cv_signal(me, node, POLL);
}

static void send_list(struct cv_self *me, uint32_t kind, cv_rank best, struct cv_list list, const cv_id *last)
{
    const cv_node successor = cv_successor(me);
    if (cv_parameter(me, POLLING))
        poll(me, successor);
    cv_send_list(me, successor, kind, &(struct ballot){best}, sizeof(struct ballot), list, last);
}

/* Adds its own id to the list and sends it on. */
static void pass_on(struct cv_self *me, uint32_t kind, cv_rank best, struct cv_list list)
{
    const cv_id id = cv_my_id(me);
    send_list(me, kind, best, list, &id);
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

static void call_again(struct cv_self *me)
{
    struct state *my = me->state;
    if (my->mode == CALLING)
        cv_yield(me);
    my->mode = NORMAL;
    call(me);
}

/* The living are those listed from this node on. A node listed before it did not close the list, so it has died. */
static struct cv_list living(const struct cv_self *me, struct cv_list list)
{
    for (; list.count && list.ids[0] != cv_my_id(me); list.count--)
        list.ids++;
    assert(list.count); /* this node closes the list because it is on it */
    return list;
}

static void announce(struct cv_self *me, cv_rank leader, struct cv_list list)
{
    const bool tells_living = cv_parameter(me, LIST) == LIST_LIVING;
    if (tells_living && !cv_list_has(living(me, list), cv_rank_id(leader))) {
        call_again(me);
        return;
    }
    follow(me, leader);
    if (cv_parameter(me, ANNOUNCE) == ANNOUNCE_MULTICAST)
        cv_multicast(me, COORDINATOR, &(struct ballot){leader});
    else if (tells_living)
        send_list(me, COORDINATOR, leader, living(me, list), NULL);
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
        announce(me, ballot->best, list); /* not only the caller's right: it may have died */
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

/* Passes the announcement on, or not: the leader may be its end, and a list of the living whose sender has died. */
static void spread(struct cv_self *me, cv_rank leader, struct cv_list list)
{
    const bool ends = cv_parameter(me, STOP) == STOP_LEADER && cv_rank_id(leader) == cv_my_id(me);
    if (ends || cv_parameter(me, ANNOUNCE) == ANNOUNCE_MULTICAST)
        return;
    if (cv_parameter(me, LIST) == LIST_PASSED)
        pass_on(me, COORDINATOR, leader, list);
    else if (!cv_suspected(me, list.ids[0]))
        send_list(me, COORDINATOR, leader, list, NULL);
}

/* Is it the announcement that this node sent? */
static bool is_back(const struct cv_self *me, struct cv_list list)
{
    if (cv_parameter(me, LIST) == LIST_LIVING)
        return list.count && list.ids[0] == cv_my_id(me);
    return cv_list_has(list, cv_my_id(me));
}

static void on_coordinator(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const struct ballot *ballot = cv_body(message);
    const struct cv_list list = cv_list(message, sizeof *ballot);
    if (is_back(me, list)) {
        verify(me, cv_rank_id(ballot->best), list);
        return;
    }
    spread(me, ballot->best, list);
    if (better(me, cv_my_rank(me), ballot->best))
        call(me); /* it has come back since the list passed its place */
    else if (my->mode != NORMAL || !cv_knows_leader(me) || !better(me, my->leader, ballot->best))
        follow(me, ballot->best); /* otherwise a list that went round before found a better one */
}

/* The poll got through: the sender suspects this node. */
static void on_poll(struct cv_self *me, const struct cv_message *message)
{
    (void)me, (void)message;
}

static void timeout(struct cv_self *me, uint32_t timer)
{
    (void)timer;
    call_again(me);
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

/* The sender of a list is on it, and so is the best one listed. An announcement may not have come to the leader yet. */
static bool valid(const struct cv_self *me, const struct cv_message *message)
{
    if (message->kind == POLL)
        return cv_parameter(me, POLLING);
    const struct ballot *ballot = cv_body(message);
    const struct cv_list list = cv_list(message, sizeof *ballot);
    const bool announces = message->kind == COORDINATOR;
    if (announces && cv_parameter(me, ANNOUNCE) == ANNOUNCE_MULTICAST)
        return !list.count;
    if (announces && cv_parameter(me, LIST) == LIST_PASSED)
        return list.count;
    return cv_list_has(list, cv_rank_id(ballot->best));
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, mode, MODE), .words = "normal|waiting|calling"},
    {CV_FIELD(struct state, leader, RANK)},
    {CV_FIELD(struct state, unused, UNUSED)},
    {0},
};

static const struct cv_field fields[] = {
    {CV_FIELD(struct ballot, best, RANK)},
    {CV_FIELD_IDS(struct ballot)},
    {0},
};

static const struct cv_kind kinds[] = {
    [ELECTION] = CV_KIND("election", struct ballot, on_election, fields),
    [COORDINATOR] = CV_KIND("coordinator", struct ballot, on_coordinator, fields),
    [POLL] = CV_SIGNAL("poll", on_poll),
    {0},
};

static const char *const timers[] = {[NO_RESULT] = "no result", NULL};

static const struct cv_parameter parameters[] = {
    [POLICY] = {"policy", "who wins", "max|min", 0, CV_CHOICE, CV_BEST_WINS | CV_ANY_CALLER},
    [ANNOUNCE] = {"announce", "how the leader is announced", "ring|multicast", 0, CV_CHOICE, 0},
    [LIST] = {"list", "whom the announcement lists: those it has passed, or all living", "passed|living", 0, CV_CHOICE,
              0},
    [STOP] = {"stop", "who does not pass the announcement on: who sent it, or the leader too", "sender|leader", 0,
              CV_CHOICE, CV_EVERYONE_LEARNS},
    [POLLING] = {"poll", "try each successor that is down, and count it", "no|yes", 0, CV_CHOICE, 0},
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/elections/ring-list.md")

static const struct cv_cost costs[] = {
    {"best, one caller", CV_MESSAGES_ARE("2n"), CV_LISTED, DERIVED},
    {"worst, all call", CV_MESSAGES_ARE("2n²"), CV_LISTED, DERIVED},
    {"one caller, multicast", CV_MESSAGES_ARE("2n − 1"), CV_LISTED, DERIVED},
    {"k callers, polls, the leader ends it", CV_MESSAGES_AT_MOST("k(2n − announce)"),
     CV_STEADY | CV_CHOSEN(POLLING) | CV_CHOSEN(STOP), DERIVED},
    {"k callers, polls", CV_MESSAGES_ARE("k(2n − announce)"), CV_STEADY | CV_CHOSEN(POLLING), DERIVED},
    {"k callers, the leader ends it", CV_MESSAGES_AT_MOST("k(2a + announce(d − 1))"), CV_STEADY | CV_CHOSEN(STOP),
     DERIVED},
    {"k callers", CV_MESSAGES_ARE("k(2a + announce(d − 1))"), CV_STEADY, DERIVED},
    {"k callers, the leader ends it", CV_DELAY_AT_MOST("2a − announce·max(1, a − 1)"),
     CV_STEADY | CV_UNIT_DELAY | CV_CHOSEN(STOP), DERIVED},
    {"k callers", CV_DELAY_IS("2a − announce·max(1, a − 1)"), CV_STEADY | CV_UNIT_DELAY, DERIVED},
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
    .state_fields = state_fields,
    .start = call,
    .recover = call,
    .timeout = timeout,
    .suspect = suspect,
    .valid = valid,
};
