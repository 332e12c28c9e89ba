// SPDX-License-Identifier: MIT
/*
 * Two nodes exchange messages for ever, and a third violates its invariant as soon as it hears of it. The exchange
 * commutes with everything, so a checker that leaves out orders might postpone the third for ever.
 */
#include <assert.h>
#include <conclave/algorithm.h>

enum kind { HUM, NEWS };

static void start(struct cv_self *me)
{
    if (me->node != 0)
        return;
    cv_signal(me, 1, HUM);
    cv_signal(me, 2, NEWS);
}

static void on_hum(struct cv_self *me, const struct cv_message *message)
{
    cv_signal(me, message->from, HUM);
}

static void on_news(struct cv_self *me, const struct cv_message *message)
{
    (void)me;
    assert(!message);
}

static const struct cv_kind kinds[] = {
    [HUM] = CV_SIGNAL("hum", on_hum),
    [NEWS] = CV_SIGNAL("news", on_news),
    {0},
};

const struct cv_algorithm conclave_algorithm = {
    .abi = CV_ABI,
    .problem = CV_ELECTION,
    .name = "hum",
    .title = "Two nodes that hum",
    .citation = "a test of the checker",
    .topology = CV_COMPLETE,
    .assumes = CV_RELIABLE | CV_NO_CRASH | CV_KNOWN_GROUP,
    .claims = CV_ELECTION_CLAIMS,
    .kinds = kinds,
    .start = start,
};
