// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/detector.h"
#include "core/random.h"

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

static void suspect_and_trust(struct cv_detector *detector, uint64_t *now, uint64_t silence, uint64_t hung)
{
    cv_detector_suspect(detector, cv_detector_deadline(detector));
    cv_detector_trust(detector, *now += silence, true, hung);
}

static uint64_t patience_of(const struct cv_detector *detector)
{
    return cv_detector_deadline(detector) - detector->last_us;
}

static void beats(struct cv_detector *detector, uint64_t *now, uint64_t until)
{
    while (*now + 20 * MS <= until)
        cv_detector_heard(detector, *now += 20 * MS);
}

/* Delays a little longer than the patience cost a mistake or two, and then no more. */
static void late_beats_are_learned_from(void **state)
{
    struct cv_detector detector;
    uint64_t now = 0;
    (void)state;
    cv_detector_init(&detector, 300 * MS, 3000 * MS);
    for (int i = 0; i < 100; i++) {
        beats(&detector, &now, now + 1000 * MS);
        if (now + 600 * MS > cv_detector_deadline(&detector))
            suspect_and_trust(&detector, &now, 600 * MS, 0);
        else
            cv_detector_heard(&detector, now += 600 * MS);
    }
    /* Each step lasts a quarter of a minute: in 160 s there are six or seven mistakes instead of 100. */
    assert_in_range(detector.mistakes, 2, 14);
    assert_int_equal(detector.suspicions, detector.mistakes);
    assert_int_equal(detector.outages, 0);
    assert_true(detector.mistaken_us > 0);
}

static void an_outage_teaches_nothing(void **state)
{
    struct cv_detector detector;
    uint64_t now = 0;
    (void)state;
    cv_detector_init(&detector, 300 * MS, 3000 * MS);
    for (int i = 0; i < 20; i++) {
        beats(&detector, &now, now + 500 * MS);
        suspect_and_trust(&detector, &now, 901 * MS, 0);        /* cut off */
        suspect_and_trust(&detector, &now, 600 * MS, 300 * MS); /* stopped, for half of the silence */
        assert_int_equal(patience_of(&detector), 300 * MS);
    }
    assert_int_equal(detector.mistakes, 0);
    assert_int_equal(detector.outages, 40);
    suspect_and_trust(&detector, &now, 600 * MS, 299 * MS);
    suspect_and_trust(&detector, &now, 900 * MS, 0);
    assert_int_equal(detector.mistakes, 2);
}

/* After twenty mistakes in a row and a minute without one, the detector is as patient as before. */
static void a_minute_of_peace_forgets(void **state)
{
    struct cv_detector detector;
    uint64_t now = 0;
    (void)state;
    cv_detector_init(&detector, 300 * MS, 3000 * MS);
    for (int i = 0; i < 20; i++)
        suspect_and_trust(&detector, &now, 700 * MS, 0);
    assert_int_equal(detector.mistakes, 20);
    assert_int_equal(patience_of(&detector), 675 * MS); /* never so patient that a failover takes a second */
    beats(&detector, &now, now + 60000 * MS);
    assert_int_equal(patience_of(&detector), 300 * MS);
}

/* The expected patience, counted millisecond by millisecond. */
struct model {
    uint64_t least_ms, most_ms, last_ms;
    uint32_t steps, peace_ms, mistakes, outages;
};

static uint64_t model_patience(const struct model *model)
{
    static const uint64_t quarters[] = {4, 6, 9}; /* 1, 1.5, 2.25 */
    const uint64_t wanted = model->least_ms * quarters[model->steps] / 4;
    return wanted < model->most_ms ? wanted : model->most_ms;
}

static void model_time_passes(struct model *model, uint64_t ms)
{
    while (ms-- > 0)
        if (++model->peace_ms == 15000 && model->steps > 0) {
            model->steps--;
            model->peace_ms = 0;
        }
}

static void model_trust(struct model *model, uint64_t silence_ms, uint64_t hung_ms, uint64_t patience_ms)
{
    if (2 * hung_ms >= silence_ms || silence_ms > 3 * patience_ms) {
        model->outages++;
    } else {
        model->mistakes++;
        model->steps = model->steps == 2 ? 2 : model->steps + 1;
        model->peace_ms = 0;
    }
}

static void it_is_what_the_model_says(void **state)
{
    struct cv_random random;
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        cv_random_seed(&random, seed, 7);
        const uint64_t least = 100 + cv_random_below(&random, 400);
        struct model model = {.least_ms = 4 * least, .most_ms = 4 * least + cv_random_below(&random, 5 * least)};
        struct cv_detector detector;
        uint64_t now = 1000;
        cv_detector_init(&detector, model.least_ms * MS, model.most_ms * MS);
        cv_detector_heard(&detector, now * MS);
        for (int i = 0; i < 200; i++) {
            const uint64_t patience = model_patience(&model);
            const bool fault = cv_random_below(&random, 4) == 0;
            const uint64_t silence = fault ? patience + 1 + cv_random_below(&random, 3 * patience) : 50;
            const uint64_t beats_ms = 50 * (1 + cv_random_below(&random, 200));
            assert_int_equal(patience_of(&detector), patience * MS);
            model_time_passes(&model, silence);
            now += silence;
            if (fault) {
                const uint64_t hung = cv_random_below(&random, 2) ? cv_random_below(&random, silence) : 0;
                cv_detector_suspect(&detector, (now - silence + patience) * MS);
                cv_detector_trust(&detector, now * MS, true, hung * MS);
                model_trust(&model, silence, hung, patience);
            } else {
                cv_detector_heard(&detector, now * MS);
            }
            for (uint64_t beat = 0; beat < beats_ms; beat += 50)
                cv_detector_heard(&detector, (now += 50) * MS);
            model_time_passes(&model, beats_ms);
        }
        assert_int_equal(detector.mistakes, model.mistakes);
        assert_int_equal(detector.outages, model.outages);
    }
}

static void a_new_process_is_no_mistake(void **state)
{
    struct cv_detector detector;
    (void)state;
    cv_detector_init(&detector, 50 * MS, 1000 * MS);
    cv_detector_heard(&detector, 10 * MS);
    cv_detector_suspect(&detector, 60 * MS);
    cv_detector_trust(&detector, 500 * MS, false, 0);
    assert_int_equal(detector.mistakes, 0);
    assert_int_equal(detector.suspected_at, 0);
    assert_int_equal(cv_detector_deadline(&detector), 550 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regular_beats_keep_it_quick), cmocka_unit_test(irregular_beats_make_it_patient),
        cmocka_unit_test(patience_has_an_end),         cmocka_unit_test(late_beats_are_learned_from),
        cmocka_unit_test(an_outage_teaches_nothing),   cmocka_unit_test(a_minute_of_peace_forgets),
        cmocka_unit_test(it_is_what_the_model_says),   cmocka_unit_test(a_new_process_is_no_mistake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
