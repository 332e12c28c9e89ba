// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/detector.h"

#define MS 1000u

static void regular_beats_keep_it_quick(void **state)
{
    struct cv_detector detector;
    uint64_t now = 0;
    (void)state;
    cv_detector_init(&detector, 100 * MS, 3000 * MS);
    for (int i = 0; i < 100; i++)
        cv_detector_heard(&detector, now += 20 * MS);
    assert_int_equal(cv_detector_deadline(&detector), now + 100 * MS);
    assert_true(cv_detector_level(&detector, now) == 0);
    assert_true(cv_detector_level(&detector, now + 50 * MS) == 0.5);
    assert_true(cv_detector_level(&detector, now + 100 * MS) == 1);
}

static void irregular_beats_make_it_patient(void **state)
{
    struct cv_detector detector;
    uint64_t now = 0;
    (void)state;
    cv_detector_init(&detector, 100 * MS, 3000 * MS);
    for (int i = 0; i < 100; i++)
        cv_detector_heard(&detector, now += i % 2 ? 10 * MS : 190 * MS);
    /* mean 100, mean deviation 90: about 100 + 4 * 90 */
    const uint64_t patience = cv_detector_deadline(&detector) - now;
    assert_true(patience > 350 * MS && patience < 600 * MS);
}

static void patience_has_an_end(void **state)
{
    struct cv_detector detector;
    uint64_t now = 0;
    (void)state;
    cv_detector_init(&detector, 100 * MS, 300 * MS);
    for (int i = 0; i < 50; i++)
        cv_detector_heard(&detector, now += i % 2 ? 10 * MS : 5000 * MS);
    assert_int_equal(cv_detector_deadline(&detector), now + 300 * MS);
}

/* With a bound on delays, unknown but there, mistakes come to an end. */
static void mistakes_end(void **state)
{
    struct cv_detector detector;
    uint64_t now = 0, last_mistake = 0;
    (void)state;
    cv_detector_init(&detector, 50 * MS, 10000 * MS);
    for (int i = 0; i < 1000; i++) {
        const uint64_t silence = i % 25 == 24 ? 700 * MS : 20 * MS; /* a pause now and then */
        if (now + silence > cv_detector_deadline(&detector) && detector.begun) {
            cv_detector_suspect(&detector, cv_detector_deadline(&detector));
            cv_detector_trust(&detector, now += silence, true);
            last_mistake = (uint64_t)i;
        } else {
            cv_detector_heard(&detector, now += silence);
        }
    }
    assert_true(detector.mistakes > 0 && detector.mistakes < 12);
    assert_true(last_mistake < 500);
    assert_true(detector.mistaken_us > 0);
    assert_int_equal(detector.suspicions, detector.mistakes);
}

static void a_new_process_is_no_mistake(void **state)
{
    struct cv_detector detector;
    (void)state;
    cv_detector_init(&detector, 50 * MS, 1000 * MS);
    cv_detector_heard(&detector, 10 * MS);
    cv_detector_suspect(&detector, 60 * MS);
    cv_detector_trust(&detector, 500 * MS, false);
    assert_int_equal(detector.mistakes, 0);
    assert_int_equal(detector.suspected_at, 0);
    assert_int_equal(cv_detector_deadline(&detector), 550 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regular_beats_keep_it_quick), cmocka_unit_test(irregular_beats_make_it_patient),
        cmocka_unit_test(patience_has_an_end),         cmocka_unit_test(mistakes_end),
        cmocka_unit_test(a_new_process_is_no_mistake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
