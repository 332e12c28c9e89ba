// SPDX-License-Identifier: MIT
#include "core/formula/formula.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

/* The names in the formulas below. "ecc" begins with "e"; there is no name "nE". */
static const struct {
    const char *name;
    double value;
} known[] = {{"n", 10},  {"δ", 3}, {"q", 4},  {"ρ", 2.5}, {"E", 15},      {"h", 2},    {"r", 5},       {"e", 7},
             {"ecc", 6}, {"w", 1}, {"Σ", 11}, {"n₁", 20}, {"minutes", 9}, {"zero", 0}, {"big", 1e300}, {"m", 8}};

static bool lookup(void *context, const char *name, size_t length, double *value)
{
    (void)context;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && memcmp(known[i].name, name, length) == 0) {
            *value = known[i].value;
            return true;
        }
    return false;
}

static const struct cv_formula_names names = {lookup, NULL};

static void expect(const char *text, double value)
{
    struct cv_complaint complaint = {""};
    double got = NAN;
    if (cv_formula_evaluate(text, &names, &got, &complaint) != 0)
        fail_msg("%s", complaint.text);
    if (got != value)
        fail_msg("%s is %.17g, not %.17g", text, got, value);
}

static void expect_complaint(const char *text, const char *words)
{
    struct cv_complaint complaint = {""};
    double got = 42;
    assert_int_equal(cv_formula_evaluate(text, &names, &got, &complaint), CV_EINPUT);
    assert_string_equal(complaint.text, words);
    assert_true(got == 42);
}

static void the_textbooks_formulas(void **state)
{
    (void)state;
    expect("2n + δ", 23);
    expect("n(n+1)/2 + n", 65);
    expect("q² + n − 2", 24);
    expect("2n·ρ", 50);
    expect("4E − (n − 1)", 51);
    expect("2n⌊log₂ n⌋ + n", 70);
    expect("n·H(n)", 10 * (1 / 10. + 1 / 9. + 1 / 8. + 1 / 7. + 1 / 6. + 1 / 5. + 1 / 4. + 1 / 3. + 1 / 2. + 1));
    expect("(2h+3)(n−1)", 63);
    expect("max(1, r−1)(n−1)", 36);
    expect("n(n−1)²/2", 405);
    expect("3ecc + w", 19);
}

static void order_of_operations(void **state)
{
    (void)state;
    expect("  7  ", 7);
    expect("1 + 2 * 3", 7);
    expect("10 - 4 - 3", 3);
    expect("24 / 4 / 2", 3);
    expect("1/2n", 5);
    expect("2 × 3 ⋅ 4 · 5", 120);
    expect("-n²", -100);
    expect("−−n", 10);
    expect("3·−2", -6);
    expect("2^3^2", 512);
    expect("2^-1", 0.5);
    expect("2n³", 2000);
    expect("2^n²", pow(2, 100));
    expect("(n)(n)", 100);
    expect("2 n\tδ", 60);
    expect("1.25 + 0.1", 1.25 + 0.1);
    expect("⌊7/2⌋⌈7/2⌉", 12);
    expect("⌊−1/2⌋", -1);
}

static void the_longest_known_name_is_taken(void **state)
{
    (void)state;
    expect("nE", 150);
    expect("ecc", 6);
    expect("en", 70);
    expect("nδn", 300);
    expect("2Σ", 22);
    expect("n₁n", 200);
    expect("minutes", 9);
    expect("mmin(n, 2)m", 128);
}

static void functions(void **state)
{
    (void)state;
    expect("log2(8)", 3);
    expect("log₂8", 3);
    expect("nlog₂ n²", 10 * log2(100));
    expect("log₂(8)²", 9);
    expect("√16 + sqrt(9)", 7);
    expect("√(n−1)n", 30);
    expect("√√16", 2);
    expect("max(1, 7, 3) − min(2)", 5);
    expect("min(n, max(q, r))", 5);
    expect("H 3", 1 / 3. + 1 / 2. + 1);
    expect("H(0)", 0);
}

static void the_logarithm_is_exact_where_floors_need_it(void **state)
{
    (void)state;
    for (int exponent = 1; exponent <= 53; exponent++) {
        char text[80];
        const uint64_t power = UINT64_C(1) << exponent;
        snprintf(text, sizeof text, "log₂ %llu", (unsigned long long)power);
        expect(text, exponent);
        snprintf(text, sizeof text, "⌊log₂ %llu⌋", (unsigned long long)power - 1);
        expect(text, exponent - 1);
        if (exponent == 53)
            break;
        snprintf(text, sizeof text, "⌈log₂(%llu)⌉", (unsigned long long)power + 1);
        expect(text, exponent + 1);
    }
    expect("log₂ 0.25", -2);
    expect("⌊log₂ 0.3⌋", -2);
}

static void the_harmonic_number_is_smooth_where_its_method_changes(void **state)
{
    (void)state;
    struct cv_complaint complaint;
    double difference, far;
    assert_int_equal(cv_formula_evaluate("H(1001) − H(1000) − 1/1001", NULL, &difference, &complaint), 0);
    assert_true(fabs(difference) < 1e-14);
    assert_int_equal(cv_formula_evaluate("H(1000000)", NULL, &far, &complaint), 0);
    assert_true(fabs(far - 14.392726722865723631) < 1e-14);
}

static void complaints_name_the_place(void **state)
{
    (void)state;
    expect_complaint("2δ + xyz", "unknown name 'xyz' at character 6 of formula '2δ + xyz'");
    expect_complaint("nxe", "unknown name 'xe' at character 2 of formula 'nxe'");
    expect_complaint("", "a value is missing at character 1 of formula ''");
    expect_complaint("2n +", "a value is missing at character 5 of formula '2n +'");
    expect_complaint("δ·)", "a value is missing at character 3 of formula 'δ·)'");
    expect_complaint("(n + 1", "a closing bracket is missing at character 7 of formula '(n + 1'");
    expect_complaint("⌊n⌉", "a closing bracket is missing at character 3 of formula '⌊n⌉'");
    expect_complaint("n + 1)", "unexpected ')' at character 6 of formula 'n + 1)'");
    expect_complaint("10 000", "unexpected '0' at character 4 of formula '10 000'");
    expect_complaint("n²³", "unexpected '³' at character 3 of formula 'n²³'");
    expect_complaint("n / zero", "division by zero at character 5 of formula 'n / zero'");
    expect_complaint("log₂(1, 2)", "a closing bracket is missing at character 7 of formula 'log₂(1, 2)'");
    expect_complaint("max 3", "a '(' is missing at character 5 of formula 'max 3'");
    expect_complaint("log₂(n−n)", "the logarithm needs a number above 0 at character 5 of formula 'log₂(n−n)'");
    expect_complaint("√−1", "a value is missing at character 2 of formula '√−1'");
    expect_complaint("√(−1)", "the root needs a number of at least 0 at character 2 of formula '√(−1)'");
    expect_complaint("H(ρ)", "H needs a whole number of at least 0 at character 2 of formula 'H(ρ)'");
    expect_complaint("big big", "the value is not finite at character 1 of formula 'big big'");
    expect_complaint("max(big·big − big·big, 1)",
                     "the value is not finite at character 5 of formula 'max(big·big − big·big, 1)'");
    expect_complaint("(−8)^(1/3)", "the value is not finite at character 1 of formula '(−8)^(1/3)'");
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    char text[100001];
    struct cv_complaint complaint;
    double value;
    memset(text, '(', 100000);
    text[100000] = '\0';
    assert_int_equal(cv_formula_evaluate(text, NULL, &value, &complaint), CV_EINPUT);
    assert_non_null(strstr(complaint.text, "too deep a nesting at character 65 of"));
    memset(text, '-', 100000);
    text[99999] = '3';
    assert_int_equal(cv_formula_evaluate(text, NULL, &value, &complaint), 0);
    assert_true(value == -3);
    for (size_t i = 0; i < 99999; i += 3)
        memcpy(text + i, "√", 3);
    assert_int_equal(cv_formula_evaluate(text, NULL, &value, &complaint), CV_EINPUT);
}

/* Every text over a small alphabet has a value or a complaint. */
static void no_text_is_too_odd(void **state)
{
    (void)state;
    static const char *const pieces[] = {"n", "E", "2", "(",   ")", "+", "−",    "/",    "^",    "²",    "⌊",
                                         "⌋", "√", "H", "max", ",", " ", "log₂", "\xe2", "\x80", "\xff", "."};
    const size_t count = sizeof pieces / sizeof *pieces;
    for (size_t i = 0; i < count * count * count * count; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s%s%s%s", pieces[i % count], pieces[i / count % count],
                 pieces[i / count / count % count], pieces[i / count / count / count]);
        struct cv_complaint complaint = {""};
        double value = NAN;
        const int error = cv_formula_evaluate(text, &names, &value, &complaint);
        assert_true(error ? error == CV_EINPUT && complaint.text[0] : isfinite(value));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_textbooks_formulas),
        cmocka_unit_test(order_of_operations),
        cmocka_unit_test(the_longest_known_name_is_taken),
        cmocka_unit_test(functions),
        cmocka_unit_test(the_logarithm_is_exact_where_floors_need_it),
        cmocka_unit_test(the_harmonic_number_is_smooth_where_its_method_changes),
        cmocka_unit_test(complaints_name_the_place),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(no_text_is_too_odd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
