// SPDX-License-Identifier: MIT
/*
 * H. Garcia-Molina: Elections in a distributed computing system. IEEE Transactions on Computers C-31(1), 1982.
 *
 * A node that finds the coordinator gone asks all better nodes. If none answers in time it has won, and tells all worse
 * nodes. If one answers, that one takes over and holds an election of its own. The best live node wins.
 *
 *                   call                          OK
 *     IDLE -----------------------> ELECTING ----------> WAITING
 *      ^                               |                   |  |
 *      | 2D later                      | nobody answered   |  '--> call again: the one that answered died
 *      '----- SETTLED <----------------'-------------------'
 *                                           COORDINATOR
 *
 * Safety    the best live node answers all others, so no other finds silence: if no message takes longer
 *           than D, a round trip and thus the wait for an OK ends within 2D
 * Liveness  a call ends within 4D, or the one that was to win has died; then it is called again
 * Cost      caller ranked q-th from the top of the living, the best one dead: q² + n − 2; at worst O(n²),
 *           and Θ(n³) if each winner dies before it can say so
 * Assumes   every node knows all others, reliable links, delays at most D: otherwise two may find silence
 */
#include <conclave/algorithm.h>

enum kind { ELECTION, OK, COORDINATOR };
enum timer { NO_ANSWER, NO_COORDINATOR, OLD_NEWS };
enum parameter { ANNOUNCE, LITERAL, ELECTION_TO };
enum { ANNOUNCE_LOWER, ANNOUNCE_ALL };
enum { TO_HIGHER, TO_ALL };

enum mode {
    IDLE,
    SETTLED,  /* has heard from the leader less than 2D ago */
    ELECTING, /* has asked the better nodes */
    WAITING   /* a better node is alive, and will announce itself or another */
};

struct state {
    uint32_t mode;
    cv_node leader; /* CV_NOBODY: unknown */
};

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    my->leader = CV_NOBODY;
}

static bool better(const struct cv_self *me, cv_node one, cv_node other)
{
    return cv_rank_of(me, one) > cv_rank_of(me, other);
}

static bool electing(const struct state *my)
{
    return my->mode == ELECTING || my->mode == WAITING;
}

static void follow(struct cv_self *me, cv_node leader)
{
    struct state *my = me->state;
    my->mode = SETTLED;
    my->leader = leader;
    cv_cancel(me, NO_ANSWER);
    cv_cancel(me, NO_COORDINATOR);
    cv_arm(me, OLD_NEWS, 2 * cv_bound(me));
    cv_elected(me, cv_id_of(me, leader));
}

static void win(struct cv_self *me)
{
    follow(me, me->node);
    for (cv_node node = 0; node < cv_nodes(me); node++)
        if (better(me, me->node, node) || (cv_parameter(me, ANNOUNCE) == ANNOUNCE_ALL && node != me->node))
            cv_signal(me, node, COORDINATOR);
}

static void call(struct cv_self *me)
{
    struct state *my = me->state;
    bool highest = true;
    cv_call(me);
    if (my->leader != CV_NOBODY)
        cv_no_leader(me);
    my->leader = CV_NOBODY;
    my->mode = ELECTING;
    for (cv_node node = 0; node < cv_nodes(me); node++)
        highest &= !better(me, node, me->node);
    if (highest) {
        win(me);
        return;
    }
    for (cv_node node = 0; node < cv_nodes(me); node++)
        if (better(me, node, me->node) || (cv_parameter(me, ELECTION_TO) == TO_ALL && node != me->node))
            cv_signal(me, node, ELECTION);
    cv_arm(me, NO_ANSWER, 2 * cv_bound(me));
    cv_arm(me, NO_COORDINATOR, 4 * cv_bound(me));
}

static void start(struct cv_self *me)
{
    const struct state *my = me->state;
    if (!electing(my))
        call(me);
}

/* "Optional: let all nodes with lower IDs know an election is taking place." They wait for its result, and then call.
 */
static void await_result(struct cv_self *me)
{
    const struct state *my = me->state;
    cv_note(me, "knows that an election is taking place");
    if (my->mode == IDLE && my->leader == CV_NOBODY)
        cv_arm(me, NO_COORDINATOR, 4 * cv_bound(me));
}

/* A node that has just heard from the leader need not look for one: the asker has asked that leader, too. */
static void on_election(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    if (cv_parameter(me, ELECTION_TO) == TO_ALL && better(me, message->from, me->node)) {
        await_result(me);
        return;
    }
    cv_signal(me, message->from, OK);
    if (my->leader == me->node)
        cv_signal(me, message->from, COORDINATOR); /* the asker missed it */
    else if (my->mode == IDLE)
        call(me);
}

static void on_ok(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    (void)message;
    if (my->mode != ELECTING)
        return;
    my->mode = WAITING;
    cv_cancel(me, NO_ANSWER);
}

/*
 * The texts say: take the sender for the leader. But an announcement can cross that of a better node which has just
 * come back, and be heard last; or be the last words of a node that has died since. So a leader that is worse than the
 * hearer or than the one it knows, or is known to be dead, is not believed: an election settles it.
 */
static void on_coordinator(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const cv_node from = message->from;
    const bool worse = better(me, me->node, from) || (my->leader != CV_NOBODY && better(me, my->leader, from));
    if ((worse || cv_suspected(me, cv_id_of(me, from))) && !cv_parameter(me, LITERAL))
        start(me);
    else
        follow(me, from);
}

static void timeout(struct cv_self *me, uint32_t timer)
{
    struct state *my = me->state;
    if (timer == OLD_NEWS && my->mode == SETTLED) {
        my->mode = IDLE;
    } else if (timer == NO_ANSWER && my->mode == ELECTING) {
        win(me);
    } else if (timer == NO_COORDINATOR && my->mode == WAITING) {
        cv_yield(me);
        call(me);
    } else if (timer == NO_COORDINATOR && my->mode == IDLE && my->leader == CV_NOBODY) {
        call(me); /* the election it was told of has no result */
    }
}

static void suspect(struct cv_self *me, cv_node node)
{
    const struct state *my = me->state;
    if (node == my->leader)
        start(me);
}

static const char *invariant(const struct cv_self *me)
{
    const struct state *my = me->state;
    if (electing(my) && my->leader != CV_NOBODY)
        return "a node that holds an election knows no leader";
    if (my->mode == SETTLED && my->leader == CV_NOBODY)
        return "a settled node knows its leader";
    return NULL;
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, mode, MODE), .words = "idle|settled|electing|waiting"},
    {CV_FIELD(struct state, leader, MAYBE)},
    {0},
};

static const struct cv_kind kinds[] = {
    [ELECTION] = CV_SIGNAL("election", on_election),
    [OK] = CV_SIGNAL("ok", on_ok),
    [COORDINATOR] = CV_SIGNAL("coordinator", on_coordinator),
    {0},
};

static const char *const timers[] = {
    [NO_ANSWER] = "no answer",
    [NO_COORDINATOR] = "no coordinator",
    [OLD_NEWS] = "old news",
    NULL,
};

static const struct cv_parameter parameters[] = {
    [ANNOUNCE] = {"announce", "whom the winner tells", "lower|all", 0, CV_CHOICE, 0},
    [LITERAL] = {"literal", "believe every announcement, as the texts say", "no|yes", 0, CV_CHOICE, 0},
    [ELECTION_TO] = {"election", "who hears of an election: all lets the lower ones know", "higher|all", 0, CV_CHOICE,
                     0},
    {0},
};

#define ON_TIME (CV_STEADY | CV_UNIT_DELAY | CV_ENOUGH_PATIENCE)

#define DERIVED CV_DERIVED_IN("docs/elections/bully.md")

static const struct cv_cost costs[] = {
    {"best: the next best calls", CV_MESSAGES_ARE("n − 1"), CV_LISTED, DERIVED},
    {"worst: all call, the best alive", CV_MESSAGES_ARE("(n + 2)(n − 1)"), CV_LISTED, DERIVED},
    {"the best dead, the lowest calls, or all", CV_MESSAGES_ARE("n² − n − 1"), CV_LISTED, DERIVED},
    {"every winner dies before it tells", CV_MESSAGES_ARE("n(n − 1)²/2"), CV_LISTED, DERIVED},
    {"the best calls", CV_MESSAGES_ARE("n − 1"), CV_STEADY | CV_ONE_CALLER | CV_TOP_CALLS, DERIVED},
    {"one caller, the best dead, all told", CV_MESSAGES_ARE("q² + n − 2 + announce + q(n − 1) − q(q + 1)/2"),
     ON_TIME | CV_ONE_CALLER | CV_ONLY_TOP_DEAD | CV_CHOSEN(ELECTION_TO), DERIVED},
    {"all call, the best dead, all told", CV_MESSAGES_ARE("n² − n − 1 + announce + (n − 1)(n − 2)/2"),
     ON_TIME | CV_ALL_CALL | CV_ONLY_TOP_DEAD | CV_CHOSEN(ELECTION_TO), DERIVED},
    {"one caller, the best alive, all told",
     CV_MESSAGES_ARE("q(q − 1) + n − 1 + max(0, q − 2) + (q − 1)n − q(q + 1)/2 + 1"),
     ON_TIME | CV_ONE_CALLER | CV_ALL_ALIVE | CV_CHOSEN(ELECTION_TO), DERIVED},
    {"all call, the best alive, all told", CV_MESSAGES_ARE("(n + 2)(n − 1) + (n − 1)(n − 2)/2"),
     ON_TIME | CV_ALL_CALL | CV_ALL_ALIVE | CV_CHOSEN(ELECTION_TO), DERIVED},
    {"one caller, the best dead", CV_MESSAGES_ARE("q² + n − 2 + announce"), ON_TIME | CV_ONE_CALLER | CV_ONLY_TOP_DEAD,
     DERIVED},
    {"all call, the best dead", CV_MESSAGES_ARE("n² − n − 1 + announce"), ON_TIME | CV_ALL_CALL | CV_ONLY_TOP_DEAD,
     DERIVED},
    {"one caller, the best alive", CV_MESSAGES_ARE("q(q − 1) + n − 1 + max(0, q − 2)"),
     ON_TIME | CV_ONE_CALLER | CV_ALL_ALIVE, DERIVED},
    {"all call, the best alive", CV_MESSAGES_ARE("(n + 2)(n − 1)"), ON_TIME | CV_ALL_CALL | CV_ALL_ALIVE, DERIVED},
    {"the best calls", CV_DELAY_IS("min(1, a − 1)"), ON_TIME | CV_ONE_CALLER | CV_TOP_CALLS, DERIVED},
    {"one caller, the best dead", CV_DELAY_IS("min(4, 2 + q) min(1, a − 1)"),
     ON_TIME | CV_ONE_CALLER | CV_ONLY_TOP_DEAD, DERIVED},
    {"all call, the best dead", CV_DELAY_IS("3 min(1, a − 1)"), ON_TIME | CV_ALL_CALL | CV_ONLY_TOP_DEAD, DERIVED},
    {0},
};

const struct cv_algorithm cv_bully = {
    .abi = CV_ABI,
    .problem = CV_ELECTION,
    .name = "bully",
    .title = "The bully algorithm",
    .citation = "H. Garcia-Molina, IEEE Transactions on Computers C-31(1), 1982",
    .topology = CV_COMPLETE,
    .assumes = CV_RELIABLE | CV_BOUNDED_DELAY | CV_KNOWN_GROUP,
    .claims = CV_ELECTION_CLAIMS,
    .kinds = kinds,
    .timers = timers,
    .parameters = parameters,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_fields = state_fields,
    .init = init,
    .start = start,
    .recover = start,
    .timeout = timeout,
    .suspect = suspect,
    .invariant = invariant,
};
