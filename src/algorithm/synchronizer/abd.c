// SPDX-License-Identifier: MIT
/*
 * C.-T. Chou, I. Cidon, I. S. Gopal, S. Zaks: Synchronizing asynchronous bounded delay networks. IEEE Transactions on
 * Communications 38(2), 1990; the form of the textbooks.
 *
 * Where no message takes longer than D, clocks are enough: a node begins a round every 2D. The nodes do not start at
 * the same time; but if one wakes the next with a message, neighbours start no more than D apart (here each draws its
 * start from 0..D). With the D that a message takes, it arrives before its round is over at the receiver. It may come
 * early, and is numbered for that.
 *
 * Safety    D for the start and D for the way: a message arrives before the 2D of its round are over at the receiver
 * Liveness  clocks go on
 * Cost      nothing besides the messages; 2D a round
 * Assumes   a known bound on delays, and clocks that run equally fast. With a shorter tick messages come too late
 */
#include <conclave/synchronizer.h>

enum kind { MESSAGE };
enum timer { TICK };
enum parameter { LENGTH, SKEW };

static size_t state_size(const struct cv_group *group, cv_node node)
{
    return cv_hosted_bytes(group, node);
}

static void begin_round(struct cv_self *me)
{
    const uint64_t length = (uint64_t)cv_parameter(me, LENGTH);
    cv_round_next(me);
    if (!cv_round_done(me))
        cv_arm(me, TICK, length ? length : 2 * cv_bound(me));
}

/* Everybody starts at a time of its own. */
static void start(struct cv_self *me)
{
    const int64_t given = cv_parameter(me, SKEW);
    const uint64_t skew = given < 0 ? cv_bound(me) : (uint64_t)given;
    const uint32_t wait = cv_choose(me, skew < UINT32_MAX ? (uint32_t)skew + 1 : UINT32_MAX);
    if (wait)
        cv_arm(me, TICK, wait);
    else
        begin_round(me);
}

static void on_tick(struct cv_self *me, uint32_t timer)
{
    (void)timer;
    begin_round(me);
}

static void on_message(struct cv_self *me, const struct cv_message *message)
{
    if (!cv_round_keep(me, message))
        cv_note(me, "late");
}

static const char *invariant(const struct cv_self *me)
{
    return cv_round(me) > cv_rounds(me) + 1 ? "it goes on after the last round" : NULL;
}

static const char *const timers[] = {[TICK] = "tick", NULL};

static bool valid(const struct cv_self *me, const struct cv_message *message)
{
    return cv_envelope_valid(me, message);
}

static const struct cv_kind kinds[] = {
    [MESSAGE] = CV_KIND("message", struct cv_envelope, on_message, NULL),
    {0},
};

static const struct cv_parameter parameters[] = {
    [LENGTH] = {"tick", "how long a round lasts; 0: 2D", NULL, 0, CV_NUMBER, 0},
    [SKEW] = {"skew", "how far apart the nodes may start; if it is not given: D", NULL, -1, CV_NUMBER, 0},
    {0},
};

#define IN_TIME (CV_STEADY | CV_ALL_ALIVE | CV_ENOUGH_PATIENCE | CV_USUAL)

#define DERIVED CV_DERIVED_IN("docs/synchronizers/abd.md")

static const struct cv_cost costs[] = {
    {"a round, besides its messages", CV_MESSAGES_ARE("0"), CV_LISTED, DERIVED},
    {"a round", CV_DELAY_IS("2D"), CV_LISTED, CV_TEXT_SAYS("Ghosh: a new clock tick after 2d time units")},
    {"R rounds of M messages", CV_MESSAGES_ARE("M"), IN_TIME, DERIVED},
    {"2D a round", CV_DELAY_AT_MOST("2D·R"), IN_TIME, CV_TEXT_SAYS("Ghosh: a new clock tick after 2d time units")},
    {0},
};

const struct cv_algorithm cv_abd = {
    .abi = CV_ABI,
    .problem = CV_SYNCHRONIZER,
    .name = "abd",
    .title = "The synchronizer for bounded delays",
    .citation = "C.-T. Chou, I. Cidon, I. S. Gopal, S. Zaks, IEEE Transactions on Communications 38(2), 1990",
    .topology = CV_GRAPH,
    .assumes = CV_RELIABLE | CV_NO_CRASH | CV_BOUNDED_DELAY,
    .claims = CV_SYNCHRONIZER_CLAIMS,
    .kinds = kinds,
    .timers = timers,
    .parameters = parameters,
    .costs = costs,
    .state_size = state_size,
    .init = cv_round_init,
    .start = start,
    .timeout = on_tick,
    .invariant = invariant,
    .valid = valid,
};
