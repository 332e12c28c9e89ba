// SPDX-License-Identifier: MIT
/* The judge of mutual exclusion: overtaking, and the order in which requests are served. */
#include "mutex_run.h"

#include "core/random.h"

static void nobody_overtakes_twice(void **state)
{
    (void)state;
    struct made_up it;
    begin(&it);
    it.algorithm.claims &= ~(uint32_t)CV_REQUEST_ORDER;
    ask(&it, 0, 0, 2, 3);
    struct cv_entry *waits = ask(&it, 1, 1, 20, 22);
    ask(&it, 2, 1, 4, 5);
    ask(&it, 0, 3, 6, 8);
    ask(&it, 3, 3, 9, 10);
    waits->fence = 9;
    expect_violated(&it, ""); /* 0 entered at 2 and 6, but at 2 the request had only just got known */
    it.entries[0].entered = 3;
    it.entries[0].left = 4;
    expect_violated(&it, "bounded-waiting");
    expect_detail(&it, "bounded-waiting", CV_VIOLATED, "10 entered 2 times at 3..6 while 20 waited from 1 on");
    it.scenario.delay = (struct cv_delay){CV_DELAY_UNIFORM, 1, 9}; /* it may take until 10 to get known */
    expect_violated(&it, "");
    it.scenario.delay = (struct cv_delay){CV_DELAY_UNIT, 1, 1};
    waits->entered = 6;
    it.entries[3].entered = 7;
    waits->left = 7;
    waits->fence = 4;
    it.entries[3].fence = it.entries[4].fence = 5;
    it.entries[4].fence = 6;
    expect_violated(&it, "");
}

/* A node that is never served counts as overtaken; a dead node does not. */
static void the_unserved_are_overtaken_too(void **state)
{
    (void)state;
    struct made_up it;
    begin(&it);
    ask(&it, 1, 0, NEVER, NEVER);
    ask(&it, 0, 1, 4, 5);
    ask(&it, 0, 6, 8, 9);
    it.run.ending = CV_OUT_OF_TIME;
    assert_int_equal(judge(&it), CV_VIOLATED);
    expect_detail(&it, "bounded-waiting", CV_VIOLATED, "10 entered 2 times at 4..8 while 20 waited from 0 on");
    it.algorithm.claims = CV_EXCLUSION;
    assert_int_equal(judge(&it), CV_UNFINISHED);
    expect_detail(&it, "bounded-waiting", CV_DISCLAIMED, "10 entered 2 times at 4..8 while 20 waited from 0 on");
    it.algorithm.claims = ALL_CLAIMS;
    it.entries[0].died = it.dead[1] = true;
    it.run.ending = CV_QUIET;
    expect_violated(&it, "");
}

/* A new view starts a new queue. The fences contain the numbers of the views. */
static void a_new_view_begins_anew(void **state)
{
    (void)state;
    struct made_up it;
    begin(&it);
    it.algorithm.claims &= ~(uint32_t)CV_REQUEST_ORDER;
    ask(&it, 1, 0, 30, 31)->fence = 2ull << CV_VIEW_BITS;
    ask(&it, 0, 1, 4, 5);
    ask(&it, 0, 6, 8, 9);
    ask(&it, 0, 12, 14, 15)->fence = 1ull << CV_VIEW_BITS;
    ask(&it, 0, 20, 22, 23)->fence = (1ull << CV_VIEW_BITS) + 1;
    expect_violated(&it, "bounded-waiting");
    it.crashes[0] = (struct cv_crash){.node = 3, .time = 10};
    it.scenario.crash_count = 1;
    expect_violated(&it, ""); /* not in the view in which it was served */
    it.entries[0].fence = (1ull << CV_VIEW_BITS) + 5;
    it.entries[3].entered = 11; /* the view began; 13: all requests are known, and the crash */
    it.entries[3].left = 12;
    ask(&it, 0, 23, 25, 26)->fence = (1ull << CV_VIEW_BITS) + 2;
    expect_violated(&it, ""); /* twice, of which one for the crash */
    ask(&it, 0, 26, 28, 29)->fence = (1ull << CV_VIEW_BITS) + 3;
    expect_violated(&it, "bounded-waiting");
    expect_detail(&it, "bounded-waiting", CV_VIOLATED, "10 entered 3 times at 22..28 while 20 waited from 0 on");
    it.crashes[0].time = 0; /* dead before the run: that changes nothing later */
    expect_violated(&it, "bounded-waiting");
    expect_detail(&it, "bounded-waiting", CV_VIOLATED, "10 entered 2 times at 25..28 while 20 waited from 0 on");
}

static void cut_off_nobody_is_bounded(void **state)
{
    (void)state;
    struct made_up it;
    begin(&it);
    ask(&it, 1, 0, 30, 31)->fence = 9;
    ask(&it, 0, 1, 4, 5);
    ask(&it, 0, 6, 8, 9);
    it.algorithm.claims &= ~(uint32_t)CV_REQUEST_ORDER;
    expect_violated(&it, "bounded-waiting");
    it.scenario.partition_count = 1;
    expect_violated(&it, "");
    expect_detail(&it, "bounded-waiting", CV_DISCLAIMED, "no node learns of a request that is cut off");
}

static void requests_are_served_in_their_order(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.entries[0].clock = 8;
    it.entries[1].clock = it.entries[2].clock = 12;
    expect_violated(&it, ""); /* at one time the smaller id is first */
    it.entries[2].node = 0;
    expect_violated(&it, "request-order");
    expect_detail(&it, "request-order", CV_VIOLATED,
                  "10 entered at 14 after 20, but asked before it: clock 12, not 12");
    it.entries[2].clock = 13;
    expect_violated(&it, "");
    it.entries[0].clock = 14;
    expect_violated(&it, "request-order");
    expect_detail(&it, "request-order", CV_VIOLATED, "20 entered at 7 after 10, but asked before it: clock 12, not 14");
    it.algorithm.claims = CV_MUTEX_CLAIMS;
    expect_violated(&it, "");
    assert_int_equal(finding(&it, "request-order")->verdict, CV_DISCLAIMED);
}

/* A node that requests again in a new view has another time; times of two views do not compare. */
static void a_request_made_again_has_another_time(void **state)
{
    (void)state;
    struct made_up it;
    begin(&it);
    it.crashes[0] = (struct cv_crash){.node = 3, .time = 10};
    ask(&it, 0, 8, 9, 10)->clock = 50;
    ask(&it, 1, 9, 14, 15)->clock = 51;
    ask(&it, 2, 9, 16, 17)->clock = 40;
    ask(&it, 0, 20, 22, 23)->clock = 60;
    for (int i = 1; i < 4; i++)
        it.entries[i].fence += 1ull << CV_VIEW_BITS;
    expect_violated(&it, "request-order");
    it.scenario.crash_count = 1;
    expect_violated(&it, "");
    it.entries[3].clock = 50;
    expect_violated(&it, "request-order");
    expect_detail(&it, "request-order", CV_VIOLATED,
                  "10 entered at 22 after 20, but asked before it: clock 50, not 51");
}

/* The definitions, word by word, for all pairs and triples. */
static bool meet(const struct cv_entry *x, const struct cv_entry *y)
{
    return x != y && x->entered < y->left && y->entered < x->left;
}

static bool overtakes(const struct cv_entry *y, const struct cv_entry *x)
{
    return y->entered > x->requested + 1 && y->entered < x->entered;
}

/* Eight entries of random nodes; no two begin at one time, and a node has left before it asks again. */
static void make_up_any(struct made_up *it, struct cv_random *random)
{
    uint64_t free_from[NODES] = {0};
    begin(it);
    for (uint32_t i = 0; i < 8; i++) {
        const cv_node node = (cv_node)cv_random_below(random, NODES);
        const uint64_t requested = free_from[node] + cv_random_below(random, 50);
        const uint64_t entered = (requested / 8 + 1 + cv_random_below(random, 20)) * 8 + i;
        free_from[node] = entered + cv_random_below(random, 25);
        ask(it, node, requested, entered, free_from[node]);
    }
}

static void random_runs_are_judged_as_the_definitions_say(void **state)
{
    (void)state;
    enum { RUNS = 20000 };
    struct cv_random random;
    uint32_t found[2] = {0};
    cv_random_seed(&random, 1, 0);
    for (uint32_t round = 0; round < RUNS; round++) {
        struct made_up it;
        bool two_inside = false, overtaken = false;
        make_up_any(&it, &random);
        for (const struct cv_entry *x = it.entries; x < it.entries + 8; x++)
            for (const struct cv_entry *y = it.entries; y < it.entries + 8; y++) {
                two_inside |= meet(x, y);
                for (const struct cv_entry *again = it.entries; again < y; again++)
                    overtaken |= again->node == y->node && overtakes(y, x) && overtakes(again, x);
            }
        judge(&it);
        found[0] += two_inside;
        found[1] += overtaken;
        assert_int_equal(finding(&it, "exclusion")->verdict, two_inside ? CV_VIOLATED : CV_HELD);
        assert_int_equal(finding(&it, "bounded-waiting")->verdict, overtaken ? CV_VIOLATED : CV_HELD);
    }
    for (int i = 0; i < 2; i++)
        assert_in_range(found[i], RUNS / 50, RUNS - RUNS / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_overtakes_twice),
        cmocka_unit_test(the_unserved_are_overtaken_too),
        cmocka_unit_test(a_new_view_begins_anew),
        cmocka_unit_test(cut_off_nobody_is_bounded),
        cmocka_unit_test(requests_are_served_in_their_order),
        cmocka_unit_test(a_request_made_again_has_another_time),
        cmocka_unit_test(random_runs_are_judged_as_the_definitions_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
