// SPDX-License-Identifier: MIT
/* Alarms against a list that is searched from end to end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/alarm.h"
#include "core/random.h"

#define COUNT 50

struct bell {
    struct cv_alarm alarm;
    uint64_t due; /* as the naive list has it; 0: not set */
    uint64_t rung;
};

static uint64_t time_now;

static void ring(struct cv_alarm *alarm)
{
    struct bell *bell = (struct bell *)(void *)alarm;
    assert_true(bell->due && bell->due <= time_now);
    bell->due = 0;
    bell->rung++;
}

static uint64_t naive_next(const struct bell *bells)
{
    uint64_t next = UINT64_MAX;
    for (int i = 0; i < COUNT; i++)
        if (bells[i].due && bells[i].due < next)
            next = bells[i].due;
    return next;
}

static void rings_what_is_due(void **state)
{
    struct cv_alarms alarms = {0};
    struct bell bells[COUNT] = {0};
    struct cv_random random;
    (void)state;
    cv_random_seed(&random, 1, 1);
    assert_int_equal(cv_alarms_reserve(&alarms, COUNT), 0);
    for (int i = 0; i < COUNT; i++)
        bells[i].alarm.ring = ring;
    for (int step = 0; step < 20000; step++) {
        struct bell *bell = &bells[cv_random_below(&random, COUNT)];
        switch (cv_random_below(&random, 4)) {
        case 0:
            cv_alarm_cancel(&alarms, &bell->alarm);
            bell->due = 0;
            break;
        case 1:
            time_now += cv_random_below(&random, 10);
            cv_alarms_ring(&alarms, time_now);
            assert_true(naive_next(bells) > time_now);
            break;
        default:
            bell->due = time_now + 1 + cv_random_below(&random, 100);
            cv_alarm_set(&alarms, &bell->alarm, bell->due);
        }
        assert_int_equal(cv_alarms_next(&alarms), naive_next(bells));
    }
    uint64_t rung = 0;
    for (int i = 0; i < COUNT; i++)
        rung += bells[i].rung;
    assert_true(rung > 1000);
    cv_alarms_free(&alarms);
}

static struct cv_alarms nested;
static uint64_t chain;

static void ring_again(struct cv_alarm *alarm)
{
    if (++chain < 5)
        cv_alarm_set(&nested, alarm, 7);
}

static void an_alarm_may_set_itself_anew(void **state)
{
    struct cv_alarm alarm = {.ring = ring_again};
    (void)state;
    assert_int_equal(cv_alarms_reserve(&nested, 1), 0);
    cv_alarm_set(&nested, &alarm, 7);
    cv_alarms_ring(&nested, 6);
    assert_int_equal(chain, 0);
    cv_alarms_ring(&nested, 7);
    assert_int_equal(chain, 5);
    assert_int_equal(cv_alarms_next(&nested), UINT64_MAX);
    cv_alarms_free(&nested);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_what_is_due),
        cmocka_unit_test(an_alarm_may_set_itself_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
