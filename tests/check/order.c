// SPDX-License-Identifier: MIT
#include "check/order.h"

enum kind { NOTE, PASS, ARM, LAST, GO };

struct body {
    uint32_t from;
};

struct state {
    uint64_t log; /* the nodes heard of, two bits each; or the last one, plus 1 */
    uint32_t heard, armed;
};

/* Node 4 makes the others begin, so that all messages may be under way at once. */
static void start(struct cv_self *me)
{
    for (cv_node node = 0; me->node == 4 && node < 4; node++)
        if (node != 2)
            cv_signal(me, node, GO);
}

static void go_apart(struct cv_self *me, const struct cv_message *message)
{
    (void)message;
    if (me->node == 0)
        cv_send(me, 2, NOTE, &(struct body){0});
    if (me->node == 1)
        cv_send(me, 3, PASS, &(struct body){1});
}

static void go_alike(struct cv_self *me, const struct cv_message *message)
{
    (void)message;
    if (me->node < 2)
        cv_send(me, 2, PASS, &(struct body){me->node});
}

static void go_three(struct cv_self *me, const struct cv_message *message)
{
    (void)message;
    cv_send(me, 2, me->node == 1 ? ARM : LAST, &(struct body){me->node});
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

#define KINDS(go)                                                                                                      \
    [NOTE] = {"note", sizeof(struct body), on_note, false}, [PASS] = {"pass", sizeof(struct body), on_pass, false},    \
    [ARM] = {"arm", sizeof(struct body), on_arm, false}, [LAST] = {"last", sizeof(struct body), on_last, false},       \
    [GO] = {"go", 0, go, false},                                                                                       \
    {                                                                                                                  \
        0                                                                                                              \
    }

static const struct cv_kind apart[] = {KINDS(go_apart)};
static const struct cv_kind alike[] = {KINDS(go_alike)};
static const struct cv_kind three[] = {KINDS(go_three)};

#define TABLE(table_kinds, table_name)                                                                                 \
    {                                                                                                                  \
        .abi = CV_ABI, .problem = CV_ELECTION, .name = (table_name), .topology = CV_COMPLETE, .kinds = (table_kinds),  \
        .state_bytes = sizeof(struct state), .start = start                                                            \
    }

const struct cv_algorithm order_of_arrival = TABLE(apart, "order-of-arrival");
const struct cv_algorithm order_of_sending = TABLE(alike, "order-of-sending");
const struct cv_algorithm order_once_armed = TABLE(three, "order-once-armed");
