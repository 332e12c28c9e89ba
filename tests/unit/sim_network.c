// SPDX-License-Identifier: MIT
/* The way of messages: delays, order, loss, size; with toy algorithms. */
#include "toy.h"

enum { PING };

static void ignore(struct cv_self *me, const struct cv_message *message)
{
    (void)me;
    (void)message;
}

static const struct cv_kind silent_kinds[] = {{"ping", 0, ignore, false}, {0}};
static const char *const one_timer[] = {"next", NULL};

/* ---- delays, order, loss ---- */

struct numbered {
    uint32_t number;
    uint32_t check;
};

struct stream {
    uint32_t sent, heard;
    uint32_t disorder; /* messages that were not the next one in order */
    uint32_t unused;
};

#define STREAM_LENGTH 400u

static void send_next(struct cv_self *me, uint32_t timer)
{
    struct stream *my = me->state;
    for (int burst = 0; burst < 2; burst++) {
        const struct numbered body = {my->sent, my->sent * 2654435761u};
        cv_send(me, 1, PING, &body);
        my->sent++;
    }
    if (my->sent < STREAM_LENGTH)
        cv_arm(me, timer, 2);
}

static void begin_stream(struct cv_self *me)
{
    send_next(me, 0);
}

static void hear_next(struct cv_self *me, const struct cv_message *message)
{
    struct stream *my = me->state;
    const struct numbered *body = cv_body(message);
    assert_int_equal(body->check, body->number * 2654435761u);
    my->disorder += body->number != my->heard;
    my->heard++;
    cv_note(me, "heard");
}

static const struct cv_kind stream_kinds[] = {{"ping", sizeof(struct numbered), hear_next, false}, {0}};

static struct toy *streaming(const char *delay)
{
    struct toy *toy = toy_new();
    toy->plan.nodes = "2";
    toy->plan.delay = delay;
    toy->algorithm.kinds = stream_kinds;
    toy->algorithm.start = begin_stream;
    toy->algorithm.timers = one_timer;
    toy->algorithm.timeout = send_next;
    toy->algorithm.state_bytes = sizeof(struct stream);
    toy->noted = 0;
    return toy;
}

/* The receiver's state, by the pointer that its handler saw. */
static struct stream heard;

static const char *look(const struct cv_self *me)
{
    if (me->node == 1)
        memcpy(&heard, me->state, sizeof heard);
    return NULL;
}

static void play_stream(struct toy *toy)
{
    toy->algorithm.invariant = look;
    heard = (struct stream){0};
    toy_run(toy);
    assert_int_equal(toy->run.ending, CV_QUIET);
    assert_int_equal(heard.heard, STREAM_LENGTH);
    assert_int_equal(toy->run.total, STREAM_LENGTH);
}

static void channels_keep_order_and_lose_nothing(void **state)
{
    (void)state;
    static const char *const delays[] = {"unit", "1..9", "5..5", "1..1000", "exp:3", "1..10000"};
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++)
        for (int odd = 0; odd < 5; odd++) {
            struct toy *toy = streaming(delays[i]);
            toy->plan.loss = odd == 1 || odd == 4 ? "0.3" : NULL;
            toy->plan.duplicate = odd == 2 || odd == 4 ? "0.5" : NULL;
            toy->plan.reorder = odd >= 3;
            play_stream(toy);
            assert_int_equal(heard.disorder, 0);
            struct cv_transport_counts counts;
            cv_sim_transport(toy->sim, &counts);
            assert_true(odd == 0 ? counts.packets == 0 : counts.packets >= 2 * STREAM_LENGTH);
            if (odd == 1 || odd == 4)
                assert_true(counts.lost > 0 && counts.retransmitted > 0);
            if (odd == 2 || odd == 4)
                assert_true(counts.duplicated > STREAM_LENGTH / 4);
            if (odd == 2) /* each packet that arrives is acknowledged */
                assert_true(counts.acknowledgements > STREAM_LENGTH + STREAM_LENGTH / 4);
            toy_free(toy);
        }
}

static void unordered_channels_do_not_keep_order(void **state)
{
    (void)state;
    struct toy *toy = streaming("1..9");
    toy->plan.unordered = true;
    play_stream(toy);
    assert_true(heard.disorder > STREAM_LENGTH / 4);
    toy_free(toy);
}

/* ---- each delay is drawn within its bounds ---- */

struct spread {
    uint64_t least, most, sum, count;
    uint64_t due[16]; /* how often each delay was seen */
};

static struct spread spread;

static void measure(void *context, const struct cv_event *event)
{
    (void)context;
    if (event->type != CV_EVENT_RECEIVE)
        return;
    const uint64_t delay = event->time; /* all are sent at 0 */
    spread.least = delay < spread.least ? delay : spread.least;
    spread.most = delay > spread.most ? delay : spread.most;
    spread.sum += delay;
    spread.count++;
    spread.due[delay < 16 ? delay : 15]++;
}

static void multicast_ping(struct cv_self *me)
{
    cv_multicast_signal(me, PING);
}

static void measure_delay(const char *delay, const char *seed_nodes)
{
    struct toy *toy = toy_new();
    struct cv_complaint complaint = {{0}};
    const struct cv_sim_options options = {.observer = {measure, NULL, NULL}};
    toy->plan.nodes = seed_nodes;
    toy->plan.delay = delay;
    toy->plan.start = "1";
    toy->plan.algorithm = &toy->algorithm;
    toy->algorithm.kinds = silent_kinds;
    toy->algorithm.start = multicast_ping;
    spread = (struct spread){.least = UINT64_MAX};
    assert_int_equal(cv_plan_build(&toy->plan, &toy->scenario, &complaint), 0);
    assert_int_equal(cv_sim_new(&toy->sim, &toy->scenario, &options), 0);
    assert_int_equal(cv_sim_run(toy->sim, &toy->run), 0);
    toy_free(toy);
}

static void delays_fill_their_range_and_no_more(void **state)
{
    (void)state;
    measure_delay("unit", "100");
    assert_true(spread.least == 1 && spread.most == 1 && spread.count == 99);
    measure_delay("3..7", "2001");
    assert_true(spread.least == 3 && spread.most == 7 && spread.count == 2000);
    for (int delay = 3; delay <= 7; delay++)
        assert_in_range(spread.due[delay], 320, 480);
    measure_delay("1..2", "2001");
    assert_in_range(spread.due[1], 900, 1100);
    assert_int_equal(spread.due[1] + spread.due[2], 2000);
    measure_delay("exp:10", "4001");
    assert_true(spread.least == 1);
    assert_in_range(spread.sum / 4000, 9, 11);
    assert_in_range(spread.most, 50, 280);
}

/* ---- large steps ---- */

static void send_lists(struct cv_self *me)
{
    cv_id ids[1000];
    for (uint32_t i = 0; i < 1000; i++)
        ids[i] = i * 3;
    for (cv_node node = 0; node < cv_nodes(me); node++)
        cv_send_list(me, node, PING, NULL, 0, (struct cv_list){ids, 900u + node % 100}, node % 2 ? &ids[1] : NULL);
}

static void check_list(struct cv_self *me, const struct cv_message *message)
{
    const struct cv_list list = cv_list(message, 0);
    const uint32_t sent = 900u + me->node % 100;
    assert_int_equal(list.count, sent + me->node % 2);
    for (uint32_t i = 0; i < sent; i++)
        assert_int_equal(list.ids[i], i * 3);
    if (me->node % 2)
        assert_int_equal(list.ids[sent], 3);
    cv_elected(me, 1);
}

static const struct cv_field list_fields[] = {{.name = "numbers", .type = CV_FIELD_LIST}, {0}};
static const struct cv_kind list_kinds[] = {{"ping", 0, check_list, list_fields}, {0}};

static void a_step_may_send_megabytes(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct toy *toy = toy_new();
        toy->plan.nodes = "301";
        toy->plan.delay = way & 1 ? "1..9" : NULL;
        toy->plan.loss = way & 2 ? "0.2" : NULL;
        toy->unwatched = true;
        toy->algorithm.kinds = list_kinds;
        toy->algorithm.start = send_lists;
        toy_run(toy);
        assert_int_equal(toy->run.total, 300);
        for (cv_node node = 0; node < 301; node++)
            assert_true(toy->run.standing(toy->run.runtime, node).knows);
        toy_free(toy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_keep_order_and_lose_nothing),
        cmocka_unit_test(unordered_channels_do_not_keep_order),
        cmocka_unit_test(delays_fill_their_range_and_no_more),
        cmocka_unit_test(a_step_may_send_megabytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
