// SPDX-License-Identifier: MIT
/*
 * The multicast-based election, the step before the bully algorithm in the lectures of CS 425 at the University of
 * Illinois (I. Gupta, N. Borisov, R. Mittal), in its three versions.
 *
 * A caller asks all others. A worse node agrees; a better one disagrees and calls itself. A caller that hears a
 * disagreement gives up; one that hears all others agree has won and tells all. The first version waits for all, so one
 * dead node blocks it. The second takes silence for agreement after a while. In the third, lean, silence is the only
 * agreement.
 *
 *                   call                        DISAGREE
 *     IDLE -----------------------> ELECTING ------------> WAITING
 *      ^                               |                     |  |
 *      | 2D later                      | nobody disagreed    |  '--> call again: the one that disagreed died
 *      '----- SETTLED <----------------'---------------------'
 *                                            COORDINATOR
 *
 * Safety    the best live node disagrees with all others: if no message takes longer than D, within 2D of the call
 * Liveness  a call ends within 4D, or the one that was to win has died; then it is called again
 * Cost      h nodes better than the caller: (2h + 3)(n − 1); lean (h + 2)(n − 1) + h(h + 1)/2
 * Assumes   every node knows all others, reliable links, delays at most D; without the timeout, no node dead
 */
#include <conclave/algorithm.h>

enum kind { ELECTION, DISAGREE, COORDINATOR, AGREE }; /* lean is without the last */
enum timer { NO_ANSWER, NO_COORDINATOR, OLD_NEWS };
enum parameter { TIMEOUT };

enum version { WITH_TIMEOUT, WAITS_FOR_ALL, LEAN };
enum mode {
    IDLE,
    SETTLED,  /* has heard from the leader less than 2D ago */
    ELECTING, /* has asked, and no node has disagreed */
    WAITING   /* for the announcement */
};

struct state {
    uint32_t version;
    uint32_t mode;
    cv_node leader;  /* CV_NOBODY: unknown */
    uint32_t agreed; /* how many agreed with the call, while electing */
};

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    my->version = cv_parameter(me, TIMEOUT) ? WAITS_FOR_ALL : WITH_TIMEOUT;
    my->leader = CV_NOBODY;
}

static void init_lean(struct cv_self *me)
{
    struct state *my = me->state;
    my->version = LEAN;
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
    my->agreed = 0;
    cv_cancel(me, NO_ANSWER);
    cv_cancel(me, NO_COORDINATOR);
    cv_arm(me, OLD_NEWS, 2 * cv_bound(me));
    cv_elected(me, cv_id_of(me, leader));
}

static void win(struct cv_self *me)
{
    follow(me, me->node);
    cv_multicast_signal(me, COORDINATOR);
}

/* Within D the best one hears of the call, within 2D more nobody has disagreed with it, within D all know. */
static void expect_announcement(struct cv_self *me)
{
    const struct state *my = me->state;
    if (my->version != WAITS_FOR_ALL)
        cv_arm(me, NO_COORDINATOR, 4 * cv_bound(me));
}

static void call(struct cv_self *me)
{
    struct state *my = me->state;
    cv_call(me);
    if (my->leader != CV_NOBODY)
        cv_no_leader(me);
    my->leader = CV_NOBODY;
    my->mode = ELECTING;
    my->agreed = 0;
    cv_multicast_signal(me, ELECTION);
    if (cv_nodes(me) == 1) {
        win(me);
    } else if (my->version != WAITS_FOR_ALL) {
        cv_arm(me, NO_ANSWER, 2 * cv_bound(me));
        expect_announcement(me);
    }
}

static void start(struct cv_self *me)
{
    const struct state *my = me->state;
    if (!electing(my))
        call(me);
}

static void on_election(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    if (better(me, message->from, me->node)) {
        if (my->version != LEAN)
            cv_signal(me, message->from, AGREE);
        if (my->mode == IDLE)
            expect_announcement(me);
        return;
    }
    cv_signal(me, message->from, DISAGREE);
    if (my->leader == me->node)
        cv_signal(me, message->from, COORDINATOR); /* the asker missed it */
    else if (my->mode == IDLE)
        call(me);
}

static void on_agree(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    (void)message;
    if (my->mode == ELECTING && ++my->agreed == cv_nodes(me) - 1)
        win(me);
}

/* "Give up election": the node that disagreed holds its own. */
static void on_disagree(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    (void)message;
    if (my->mode != ELECTING)
        return;
    my->mode = WAITING;
    my->agreed = 0;
    cv_cancel(me, NO_ANSWER);
    cv_yield(me);
}

/* An announcement may be out of date, as in the bully algorithm, where it is told how. */
static void on_coordinator(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const cv_node from = message->from;
    const bool worse = better(me, me->node, from) || (my->leader != CV_NOBODY && better(me, my->leader, from));
    if (worse || cv_suspected(me, cv_id_of(me, from)))
        start(me);
    else
        follow(me, from);
}

static void timeout(struct cv_self *me, uint32_t timer)
{
    struct state *my = me->state;
    if (timer == OLD_NEWS && my->mode == SETTLED)
        my->mode = IDLE;
    else if (timer == NO_ANSWER && my->mode == ELECTING)
        win(me);
    else if (timer == NO_COORDINATOR)
        call(me);
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
    if (my->agreed >= cv_nodes(me))
        return "no more can agree than there are others";
    return NULL;
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, version, MODE), .words = "with timeout|waits for all|lean"},
    {CV_FIELD(struct state, mode, MODE), .words = "idle|settled|electing|waiting"},
    {CV_FIELD(struct state, leader, MAYBE)},
    {CV_FIELD(struct state, agreed, NUMBER)},
    {0},
};

static const struct cv_kind kinds[] = {
    [ELECTION] = CV_SIGNAL("election", on_election),
    [DISAGREE] = CV_SIGNAL("disagree", on_disagree),
    [COORDINATOR] = CV_SIGNAL("coordinator", on_coordinator),
    [AGREE] = CV_SIGNAL("agree", on_agree),
    {0},
};

static const struct cv_kind lean_kinds[] = {
    [ELECTION] = CV_SIGNAL("election", on_election),
    [DISAGREE] = CV_SIGNAL("disagree", on_disagree),
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
    [TIMEOUT] = {"timeout", "take silence for agreement; no: wait for everybody", "yes|no", 0, CV_CHOICE, 0},
    {0},
};

#define ON_TIME (CV_STEADY | CV_UNIT_DELAY | CV_ENOUGH_PATIENCE)

#define DERIVED CV_DERIVED_IN("docs/elections/multicast.md")

static const struct cv_cost costs[] = {
    {"best: the best calls", CV_MESSAGES_ARE("3(n − 1)"), CV_LISTED, DERIVED},
    {"worst: the lowest calls, or all", CV_MESSAGES_ARE("(2n + 1)(n − 1)"), CV_LISTED, DERIVED},
    {"one caller", CV_MESSAGES_ARE("(2h + 3)(n − 1)"), ON_TIME | CV_ONE_CALLER | CV_ALL_ALIVE, DERIVED},
    {"all call", CV_MESSAGES_ARE("(2n + 1)(n − 1)"), ON_TIME | CV_ALL_CALL | CV_ALL_ALIVE, DERIVED},
    {"one caller, some dead", CV_MESSAGES_ARE("(h + 1)(n + a − 2) + (1 − timeout)(n − 1)"), ON_TIME | CV_ONE_CALLER,
     DERIVED},
    {"all call, some dead", CV_MESSAGES_ARE("a(n + a − 2) + (1 − timeout)(n − 1)"), ON_TIME | CV_ALL_CALL, DERIVED},
    {"one caller", CV_DELAY_IS("min(4, 3 + h) min(1, n − 1)"), ON_TIME | CV_ONE_CALLER | CV_ALL_ALIVE, DERIVED},
    {"all call", CV_DELAY_IS("3 min(1, n − 1)"), ON_TIME | CV_ALL_CALL | CV_ALL_ALIVE, DERIVED},
    {"one caller, some dead", CV_DELAY_IS("(min(4, 3 + h) − timeout) min(1, a − 1)"), ON_TIME | CV_ONE_CALLER, DERIVED},
    {"all call, some dead", CV_DELAY_IS("(3 − timeout) min(1, a − 1)"), ON_TIME | CV_ALL_CALL, DERIVED},
    {0},
};

#define DERIVED_TOO CV_DERIVED_IN("docs/elections/multicast-lean.md")

static const struct cv_cost lean_costs[] = {
    {"best: the best calls", CV_MESSAGES_ARE("2(n − 1)"), CV_LISTED, DERIVED_TOO},
    {"worst: the lowest calls, or all", CV_MESSAGES_ARE("(n − 1)(3n + 2)/2"), CV_LISTED, DERIVED_TOO},
    {"one caller", CV_MESSAGES_ARE("(h + 2)(n − 1) + h(h + 1)/2"), ON_TIME | CV_ONE_CALLER, DERIVED_TOO},
    {"all call", CV_MESSAGES_ARE("(a + 1)(n − 1) + a(a − 1)/2"), ON_TIME | CV_ALL_CALL, DERIVED_TOO},
    {"one caller", CV_DELAY_IS("min(4, 3 + h) min(1, a − 1)"), ON_TIME | CV_ONE_CALLER, DERIVED_TOO},
    {"all call", CV_DELAY_IS("3 min(1, a − 1)"), ON_TIME | CV_ALL_CALL, DERIVED_TOO},
    {0},
};

const struct cv_algorithm cv_multicast_election = {
    .abi = CV_ABI,
    .problem = CV_ELECTION,
    .name = "multicast",
    .title = "Multicast-based election",
    .citation = "CS 425, University of Illinois, lectures on leader election",
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

const struct cv_algorithm cv_multicast_lean = {
    .abi = CV_ABI,
    .problem = CV_ELECTION,
    .name = "multicast-lean",
    .title = "Multicast-based election without agreements",
    .citation = "CS 425, University of Illinois, lectures on leader election",
    .topology = CV_COMPLETE,
    .assumes = CV_RELIABLE | CV_BOUNDED_DELAY | CV_KNOWN_GROUP,
    .claims = CV_ELECTION_CLAIMS,
    .kinds = lean_kinds,
    .timers = timers,
    .costs = lean_costs,
    .state_bytes = sizeof(struct state),
    .state_fields = state_fields,
    .init = init_lean,
    .start = start,
    .recover = start,
    .timeout = timeout,
    .suspect = suspect,
    .invariant = invariant,
};
