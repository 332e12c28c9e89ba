// SPDX-License-Identifier: MIT
/*
 * The synchronous network itself: everybody's clock ticks at the same time, and every message takes one tick.
 *
 * What the synchronizers imitate, and what the costs of a synchronous algorithm are counted in. It synchronizes
 * nothing: where messages take longer than a tick they come too late, which is why the others exist.
 *
 * Safety    a message sent at one tick has arrived before the next, as messages take no longer
 * Liveness  clocks go on
 * Cost      nothing besides the messages; 1 message time a round
 * Assumes   that every message takes one tick, and clocks that tick together
 */
#include <conclave/synchronizer.h>

enum kind { MESSAGE };
enum timer { TICK };

static size_t state_size(const struct cv_group *group, cv_node node)
{
    return cv_hosted_bytes(group, node);
}

static void begin_round(struct cv_self *me)
{
    cv_round_next(me);
    if (!cv_round_done(me))
        cv_arm(me, TICK, 1);
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

static const char *const timers[] = {[TICK] = "tick", NULL};

static bool valid(const struct cv_self *me, const struct cv_message *message)
{
    return cv_envelope_valid(me, message);
}

static const struct cv_kind kinds[] = {
    [MESSAGE] = CV_KIND("message", struct cv_envelope, on_message, NULL),
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/synchronizers/lockstep.md")

static const struct cv_cost costs[] = {
    {"a round, besides its messages", CV_MESSAGES_ARE("0"), CV_LISTED, DERIVED},
    {"a round", CV_DELAY_IS("1"), CV_LISTED, DERIVED},
    {"R rounds of M messages", CV_MESSAGES_ARE("M"), CV_STEADY | CV_ALL_ALIVE | CV_UNIT_DELAY, DERIVED},
    {"1 a round", CV_DELAY_IS("R"), CV_STEADY | CV_ALL_ALIVE | CV_UNIT_DELAY | CV_ALL_SEND, DERIVED},
    {"at most 1 a round", CV_DELAY_AT_MOST("R"), CV_STEADY | CV_ALL_ALIVE | CV_UNIT_DELAY, DERIVED},
    {0},
};

const struct cv_algorithm cv_lockstep = {
    .abi = CV_ABI,
    .problem = CV_SYNCHRONIZER,
    .name = "lockstep",
    .title = "A synchronous network",
    .citation = "the model of synchronous algorithms",
    .topology = CV_GRAPH,
    .assumes = CV_RELIABLE | CV_NO_CRASH,
    .claims = CV_SYNCHRONIZER_CLAIMS,
    .kinds = kinds,
    .timers = timers,
    .costs = costs,
    .state_size = state_size,
    .init = cv_round_init,
    .start = begin_round,
    .timeout = on_tick,
    .valid = valid,
};
