// SPDX-License-Identifier: MIT
/* Leases by example; tests/agreed_views.c plays random stories of them. */
#include "group/lease.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define L 300000u /* a lease, in microseconds; clocks may be 1 % wrong */

static const struct cv_lease_terms terms = {L, 10000};

static void lasts_from_what_a_majority_was_asked(void **state)
{
    struct cv_lease lease;
    (void)state;
    cv_lease_init(&lease, &terms, cv_set_first(3));
    assert_int_equal(cv_lease_end(&lease), 0);
    cv_lease_granted(&lease, 0, 1000, L);
    assert_int_equal(cv_lease_end(&lease), 0); /* one of three */
    cv_lease_granted(&lease, 2, 900, L);
    assert_int_equal(cv_lease_end(&lease), 900 + L * 99 / 100); /* two have granted what was asked at 900 */
    cv_lease_granted(&lease, 2, 2000, L);
    assert_int_equal(cv_lease_end(&lease), 1000 + L * 99 / 100);
    cv_lease_granted(&lease, 1, 3000, L);
    assert_int_equal(cv_lease_end(&lease), 2000 + L * 99 / 100);
    cv_lease_granted(&lease, 1, 500, L); /* an old answer that comes late */
    assert_int_equal(cv_lease_end(&lease), 2000 + L * 99 / 100);
}

static void counts_voters_alone(void **state)
{
    struct cv_lease lease;
    (void)state;
    cv_lease_init(&lease, &terms, cv_set_of(0) | cv_set_of(2) | cv_set_of(5) | cv_set_of(6));
    cv_lease_granted(&lease, 0, 1000, L);
    cv_lease_granted(&lease, 1, 1000, L);
    cv_lease_granted(&lease, 2, 1000, L);
    assert_int_equal(cv_lease_end(&lease), 0); /* two of four */
    cv_lease_granted(&lease, 6, 1000, L);
    assert_int_equal(cv_lease_end(&lease), 1000 + L * 99 / 100);
}

static void is_granted_to_members_of_the_last_entry(void **state)
{
    struct cv_grants grants;
    (void)state;
    cv_grants_init(&grants, &terms);
    assert_false(cv_grants_ask(&grants, 1, 5, terms, 1000)); /* it knows no entry */
    cv_grants_learn(&grants, 5, cv_set_first(3));
    assert_true(cv_grants_ask(&grants, 1, 5, terms, 1000));
    assert_false(cv_grants_ask(&grants, 3, 5, terms, 1000)); /* not in it */
    assert_false(cv_grants_ask(&grants, 1, 4, terms, 1000)); /* of a view before the first it knows */
    assert_false(cv_grants_ask(&grants, 1, 6, terms, 1000)); /* of one it does not know yet */
    cv_grants_learn(&grants, 7, cv_set_first(3));
    assert_true(cv_grants_ask(&grants, 1, 5, terms, 2000)); /* the view of 7 has yet to begin there */
}

static void is_not_granted_to_who_was_left_out(void **state)
{
    struct cv_grants grants;
    (void)state;
    cv_grants_init(&grants, &terms);
    cv_grants_learn(&grants, 5, cv_set_first(3));
    assert_true(cv_grants_ask(&grants, 2, 5, terms, 1000));
    cv_grants_learn(&grants, 6, cv_set_first(2));
    assert_false(cv_grants_ask(&grants, 2, 5, terms, 2000));
    cv_grants_learn(&grants, 7, cv_set_first(3));
    assert_false(cv_grants_ask(&grants, 2, 5, terms, 3000)); /* it is back, but still in the view of before */
    assert_true(cv_grants_ask(&grants, 2, 7, terms, 4000));
}

static void tells_what_is_left(void **state)
{
    struct cv_grants grants;
    const cv_set two = cv_set_of(2), one = cv_set_of(1);
    (void)state;
    cv_grants_init(&grants, &terms);
    cv_grants_learn(&grants, 5, cv_set_first(3));
    assert_int_equal(cv_grants_left(&grants, two, 1000), 0);
    cv_grants_ask(&grants, 2, 5, terms, 1000);
    cv_grants_ask(&grants, 1, 5, terms, 3000);
    assert_int_equal(cv_grants_left(&grants, two, 1000), L * 101 / 100);
    assert_int_equal(cv_grants_left(&grants, two, 51000), L * 101 / 100 - 50000);
    assert_int_equal(cv_grants_left(&grants, two | one, 51000), L * 101 / 100 - 48000);
    cv_grants_learn(&grants, 6, cv_set_first(1));
    assert_int_equal(cv_grants_left(&grants, two, 51000), L * 101 / 100 - 50000); /* the earlier grant stays */
    assert_int_equal(cv_grants_left(&grants, two, 400000), 0);
    cv_grants_forget(&grants, 1);
    assert_int_equal(cv_grants_left(&grants, one, 51000), 0);
}

/* The worst case: the member's clock is slow, the voter's is fast. */
static void ends_first_at_the_member(void **state)
{
    (void)state;
    const double member = (double)cv_lease_short(&terms, L) / 0.99, voter = (double)cv_lease_long(&terms, L) / 1.01;
    assert_true(member <= voter);
}

/* A voter does not rely on having the same terms as the member. */
static void is_counted_by_the_longer_terms(void **state)
{
    const struct cv_lease_terms longer = {10 * L, 10000}, shorter = {L / 2, 20000};
    struct cv_grants grants;
    (void)state;
    cv_grants_init(&grants, &terms);
    cv_grants_learn(&grants, 5, cv_set_first(3));
    assert_true(cv_grants_ask(&grants, 1, 5, longer, 1000));
    assert_int_equal(cv_grants_left(&grants, cv_set_of(1), 1000), 10 * L * 101 / 100);
    assert_true(cv_grants_ask(&grants, 1, 5, terms, 2000)); /* it takes no grant back */
    assert_int_equal(cv_grants_left(&grants, cv_set_of(1), 2000), 10 * L * 101 / 100 - 1000);
    assert_true(cv_grants_ask(&grants, 2, 5, shorter, 1000));
    assert_int_equal(cv_grants_left(&grants, cv_set_of(2), 1000), L * 102 / 100);
}

/* New terms do not make an earlier grant longer. */
static void lasts_as_long_as_it_was_asked_for(void **state)
{
    struct cv_lease lease;
    (void)state;
    cv_lease_init(&lease, &terms, cv_set_first(1));
    cv_lease_granted(&lease, 0, 1000, L);
    lease.terms.length_us = 10 * L;
    assert_int_equal(cv_lease_end(&lease), 1000 + L * 99 / 100);
    cv_lease_granted(&lease, 0, 2000, 10 * L);
    assert_int_equal(cv_lease_end(&lease), 2000 + 10 * L * 99 / 100);
    cv_lease_granted(&lease, 0, 3000, L);
    assert_int_equal(cv_lease_end(&lease), 2000 + 10 * L * 99 / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lasts_from_what_a_majority_was_asked),
        cmocka_unit_test(counts_voters_alone),
        cmocka_unit_test(is_granted_to_members_of_the_last_entry),
        cmocka_unit_test(is_not_granted_to_who_was_left_out),
        cmocka_unit_test(tells_what_is_left),
        cmocka_unit_test(ends_first_at_the_member),
        cmocka_unit_test(is_counted_by_the_longer_terms),
        cmocka_unit_test(lasts_as_long_as_it_was_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
