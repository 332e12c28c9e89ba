// SPDX-License-Identifier: MIT
#include "check/order.h"

enum kind { NOTE, PASS, ARM, LAST };

struct body {
    uint32_t from;
};

struct state {
    uint64_t log; /* who was heard of, two bits each; or who was last, plus 1 */
    uint32_t heard, armed;
};

static void start_apart(struct cv_self *me)
{
    if (me->node == 0)
        cv_send(me, 2, NOTE, &(struct body){0});
    if (me->node == 1)
        cv_send(me, 3, PASS, &(struct body){1});
}

static void start_alike(struct cv_self *me)
{
    if (me->node < 2)
        cv_send(me, 2, PASS, &(struct body){me->node});
}

static void on_note(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct body *body = cv_body(message);
    my->log = my->log * 4 + body->from + 1;
}

static void on_pass(struct cv_self *me, const struct cv_message *message)
{
    const struct body *body = cv_body(message);
    cv_send(me, me->node == 2 ? 3 : 2, NOTE, &(struct body){body->from});
}

static void start_three(struct cv_self *me)
{
    if (me->node != 2)
        cv_send(me, 2, me->node == 1 ? ARM : LAST, &(struct body){me->node});
}

static void on_arm(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    (void)message;
    my->armed = true;
}

static void on_last(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct body *body = cv_body(message);
    if (my->armed && my->heard)
        my->log = body->from + 1;
    my->heard |= 1u << body->from;
}

static const struct cv_kind kinds[] = {
    [NOTE] = {"note", sizeof(struct body), on_note, false},
    [PASS] = {"pass", sizeof(struct body), on_pass, false},
    [ARM] = {"arm", sizeof(struct body), on_arm, false},
    [LAST] = {"last", sizeof(struct body), on_last, false},
    {0},
};

const struct cv_algorithm order_of_arrival = {
    .abi = CV_ABI,
    .problem = CV_ELECTION,
    .name = "order-of-arrival",
    .topology = CV_COMPLETE,
    .kinds = kinds,
    .state_bytes = sizeof(struct state),
    .start = start_apart,
};

const struct cv_algorithm order_of_sending = {
    .abi = CV_ABI,
    .problem = CV_ELECTION,
    .name = "order-of-sending",
    .topology = CV_COMPLETE,
    .kinds = kinds,
    .state_bytes = sizeof(struct state),
    .start = start_alike,
};

const struct cv_algorithm order_once_armed = {
    .abi = CV_ABI,
    .problem = CV_ELECTION,
    .name = "order-once-armed",
    .topology = CV_COMPLETE,
    .kinds = kinds,
    .state_bytes = sizeof(struct state),
    .start = start_three,
};
