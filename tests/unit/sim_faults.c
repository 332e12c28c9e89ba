// SPDX-License-Identifier: MIT
/* Crashes, recoveries, partitions and what the failure detector tells, with toy algorithms. */
#include "toy.h"

enum { PING, PONG };

/* The starting node pings all nodes; a ping is answered. */
static void ping_all(struct cv_self *me)
{
    cv_multicast_signal(me, PING);
}

static void answer(struct cv_self *me, const struct cv_message *message)
{
    cv_signal(me, message->from, PONG);
}

static void ignore(struct cv_self *me, const struct cv_message *message)
{
    (void)me;
    (void)message;
}

static void do_nothing(struct cv_self *me, cv_node node)
{
    (void)me;
    (void)node;
}

static const struct cv_kind ping_kinds[] = {
    [PING] = {"ping", 0, answer, false},
    [PONG] = {"pong", 0, ignore, false},
    {0},
};

static struct toy *pinging(void)
{
    struct toy *toy = toy_new();
    toy->algorithm.kinds = ping_kinds;
    toy->algorithm.start = ping_all;
    toy->algorithm.suspect = do_nothing;
    toy->algorithm.trust = do_nothing;
    return toy;
}

/* ---- crashes ---- */

/* At its tick the node is gone before the messages of that tick; they are counted, for they were sent. */
static void a_node_crashes_at_a_time(void **state)
{
    (void)state;
    struct toy *toy = pinging();
    toy_say(&toy->plan.crash, "3@1");
    toy_run(toy);
    toy_expect(toy, "0 start 1; 0 send 1>2 ping; 0 send 1>3 ping; 1 crash 3; 1 receive 1>2 ping; 1 send 2>1 pong; "
                    "1 lost 1>3 ping; 2 suspect 1:3; 2 suspect 2:3; 2 receive 2>1 pong; ");
    assert_int_equal(toy->run.count[PING], 2);
    assert_int_equal(toy->run.count[PONG], 1);
    assert_int_equal(toy->run.total, 3);
    assert_int_equal(toy->run.time, 2);
    assert_int_equal(toy->run.ending, CV_QUIET);
    toy_free(toy);
}

static void a_crash_at_0_is_told_to_nobody(void **state)
{
    (void)state;
    struct toy *toy = pinging();
    toy_say(&toy->plan.crash, "1@0");
    toy_run(toy); /* by default the smallest live id calls */
    toy_expect(toy, "0 crash 1; 0 start 2; 0 send 2>1 ping; 0 send 2>3 ping; 1 lost 2>1 ping; 1 receive 2>3 ping; "
                    "1 send 3>2 pong; 2 receive 3>2 pong; ");
    toy_free(toy);
}

/* Sends a ping, a pong and another ping to each. */
static void mixed_mail(struct cv_self *me)
{
    for (cv_node node = 0; node < cv_nodes(me); node++)
        if (node != me->node) {
            cv_signal(me, node, PING);
            cv_signal(me, node, PONG);
            cv_signal(me, node, PING);
        }
}

static void a_node_crashes_before_it_first_sends_a_kind(void **state)
{
    (void)state;
    struct toy *toy = pinging();
    toy->algorithm.start = mixed_mail;
    toy->noted = ONLY(CV_EVENT_SEND) | ONLY(CV_EVENT_CRASH) | ONLY(CV_EVENT_SUSPECT);
    toy_say(&toy->plan.crash, "1@before:pong");
    toy_run(toy);
    toy_expect(toy, "0 send 1>2 ping; 0 crash 1; 1 suspect 2:1; 1 suspect 3:1; 1 send 2>1 pong; ");
    assert_int_equal(toy->run.count[PING], 1);
    toy_free(toy);
}

/* A multicast that stops half-way. */
static void a_node_crashes_after_it_first_sent_a_kind(void **state)
{
    (void)state;
    struct toy *toy = pinging();
    toy->plan.nodes = "5";
    toy->noted = ONLY(CV_EVENT_SEND) | ONLY(CV_EVENT_CRASH) | ONLY(CV_EVENT_RECEIVE);
    toy_say(&toy->plan.crash, "1@after:ping");
    toy_run(toy);
    toy_expect(toy, "0 send 1>2 ping; 0 crash 1; 1 receive 1>2 ping; 1 send 2>1 pong; ");
    toy_free(toy);
}

/* Only the first message of the kind counts, and only the named node. */
static void a_crash_by_kind_waits_for_the_kind(void **state)
{
    (void)state;
    struct toy *toy = pinging();
    toy->noted = ONLY(CV_EVENT_CRASH) | ONLY(CV_EVENT_LOST);
    toy_say(&toy->plan.crash, "2@after:pong");
    toy_say(&toy->plan.crash, "3@before:ping");
    toy_run(toy);
    toy_expect(toy, "1 crash 2; ");
    toy_free(toy);
}

/* The node dies at the first such message; after its return it may send more. */
static void a_crash_by_kind_happens_once(void **state)
{
    (void)state;
    struct toy *toy = pinging();
    toy->algorithm.recover = ping_all;
    toy->noted = ONLY(CV_EVENT_CRASH) | ONLY(CV_EVENT_RECOVER) | ONLY(CV_EVENT_SEND);
    toy_say(&toy->plan.crash, "1@before:ping");
    toy_say(&toy->plan.recover, "1@20");
    toy_run(toy);
    toy_expect(toy,
               "0 crash 1; 20 recover 1; 20 send 1>2 ping; 20 send 1>3 ping; 21 send 2>1 pong; 21 send 3>1 pong; ");
    toy_free(toy);
}

/* ---- recovery ---- */

struct counter {
    uint32_t count;
    uint32_t unused;
};

static void count_up(struct cv_self *me, const struct cv_message *message)
{
    struct counter *my = me->state;
    static const char *const words[] = {"none", "one", "two", "three"};
    (void)message;
    my->count++;
    cv_note(me, words[my->count < 4 ? my->count : 0]);
}

static void ping_again(struct cv_self *me, uint32_t timer)
{
    cv_arm(me, timer, 4);
    cv_multicast_signal(me, PING);
}

static void ping_for_ever(struct cv_self *me)
{
    ping_again(me, 0);
}

static const struct cv_kind counted_kinds[] = {{"ping", 0, count_up, false}, {0}};
static const char *const one_timer[] = {"alarm", NULL};

/*
 * Messages take 5 ticks. Those of 0, 4 and 8 were for the former life of node 2, though two of them would arrive in the
 * next. From 12 on they reach it, and it counts from one again.
 */
static void a_recovered_node_is_new_and_gets_no_old_mail(void **state)
{
    (void)state;
    struct toy *toy = toy_new();
    toy->plan.nodes = "2";
    toy->plan.delay = "5..5";
    toy->plan.until = "24";
    toy->algorithm.kinds = counted_kinds;
    toy->algorithm.timers = one_timer;
    toy->algorithm.timeout = ping_again;
    toy->algorithm.start = ping_for_ever;
    toy->algorithm.state_bytes = sizeof(struct counter);
    toy->noted = ONLY(CV_EVENT_NOTE) | ONLY(CV_EVENT_CRASH) | ONLY(CV_EVENT_RECOVER) | ONLY(CV_EVENT_RECEIVE);
    toy_say(&toy->plan.crash, "2@6");
    toy_say(&toy->plan.recover, "2@10");
    toy_run(toy);
    toy_expect(toy, "5 receive 1>2 ping; 5 note 2 one; 6 crash 2; 10 recover 2; 17 receive 1>2 ping; 17 note 2 one; "
                    "21 receive 1>2 ping; 21 note 2 two; ");
    assert_int_equal(toy->run.ending, CV_OUT_OF_TIME);
    toy_free(toy);
}

/* The same below a lossy network: the old channel is broken, a new one begins. */
static void a_recovered_node_gets_no_old_packets(void **state)
{
    (void)state;
    struct toy *toy = toy_new();
    toy->plan.nodes = "2";
    toy->plan.delay = "5..5";
    toy->plan.duplicate = "0.5";
    toy->plan.until = "24";
    toy->algorithm.kinds = counted_kinds;
    toy->algorithm.timers = one_timer;
    toy->algorithm.timeout = ping_again;
    toy->algorithm.start = ping_for_ever;
    toy->algorithm.state_bytes = sizeof(struct counter);
    toy->noted = ONLY(CV_EVENT_NOTE);
    toy_say(&toy->plan.crash, "2@6");
    toy_say(&toy->plan.recover, "2@10");
    toy_run(toy);
    toy_expect(toy, "5 note 2 one; 17 note 2 one; 21 note 2 two; ");
    toy_free(toy);
}

/* A crash breaks the sender's channels too: the ping of its former life is not taken for one of the next. */
static void a_recovered_node_sends_no_old_packets(void **state)
{
    (void)state;
    struct toy *toy = toy_new();
    toy->plan.nodes = "2";
    toy->plan.delay = "5..5";
    toy->plan.duplicate = "0.5";
    toy->algorithm.kinds = counted_kinds;
    toy->algorithm.start = ping_all;
    toy->algorithm.recover = ping_all;
    toy->algorithm.state_bytes = sizeof(struct counter);
    toy->noted = ONLY(CV_EVENT_NOTE);
    toy_say(&toy->plan.crash, "1@2");
    toy_say(&toy->plan.recover, "1@3");
    toy_run(toy);
    toy_expect(toy, "8 note 2 one; ");
    toy_free(toy);
}

static void recover_and_arm(struct cv_self *me)
{
    cv_arm(me, 0, 7);
    cv_signal(me, 0, PONG);
}

static void arm_and_ping(struct cv_self *me)
{
    cv_arm(me, 0, 5);
    ping_all(me);
}

static void just_fire(struct cv_self *me, uint32_t timer)
{
    (void)me;
    (void)timer;
}

/* A node's timers die with it; the detector reports the crash and then the return. */
static void a_crash_ends_timers_and_recovery_is_told(void **state)
{
    (void)state;
    struct toy *toy = pinging();
    toy->plan.start = "all";
    toy->plan.detect = "2";
    toy->algorithm.start = arm_and_ping;
    toy->algorithm.recover = recover_and_arm;
    toy->algorithm.timers = one_timer;
    toy->algorithm.timeout = just_fire;
    toy->noted = ~(ONLY(CV_EVENT_SEND) | ONLY(CV_EVENT_START) | ONLY(CV_EVENT_RECEIVE) | ONLY(CV_EVENT_LOST));
    toy_say(&toy->plan.crash, "3@3");
    toy_say(&toy->plan.recover, "3@10");
    toy_run(toy);
    toy_expect(toy, "3 crash 3; 5 suspect 1:3; 5 suspect 2:3; 5 timeout 1 alarm; 5 timeout 2 alarm; 10 recover 3; "
                    "12 trust 1:3; 12 trust 2:3; 17 timeout 3 alarm; ");
    toy_free(toy);
}

/* ---- the detector ---- */

static void the_detector_takes_its_time(void **state)
{
    (void)state;
    static const char *const delays[] = {"0", "1", "25"};
    static const char *const books[] = {"7 crash 3; 7 suspect 1:3; 7 suspect 2:3; ",
                                        "7 crash 3; 8 suspect 1:3; 8 suspect 2:3; ",
                                        "7 crash 3; 32 suspect 1:3; 32 suspect 2:3; "};
    for (int i = 0; i < 3; i++) {
        struct toy *toy = pinging();
        toy->noted = ONLY(CV_EVENT_CRASH) | ONLY(CV_EVENT_SUSPECT);
        toy->plan.detect = delays[i];
        toy_say(&toy->plan.crash, "3@7");
        toy_run(toy);
        toy_expect(toy, books[i]);
        toy_free(toy);
    }
}

static void the_blind_are_not_told(void **state)
{
    (void)state;
    struct toy *toy = pinging();
    toy->plan.nodes = "4";
    toy->noted = ONLY(CV_EVENT_SUSPECT);
    toy_say(&toy->plan.crash, "3@7");
    toy_say(&toy->plan.crash, "4@9");
    toy_say(&toy->plan.blind, "1:3");
    toy_say(&toy->plan.blind, "*:4");
    toy_run(toy);
    toy_expect(toy, "8 suspect 2:3; 8 suspect 4:3; ");
    toy_free(toy);
}

/* Writes to the trace which nodes it would send to, and which it suspects. */
static void tell_view(struct cv_self *me, uint32_t timer)
{
    static const char *const present[] = {"1", "12", "13", "123"};
    const unsigned which = (cv_present(me, 1) ? 1u : 0u) + (cv_present(me, 2) ? 2u : 0u);
    (void)timer;
    if (me->node == 0)
        cv_note(me, cv_suspected(me, 3) ? "suspects 3" : present[which]);
    cv_arm(me, 0, 5);
}

static void begin_telling(struct cv_self *me)
{
    tell_view(me, 0);
}

static struct toy *telling(void)
{
    struct toy *toy = pinging();
    toy->algorithm.start = begin_telling;
    toy->algorithm.timers = one_timer;
    toy->algorithm.timeout = tell_view;
    toy->noted = ONLY(CV_EVENT_NOTE) | ONLY(CV_EVENT_SUSPECT);
    toy->plan.until = "12";
    return toy;
}

/* Trying to connect shows at once that a node is down; the detector's suspicion comes later. */
static void the_dead_are_skipped_before_they_are_suspected(void **state)
{
    (void)state;
    struct toy *toy = telling();
    toy->plan.detect = "4";
    toy_say(&toy->plan.crash, "3@3");
    toy_run(toy);
    toy_expect(toy, "0 note 1 123; 5 note 1 12; 7 suspect 1:3; 7 suspect 2:3; 10 note 1 suspects 3; ");
    toy_free(toy);
}

static void a_false_suspicion_is_told_and_believed(void **state)
{
    (void)state;
    struct toy *toy = telling();
    toy_say(&toy->plan.suspect, "1:3@7");
    toy_run(toy);
    toy_expect(toy, "0 note 1 123; 5 note 1 123; 7 suspect 1:3; 10 note 1 suspects 3; ");
    toy_free(toy);
    toy = telling();
    toy_say(&toy->plan.suspect, "*:2@7");
    toy_run(toy);
    toy_expect(toy, "0 note 1 123; 5 note 1 123; 7 suspect 1:2; 7 suspect 3:2; 10 note 1 13; ");
    toy_free(toy);
}

/* ---- partitions ---- */

static void what_is_sent_across_a_cut_is_lost(void **state)
{
    (void)state;
    struct toy *toy = pinging();
    toy->plan.nodes = "2";
    toy->plan.until = "14";
    toy->algorithm.kinds = counted_kinds;
    toy->algorithm.timers = one_timer;
    toy->algorithm.timeout = ping_again;
    toy->algorithm.start = ping_for_ever;
    toy->algorithm.state_bytes = sizeof(struct counter);
    toy->noted = ~(ONLY(CV_EVENT_NOTE) | ONLY(CV_EVENT_START) | ONLY(CV_EVENT_TIMEOUT));
    toy_say(&toy->plan.partition, "1/2@1..10");
    toy_run(toy);
    /* The ping of 0 was under way before the cut, those of 4 and 8 are lost, that of 12 finds the link healed. */
    toy_expect(toy, "0 send 1>2 ping; 1 cut; 1 receive 1>2 ping; 2 suspect 2:1; 2 suspect 1:2; 4 send 1>2 ping; "
                    "4 lost 1>2 ping; 8 send 1>2 ping; 8 lost 1>2 ping; 10 heal; 11 trust 2:1; 11 trust 1:2; "
                    "12 send 1>2 ping; 13 receive 1>2 ping; ");
    assert_int_equal(toy->run.total, 4); /* lost messages count */
    toy_free(toy);
}

/* Nodes that are in no list share a side of their own. */
static void a_cut_may_have_several_sides(void **state)
{
    (void)state;
    struct toy *toy = pinging();
    toy->plan.nodes = "5";
    toy->plan.start = "1,3,5";
    toy->noted = ONLY(CV_EVENT_RECEIVE);
    toy_say(&toy->plan.partition, "1,2/3@0");
    toy_run(toy);
    toy_expect(toy, "1 receive 1>2 ping; 1 receive 5>4 ping; 2 receive 2>1 pong; 2 receive 4>5 pong; ");
    toy_free(toy);
}

/* {1,2} and {3,4} with a second link 2:3: over it, each link on the way takes a delay. */
static void messages_are_relayed_over_an_alternate_link(void **state)
{
    (void)state;
    static const char *const books[] = {
        "1 receive 1>2 ping; 2 receive 1>3 ping; 3 receive 1>4 ping; ",
        "1 receive 2>1 ping; 1 receive 2>3 ping; 2 receive 2>4 ping; ",
        "1 receive 3>2 ping; 1 receive 3>4 ping; 2 receive 3>1 ping; ",
        "1 receive 4>3 ping; 2 receive 4>2 ping; 3 receive 4>1 ping; ",
    };
    static const struct cv_kind silent_kinds[] = {{"ping", 0, ignore, false}, {0}};
    static const char *const starts[] = {"1", "2", "3", "4"};
    for (int i = 0; i < 4; i++) {
        struct toy *toy = pinging();
        toy->algorithm.kinds = silent_kinds;
        toy->plan.nodes = "4";
        toy->plan.start = starts[i];
        toy->noted = ONLY(CV_EVENT_RECEIVE) | ONLY(CV_EVENT_SUSPECT);
        toy_say(&toy->plan.partition, "1,2/3,4@0");
        toy_say(&toy->plan.alternate, "2:3");
        toy_run(toy);
        toy_expect(toy, books[i]);
        toy_free(toy);
    }
}

static void an_alternate_link_needs_both_its_ends(void **state)
{
    (void)state;
    struct toy *toy = pinging();
    toy->plan.nodes = "4";
    toy->noted = ONLY(CV_EVENT_RECEIVE) | ONLY(CV_EVENT_LOST);
    toy_say(&toy->plan.partition, "1,2/3,4@0");
    toy_say(&toy->plan.alternate, "2:3");
    toy_say(&toy->plan.crash, "3@0");
    toy_run(toy);
    assert_int_equal(toy_count(toy, "receive 1>2 ping"), 1);
    assert_int_equal(toy_count(toy, "receive 1>4"), 0);
    assert_int_equal(toy_count(toy, "lost 1>4 ping"), 1);
    toy_free(toy);
}

/* Two alternate links in a row join three sides. */
static void alternate_links_form_chains(void **state)
{
    (void)state;
    static const struct cv_kind silent_kinds[] = {{"ping", 0, ignore, false}, {0}};
    struct toy *toy = pinging();
    toy->algorithm.kinds = silent_kinds;
    toy->plan.nodes = "3";
    toy->noted = ONLY(CV_EVENT_RECEIVE);
    toy_say(&toy->plan.partition, "1/2/3@0");
    toy_say(&toy->plan.alternate, "1:2");
    toy_say(&toy->plan.alternate, "2:3");
    toy_run(toy);
    toy_expect(toy, "1 receive 1>2 ping; 2 receive 1>3 ping; ");
    toy_free(toy);
}

/* ---- determinism of the agenda ---- */

/* Of one tick: crashes, cuts, heals, recoveries, then what the detector tells, then messages, then timers. */
static void the_order_within_a_tick_is_fixed(void **state)
{
    (void)state;
    struct toy *toy = pinging();
    toy->plan.nodes = "4";
    toy->algorithm.start = arm_and_ping;
    toy->algorithm.timers = one_timer;
    toy->algorithm.timeout = just_fire;
    toy->plan.delay = "5..5";
    toy->plan.detect = "0";
    toy->noted = ~(ONLY(CV_EVENT_SEND) | ONLY(CV_EVENT_START) | ONLY(CV_EVENT_LOST));
    toy_say(&toy->plan.recover, "4@5");
    toy_say(&toy->plan.crash, "4@0");
    toy_say(&toy->plan.crash, "3@5");
    toy_say(&toy->plan.suspect, "1:2@5");
    toy_run(toy);
    assert_true(strncmp(toy->book, "0 crash 4; 5 crash 3; 5 recover 4; 5 suspect 1:3; 5 suspect 2:3; 5 suspect 4:3; ",
                        80) == 0);
    assert_true(strstr(toy->book, "5 suspect 1:2; 5 receive 1>2 ping; 5 timeout 1 alarm; "));
    toy_free(toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_crashes_at_a_time),
        cmocka_unit_test(a_crash_at_0_is_told_to_nobody),
        cmocka_unit_test(a_node_crashes_before_it_first_sends_a_kind),
        cmocka_unit_test(a_node_crashes_after_it_first_sent_a_kind),
        cmocka_unit_test(a_crash_by_kind_waits_for_the_kind),
        cmocka_unit_test(a_crash_by_kind_happens_once),
        cmocka_unit_test(a_recovered_node_is_new_and_gets_no_old_mail),
        cmocka_unit_test(a_recovered_node_gets_no_old_packets),
        cmocka_unit_test(a_recovered_node_sends_no_old_packets),
        cmocka_unit_test(a_crash_ends_timers_and_recovery_is_told),
        cmocka_unit_test(the_detector_takes_its_time),
        cmocka_unit_test(the_blind_are_not_told),
        cmocka_unit_test(the_dead_are_skipped_before_they_are_suspected),
        cmocka_unit_test(a_false_suspicion_is_told_and_believed),
        cmocka_unit_test(what_is_sent_across_a_cut_is_lost),
        cmocka_unit_test(a_cut_may_have_several_sides),
        cmocka_unit_test(messages_are_relayed_over_an_alternate_link),
        cmocka_unit_test(an_alternate_link_needs_both_its_ends),
        cmocka_unit_test(alternate_links_form_chains),
        cmocka_unit_test(the_order_within_a_tick_is_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
