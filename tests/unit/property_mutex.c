// SPDX-License-Identifier: MIT
/* The judge of mutual exclusion: safety and service. */
#include "mutex_run.h"

static void a_good_run_holds(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    expect_violated(&it, "");
    assert_int_equal(it.judgement.finding_count, 7);
    for (uint32_t i = 0; i < it.judgement.finding_count; i++)
        assert_int_equal(it.judgement.findings[i].verdict, CV_HELD);
}

static void two_inside_are_found(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.entries[1].entered = 6;
    expect_violated(&it, "exclusion");
    expect_detail(&it, "exclusion", CV_VIOLATED, "10 and 20 both inside at 6..7");
    assert_string_equal(it.judgement.reason, "exclusion: 10 and 20 both inside at 6..7");
    /* Not only neighbours in the order of entering: the first stays, the second is gone when the third enters. */
    make_up(&it);
    it.entries[1].left = 7;
    it.entries[0].left = 15;
    expect_violated(&it, "exclusion");
    expect_detail(&it, "exclusion", CV_VIOLATED, "10 and 20 both inside at 7..7");
    it.entries[1].entered = it.entries[1].left = 2;
    it.entries[0].fence = 2;
    it.entries[1].fence = 1;
    it.algorithm.claims &= ~(uint32_t)CV_REQUEST_ORDER;
    expect_violated(&it, "exclusion");
    expect_detail(&it, "exclusion", CV_VIOLATED, "10 and 30 both inside at 14..15");
    it.entries[0].left = 14;
    expect_violated(&it, "");
}

/* Exclusion is judged whatever the ending, and violated at once. */
static void who_has_not_left_is_inside(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.entries[1].left = NEVER;
    expect_violated(&it, "exclusion");
    expect_detail(&it, "exclusion", CV_VIOLATED, "20 and 30 both inside at 14..20");
    it.entries[2].left = NEVER;
    it.entries[2].entered = it.run.now;
    it.run.ending = CV_OUT_OF_TIME;
    assert_int_equal(judge(&it), CV_VIOLATED);
    expect_detail(&it, "exclusion", CV_VIOLATED, "20 and 30 both inside from 100 on");
}

static void the_dead_are_inside_until_they_die(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.dead[0] = it.entries[0].died = true;
    expect_violated(&it, "");
    it.entries[0].left = 8;
    expect_violated(&it, "exclusion");
}

static void names_do_not_meet(void **state)
{
    (void)state;
    struct made_up it;
    begin(&it);
    it.scenario.names = 8;
    ask(&it, 0, 0, 2, 30);
    ask(&it, 1, 1, 3, 20)->name = 7;
    ask(&it, 3, 1, 20, 24)->name = 7;
    it.entries[0].fence = 50;
    expect_violated(&it, "");
    it.entries[2].entered = 12;
    it.entries[1].fence = 3;
    expect_violated(&it, "exclusion fences-rise");
    expect_detail(&it, "exclusion", CV_VIOLATED, "20 and 40 both inside `name 7` at 12..20");
    expect_detail(&it, "fences-rise", CV_VIOLATED, "40 entered `name 7` at 12 with fence 3, after 20 with fence 3");
}

/* Live clients may share with each other only, and their fences have any order. */
static void those_who_share_meet_each_other(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.algorithm.claims &= ~(uint32_t)CV_REQUEST_ORDER;
    it.entries[0].left = it.entries[1].left = 15;
    it.entries[0].fence = 8;
    it.entries[1].fence = 7;
    it.entries[2].fence = 9;
    it.entries[0].shared = it.entries[1].shared = it.entries[2].shared = true;
    expect_violated(&it, "");
    it.entries[2].shared = false; /* enters at 14 */
    expect_violated(&it, "exclusion");
    it.entries[0].left = it.entries[1].left = 14;
    expect_violated(&it, "");
    it.entries[2].fence = 8;
    expect_violated(&it, "fences-rise");
    /* A shared entry meets one that is not shared. */
    it.entries[2].fence = 9;
    it.entries[0].shared = false;
    expect_violated(&it, "exclusion fences-rise");
    expect_detail(&it, "exclusion", CV_VIOLATED, "10 and 20 both inside at 7..14");
    expect_detail(&it, "fences-rise", CV_VIOLATED, "20 entered at 7 with fence 7, after 10 with fence 8");
}

static void fences_rise_strictly(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.entries[2].fence = 2;
    expect_violated(&it, "fences-rise");
    expect_detail(&it, "fences-rise", CV_VIOLATED, "30 entered at 14 with fence 2, after 20 with fence 2");
    it.entries[2].fence = 1ull << CV_VIEW_BITS;
    expect_violated(&it, "");
    it.entries[2].fence = CV_FENCE_END;
    expect_violated(&it, "fences-rise");
    expect_detail(&it, "fences-rise", CV_VIOLATED,
                  "30 entered at 14 with fence 9007199254740992, which is not below 2^53");
    it.entries[2].fence = CV_FENCE_END - 1;
    expect_violated(&it, "");
    it.run.ending = CV_OUT_OF_TIME;
    it.entries[0].fence = 5;
    assert_int_equal(judge(&it), CV_VIOLATED);
    assert_int_equal(finding(&it, "fences-rise")->verdict, CV_VIOLATED);
}

static void a_deadlock_is_told(void **state)
{
    (void)state;
    struct made_up it;
    begin(&it);
    for (cv_node node = 0; node < 3; node++)
        ask(&it, node, node, NEVER, NEVER);
    expect_violated(&it, "no-deadlock every-request somebody-enters");
    expect_detail(&it, "no-deadlock", CV_VIOLATED, "deadlock: 10, 20, 30 wait for ever");
    expect_detail(&it, "every-request", CV_VIOLATED, "deadlock: 10, 20, 30 wait for ever");
    expect_detail(&it, "somebody-enters", CV_VIOLATED, "no node ever entered");
    it.run.ending = CV_REPEATS;
    expect_violated(&it, "no-deadlock every-request somebody-enters");
    it.run.ending = CV_OUT_OF_TIME;
    assert_int_equal(judge(&it), CV_UNFINISHED);
    expect_detail(&it, "no-deadlock", CV_UNFINISHED, "");
    expect_detail(&it, "every-request", CV_UNFINISHED,
                  "3 of 3 requests of live nodes are not served, that of 10 at 0 among them");
    /* A dead node does not wait. */
    it.run.ending = CV_QUIET;
    it.entries[0].died = it.dead[0] = it.dead[1] = true;
    expect_violated(&it, "no-deadlock every-request somebody-enters");
    expect_detail(&it, "no-deadlock", CV_VIOLATED, "deadlock: 30 waits for ever");
    it.dead[2] = true;
    expect_violated(&it, "somebody-enters");
}

static void a_deadlock_is_told_even_if_nothing_was_promised(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.algorithm.claims = CV_EXCLUSION | CV_FENCES_RISE;
    expect_violated(&it, "");
    expect_detail(&it, "no-deadlock", CV_DISCLAIMED, "");
    expect_detail(&it, "every-request", CV_DISCLAIMED, "");
    ask(&it, 3, 5, NEVER, NEVER);
    ask(&it, 0, 22, NEVER, NEVER);
    expect_violated(&it, "every-request");
    expect_detail(&it, "no-deadlock", CV_DISCLAIMED, "deadlock: 40, 10 wait for ever");
    expect_detail(&it, "every-request", CV_VIOLATED,
                  "deadlock: 40, 10 wait for ever; the algorithm does not promise otherwise");
    it.run.ending = CV_OUT_OF_TIME;
    assert_int_equal(judge(&it), CV_UNFINISHED);
    expect_detail(&it, "every-request", CV_UNFINISHED,
                  "2 of 5 requests of live nodes are not served, that of 40 at 5 among them");
}

static void many_in_a_deadlock_are_counted(void **state)
{
    (void)state;
    struct made_up it;
    begin(&it);
    it.scenario.names = 3;
    for (uint32_t i = 0; i < 12; i++)
        ask(&it, i % NODES, i, NEVER, NEVER)->name = 2;
    ask(&it, 0, 20, 22, 30);
    ask(&it, 1, 20, NEVER, NEVER)->name = 1;
    ask(&it, 2, 22, 24, NEVER)->name = 1;
    judge(&it);
    expect_detail(&it, "no-deadlock", CV_VIOLATED,
                  "deadlock: 10, 20, 30, 40, 10, 20 and 6 more wait for `name 2` for ever");
}

/* A node stays inside for ever: no deadlock, but no service either. */
static void waiting_for_somebody_inside_is_no_deadlock(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.entries[2].left = NEVER;
    ask(&it, 3, 15, NEVER, NEVER);
    expect_violated(&it, "every-request");
    expect_detail(&it, "every-request", CV_VIOLATED,
                  "1 of 4 requests of live nodes are not served, that of 40 at 15 among them");
}

/* A run that is not over proves nothing about what is to come. */
static void an_unfinished_run_is_not_held(void **state)
{
    (void)state;
    static const enum cv_ending endings[] = {CV_OUT_OF_TIME, CV_INTERRUPTED};
    for (int i = 0; i < 2; i++) {
        struct made_up it;
        make_up(&it);
        it.run.ending = endings[i];
        assert_int_equal(judge(&it), CV_UNFINISHED);
        assert_int_equal(finding(&it, "exclusion")->verdict, CV_HELD);
        assert_int_equal(finding(&it, "every-request")->verdict, CV_UNFINISHED);
        it.algorithm.claims = CV_EXCLUSION;
        assert_int_equal(judge(&it), CV_UNFINISHED);
    }
}

static void somebody_must_enter(void **state)
{
    (void)state;
    struct made_up it;
    begin(&it);
    expect_violated(&it, "somebody-enters");
    it.run.ending = CV_OUT_OF_TIME;
    assert_int_equal(judge(&it), CV_UNFINISHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_run_holds),
        cmocka_unit_test(two_inside_are_found),
        cmocka_unit_test(who_has_not_left_is_inside),
        cmocka_unit_test(the_dead_are_inside_until_they_die),
        cmocka_unit_test(names_do_not_meet),
        cmocka_unit_test(those_who_share_meet_each_other),
        cmocka_unit_test(fences_rise_strictly),
        cmocka_unit_test(a_deadlock_is_told),
        cmocka_unit_test(a_deadlock_is_told_even_if_nothing_was_promised),
        cmocka_unit_test(many_in_a_deadlock_are_counted),
        cmocka_unit_test(waiting_for_somebody_inside_is_no_deadlock),
        cmocka_unit_test(an_unfinished_run_is_not_held),
        cmocka_unit_test(somebody_must_enter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
