// SPDX-License-Identifier: MIT
/* Time, messages, timers, counting and how a run ends, with toy algorithms. */
#include "toy.h"

enum { PING, PONG };

static void ignore(struct cv_self *me, const struct cv_message *message)
{
    (void)me;
    (void)message;
}

static void ignore_timer(struct cv_self *me, uint32_t timer)
{
    (void)me;
    (void)timer;
}

static const struct cv_kind silent_kinds[] = {{"ping", 0, ignore, false}, {"pong", 0, ignore, false}, {0}};
static const char *const two_timers[] = {"first", "second", NULL};

/* ---- timers ---- */

static void ping_and_arm(struct cv_self *me)
{
    cv_arm(me, 0, 1);
    cv_arm(me, 1, 3);
    cv_multicast_signal(me, PING);
}

static void arm_again_and_cancel(struct cv_self *me, const struct cv_message *message)
{
    (void)message;
    cv_arm(me, 0, 4); /* anew: not at 1 any more */
    cv_cancel(me, 1); /* not at all */
    cv_signal(me, me->node, PONG);
}

static const struct cv_kind arming_kinds[] = {
    [PING] = {"ping", 0, arm_again_and_cancel, false}, [PONG] = {"pong", 0, ignore, false}, {0}};

static void timers_fire_after_the_messages_of_their_instant(void **state)
{
    (void)state;
    struct toy *toy = toy_new();
    toy->plan.nodes = "2";
    toy->plan.start = "all";
    toy->algorithm.kinds = arming_kinds;
    toy->algorithm.timers = two_timers;
    toy->algorithm.timeout = ignore_timer;
    toy->algorithm.start = ping_and_arm;
    toy->noted = ONLY(CV_EVENT_RECEIVE) | ONLY(CV_EVENT_TIMEOUT);
    toy_run(toy);
    /* The ping of tick 1 comes before the timer of tick 1, so it can still put it off. */
    toy_expect(toy, "1 receive 2>1 ping; 1 receive 1>2 ping; 2 receive 1>1 pong; 2 receive 2>2 pong; "
                    "5 timeout 1 first; 5 timeout 2 first; ");
    toy_free(toy);
}

static void come_to_something(struct cv_self *me)
{
    cv_result(me, 7, me->node);
}

/* Results belong to paths and synchronizers; elsewhere they are a remark. */
static void anybody_may_come_to_something(void **state)
{
    (void)state;
    struct toy *toy = toy_new();
    toy->algorithm.kinds = arming_kinds;
    toy->algorithm.start = come_to_something;
    toy->noted = ONLY(CV_EVENT_RESULT);
    toy_run(toy);
    toy_expect(toy, "0 result 1; ");
    toy_free(toy);
}

static void arm_for_now(struct cv_self *me)
{
    cv_arm(me, 1, 0);
    cv_arm(me, 0, 100000); /* far: not on the near wheel */
}

static void a_timer_fires_at_the_next_tick_at_the_earliest(void **state)
{
    (void)state;
    struct toy *toy = toy_new();
    toy->algorithm.kinds = silent_kinds;
    toy->algorithm.timers = two_timers;
    toy->algorithm.timeout = ignore_timer;
    toy->algorithm.start = arm_for_now;
    toy->noted = ONLY(CV_EVENT_TIMEOUT);
    toy_run(toy);
    toy_expect(toy, "1 timeout 1 second; 100000 timeout 1 first; ");
    assert_int_equal(toy->run.ending, CV_QUIET);
    assert_int_equal(toy->run.now, 100000);
    assert_int_equal(toy->run.time, 0); /* no message was delivered */
    toy_free(toy);
}

static void arm_and_cancel_at_once(struct cv_self *me)
{
    cv_arm(me, 0, 5);
    cv_cancel(me, 0);
    cv_cancel(me, 1);
    cv_arm(me, 1, 5);
}

static void the_last_word_on_a_timer_counts(void **state)
{
    (void)state;
    struct toy *toy = toy_new();
    toy->algorithm.kinds = silent_kinds;
    toy->algorithm.timers = two_timers;
    toy->algorithm.timeout = ignore_timer;
    toy->algorithm.start = arm_and_cancel_at_once;
    toy->noted = ONLY(CV_EVENT_TIMEOUT);
    toy_run(toy);
    toy_expect(toy, "5 timeout 1 second; ");
    toy_free(toy);
}

/* ---- counting ---- */

static void ping_everybody_and_itself(struct cv_self *me)
{
    for (cv_node node = 0; node < cv_nodes(me); node++)
        cv_signal(me, node, PING);
}

/* C1: to the dead counts. C2: to oneself does not, though it arrives. C4: a multicast is n - 1 messages. */
static void messages_are_counted_as_the_texts_do(void **state)
{
    (void)state;
    for (int unwatched = 0; unwatched < 2; unwatched++) {
        struct toy *toy = toy_new();
        toy->plan.nodes = "5";
        toy->unwatched = unwatched;
        toy->algorithm.kinds = silent_kinds;
        toy->algorithm.start = ping_everybody_and_itself;
        toy_say(&toy->plan.crash, "5@0");
        toy_run(toy);
        assert_int_equal(toy->run.count[PING], 4);
        assert_int_equal(toy->run.total, 4);
        assert_int_equal(toy->run.time, 1);
        if (!unwatched)
            assert_int_equal(toy_count(toy, "receive 1>1 ping"), 1);
        toy_free(toy);
    }
}

static void tell_itself_and_the_next(struct cv_self *me, const struct cv_message *message)
{
    (void)message;
    cv_signal(me, me->node, PONG);
    if (me->node + 1 < cv_nodes(me))
        cv_signal(me, me->node + 1, PONG);
}

static const struct cv_kind telling_kinds[] = {
    [PING] = {"ping", 0, tell_itself_and_the_next, false}, [PONG] = {"pong", 0, ignore, false}, {0}};

/* The same for all ways of messages: watched or not, at once, delayed, over a lossy network. */
static void what_one_tells_oneself_never_counts(void **state)
{
    (void)state;
    for (int way = 0; way < 6; way++) {
        struct toy *toy = toy_new();
        toy->plan.nodes = "9";
        toy->plan.start = "all";
        toy->unwatched = way % 2;
        toy->plan.delay = way / 2 == 1 ? "1..9" : NULL;
        toy->plan.loss = way / 2 == 2 ? "0.2" : NULL;
        toy->noted = 0;
        toy->algorithm.kinds = telling_kinds;
        toy->algorithm.start = ping_everybody_and_itself;
        toy_run(toy);
        assert_int_equal(toy->run.count[PING], 9 * 8);
        assert_int_equal(toy->run.count[PONG], 9 * 8); /* each of 8 nodes tells its next, for each of 9 pings */
        toy_free(toy);
    }
}

static void pass_round(struct cv_self *me, const struct cv_message *message)
{
    (void)message;
    if (me->node != 0)
        cv_signal(me, cv_successor(me), PING);
}

static void send_round(struct cv_self *me)
{
    cv_signal(me, cv_successor(me), PING);
}

static const struct cv_kind ring_kinds[] = {{"ping", 0, pass_round, false}, {0}};

/* C7: to skip a dead successor is free and takes no time. */
static void skipping_the_dead_is_free(void **state)
{
    (void)state;
    struct toy *toy = toy_new();
    toy->plan.nodes = "6";
    toy->algorithm.topology = CV_RING;
    toy->algorithm.kinds = ring_kinds;
    toy->algorithm.start = send_round;
    toy->noted = ONLY(CV_EVENT_RECEIVE);
    toy_say(&toy->plan.crash, "2@0");
    toy_say(&toy->plan.crash, "3@0");
    toy_say(&toy->plan.crash, "6@0");
    toy_run(toy);
    toy_expect(toy, "1 receive 1>4 ping; 2 receive 4>5 ping; 3 receive 5>1 ping; ");
    assert_int_equal(toy->run.total, 3);
    toy_free(toy);
}

/* ---- how a run ends ---- */

static void pass_on(struct cv_self *me, const struct cv_message *message)
{
    (void)message;
    cv_signal(me, cv_successor(me), PING);
}

static const struct cv_kind circling_kinds[] = {{"ping", 0, pass_on, false}, {0}};

static struct toy *circling(const char *nodes)
{
    struct toy *toy = toy_new();
    toy->plan.nodes = nodes;
    toy->algorithm.topology = CV_RING;
    toy->algorithm.kinds = circling_kinds;
    toy->algorithm.start = send_round;
    toy->algorithm.claims = CV_ELECTION_CLAIMS;
    toy->noted = 0;
    return toy;
}

static void a_run_that_repeats_itself_is_found(void **state)
{
    (void)state;
    static const char *const sizes[] = {"1", "2", "3", "7", "100"};
    static const uint64_t periods[] = {1, 2, 3, 7, 100};
    for (int i = 0; i < 5; i++) {
        struct toy *toy = circling(sizes[i]);
        toy_run(toy);
        assert_int_equal(toy->run.ending, CV_REPEATS);
        assert_int_equal(toy->run.period, periods[i]);
        assert_int_equal(toy->judgement.verdict, CV_VIOLATED); /* no node will ever learn a leader */
        toy_free(toy);
    }
}

/* Two tokens 3 apart on a ring of 6 stand where they stood after 3 ticks. Which one was sent first does not matter. */
static void who_sent_first_is_no_part_of_the_state(void **state)
{
    (void)state;
    struct toy *toy = circling("6");
    toy->plan.start = "1,4";
    toy_run(toy);
    assert_int_equal(toy->run.ending, CV_REPEATS);
    assert_int_equal(toy->run.period, 3);
    toy_free(toy);
}

/* A crash still to come changes things: nothing repeats before it. */
static void nothing_repeats_while_something_is_planned(void **state)
{
    (void)state;
    struct toy *toy = circling("4");
    toy->noted = ONLY(CV_EVENT_CRASH);
    toy_say(&toy->plan.crash, "3@1000");
    toy_run(toy);
    assert_int_equal(toy->run.ending, CV_REPEATS);
    assert_int_equal(toy->run.period, 3);
    assert_true(toy->run.now > 1000);
    toy_expect(toy, "1000 crash 3; ");
    toy_free(toy);
}

static void count_rounds(struct cv_self *me, const struct cv_message *message)
{
    uint64_t *count = me->state;
    (void)message;
    ++*count;
    cv_signal(me, cv_successor(me), PING);
}

static const struct cv_kind growing_kinds[] = {{"ping", 0, count_rounds, false}, {0}};

/* A run that goes on without returning to a state is given up, without a verdict. */
static void a_run_out_of_time_is_unfinished(void **state)
{
    (void)state;
    for (int unwatched = 0; unwatched < 2; unwatched++) {
        struct toy *toy = circling("5");
        toy->unwatched = unwatched;
        toy->algorithm.kinds = growing_kinds;
        toy->algorithm.state_bytes = sizeof(uint64_t);
        toy->plan.until = "777";
        toy_run(toy);
        assert_int_equal(toy->run.ending, CV_OUT_OF_TIME);
        assert_int_equal(toy->run.now, 777);
        assert_int_equal(toy->run.total, 778); /* one in each tick of 0..777 */
        assert_int_equal(toy->judgement.verdict, CV_UNFINISHED);
        assert_non_null(strstr(toy->judgement.reason, "777"));
        toy_free(toy);
    }
}

static volatile sig_atomic_t interrupted;

static void interrupt_at_7(struct cv_self *me, const struct cv_message *message)
{
    uint64_t *count = me->state;
    ++*count;
    if (*count == 7)
        interrupted = 1;
    pass_on(me, message);
}

static const struct cv_kind interrupting_kinds[] = {{"ping", 0, interrupt_at_7, false}, {0}};

static void a_run_can_be_interrupted(void **state)
{
    (void)state;
    for (int unwatched = 0; unwatched < 2; unwatched++) {
        struct toy *toy = circling("1");
        toy->unwatched = unwatched;
        toy->algorithm.kinds = interrupting_kinds;
        toy->algorithm.state_bytes = sizeof(uint64_t);
        toy->options.interrupted = &interrupted;
        interrupted = 0;
        toy_run(toy);
        assert_int_equal(toy->run.ending, CV_INTERRUPTED);
        assert_int_equal(toy->run.now, 7);
        assert_int_equal(toy->judgement.verdict, CV_UNFINISHED);
        toy_free(toy);
    }
}

static void choose_and_pass(struct cv_self *me, const struct cv_message *message)
{
    assert_true(cv_choose(me, 3) < 3);
    pass_on(me, message);
}

static const struct cv_kind choosing_kinds[] = {{"ping", 0, choose_and_pass, false}, {0}};

/* With random choices, equal states need not have equal futures. */
static void a_run_with_choices_does_not_repeat(void **state)
{
    (void)state;
    struct toy *toy = circling("3");
    toy->algorithm.kinds = choosing_kinds;
    toy->plan.until = "100";
    toy_run(toy);
    assert_int_equal(toy->run.ending, CV_OUT_OF_TIME);
    toy_free(toy);
}

/* ---- effects ---- */

static void elect_in_steps(struct cv_self *me, uint32_t timer)
{
    uint64_t *step = me->state;
    switch (++*step) {
    case 1:
        cv_call(me);
        cv_elected(me, 7);
        break;
    case 2:
        cv_elected(me, 7); /* no news */
        break;
    case 3:
        cv_no_leader(me);
        break;
    case 4:
        cv_elected(me, 9);
        cv_call(me);
        break;
    case 5:
        cv_yield(me);
        cv_call(me);
        break;
    default:
        cv_call(me); /* while its own is under way */
        return;
    }
    cv_arm(me, timer, 10);
}

static void begin_steps(struct cv_self *me)
{
    elect_in_steps(me, 0);
}

static void knowing_a_leader_is_noted_when_it_is_news(void **state)
{
    (void)state;
    struct toy *toy = toy_new();
    toy->plan.nodes = "1";
    toy->algorithm.kinds = silent_kinds;
    toy->algorithm.timers = two_timers;
    toy->algorithm.timeout = elect_in_steps;
    toy->algorithm.start = begin_steps;
    toy->algorithm.claims = CV_ONE_CALL;
    toy->algorithm.state_bytes = sizeof(uint64_t);
    toy->noted = ONLY(CV_EVENT_ELECTED) | ONLY(CV_EVENT_FORGET) | ONLY(CV_EVENT_CALL) | ONLY(CV_EVENT_YIELD);
    toy_run(toy);
    toy_expect(toy, "0 call 1; 0 elected 1=7; 10 elected 1=7; 20 forget 1; 30 call 1; 30 elected 1=9; 40 call 1; "
                    "40 yield 1; 50 call 1; ");
    assert_int_equal(toy->run.decided, 30);
    assert_int_equal(toy->run.calls, 4);
    assert_int_equal(toy_finding(toy, "one-election")->verdict, CV_VIOLATED);
    toy_free(toy);
}

static const char *never_three(const struct cv_self *me)
{
    const uint64_t *count = me->state;
    return *count == 3 ? "three is too many" : NULL;
}

static void a_broken_invariant_is_told_once_with_place_and_time(void **state)
{
    (void)state;
    struct toy *toy = circling("4");
    toy->plan.until = "100";
    toy->algorithm.kinds = growing_kinds;
    toy->algorithm.state_bytes = sizeof(uint64_t);
    toy->algorithm.invariant = never_three;
    toy_run(toy);
    /* Node 2 hears at 1, 5, 9. */
    assert_string_equal(toy_finding(toy, "invariant")->detail, "at time 9 on node 2: three is too many");
    assert_int_equal(toy->judgement.verdict, CV_VIOLATED);
    toy_free(toy);
}

/* ---- Lamport clocks ---- */

static uint64_t clocks[16];
static int clock_count;

static void note_clock(void *context, const struct cv_event *event)
{
    (void)context;
    if (event->type == CV_EVENT_SEND || event->type == CV_EVENT_RECEIVE || event->type == CV_EVENT_START)
        clocks[clock_count++ % 16] = event->clock;
}

static void multicast_twice(struct cv_self *me)
{
    cv_multicast_signal(me, PING);
    cv_multicast_signal(me, PING);
}

/* B7: a step ticks, a send ticks, a multicast once for all; a receipt is max + 1. */
static void lamport_clocks_tick_as_in_the_texts(void **state)
{
    (void)state;
    struct toy *toy = toy_new();
    struct cv_complaint complaint = {{0}};
    const struct cv_sim_options options = {.observer = {note_clock, NULL, NULL}};
    toy->plan.algorithm = &toy->algorithm;
    toy->algorithm.kinds = silent_kinds;
    toy->algorithm.start = multicast_twice;
    clock_count = 0;
    assert_int_equal(cv_plan_build(&toy->plan, &toy->scenario, &complaint), 0);
    assert_int_equal(cv_sim_new(&toy->sim, &toy->scenario, &options), 0);
    assert_int_equal(cv_sim_run(toy->sim, &toy->run), 0);
    /* start; two multicasts to two nodes; their receipts, node by node: 2 and 3, 2 and 3. */
    static const uint64_t expected[] = {1, 2, 2, 3, 3, 3, 4, 3, 4};
    assert_int_equal(clock_count, 9);
    for (int i = 0; i < 9; i++)
        assert_int_equal(clocks[i], expected[i]);
    toy_free(toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anybody_may_come_to_something),
        cmocka_unit_test(timers_fire_after_the_messages_of_their_instant),
        cmocka_unit_test(a_timer_fires_at_the_next_tick_at_the_earliest),
        cmocka_unit_test(the_last_word_on_a_timer_counts),
        cmocka_unit_test(messages_are_counted_as_the_texts_do),
        cmocka_unit_test(what_one_tells_oneself_never_counts),
        cmocka_unit_test(skipping_the_dead_is_free),
        cmocka_unit_test(a_run_that_repeats_itself_is_found),
        cmocka_unit_test(who_sent_first_is_no_part_of_the_state),
        cmocka_unit_test(nothing_repeats_while_something_is_planned),
        cmocka_unit_test(a_run_out_of_time_is_unfinished),
        cmocka_unit_test(a_run_can_be_interrupted),
        cmocka_unit_test(a_run_with_choices_does_not_repeat),
        cmocka_unit_test(knowing_a_leader_is_noted_when_it_is_news),
        cmocka_unit_test(a_broken_invariant_is_told_once_with_place_and_time),
        cmocka_unit_test(lamport_clocks_tick_as_in_the_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
