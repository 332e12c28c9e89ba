// SPDX-License-Identifier: MIT
/* Patterns of names: they match as those of fnmatch(3), but never take long. */
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/glob.h"
#include "core/random.h"

/* Both ways, which must agree. */
static bool matches(struct cv_text pattern, struct cv_text name)
{
    static struct cv_glob_prepared prepared;
    const bool once = cv_glob(pattern, name);
    assert_true(cv_glob_prepare(&prepared, pattern));
    if (cv_glob_fits(&prepared, name) != once)
        fail_msg("'%.*s' and '%.*s': prepared it is another", (int)pattern.length, pattern.start, (int)name.length,
                 name.start);
    return once;
}

/* The last places of the longest patterns, where words of bits begin and end. */
static void test_long(void **state)
{
    (void)state;
    char pattern[CV_GLOB_BYTES + 1], name[CV_GLOB_BYTES + 1];
    struct cv_glob_prepared *prepared = malloc(sizeof *prepared);
    memset(pattern, 'a', sizeof pattern);
    memset(name, 'a', sizeof name);
    for (size_t length = 0; length <= CV_GLOB_BYTES; length++)
        for (size_t more = 0; more < 2 && length + more <= CV_GLOB_BYTES; more++) {
            assert_true(matches((struct cv_text){pattern, length}, (struct cv_text){name, length + more}) == !more);
            assert_true(matches((struct cv_text){pattern, length + more}, (struct cv_text){name, length}) == !more);
        }
    assert_false(cv_glob_prepare(prepared, (struct cv_text){pattern, CV_GLOB_BYTES + 1}));
    free(prepared);
}

static void test_table(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *name;
        bool fits;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"**", "abc", true},
        {"a*c", "abbc", true},
        {"a*c", "abbd", false},
        {"*a*b*", "xxaxxbxx", true},
        {"?", "", false},
        {"?", "a", true},
        {"[abc]", "b", true},
        {"[a-c]x", "cx", true},
        {"[!a-c]", "b", false},
        {"[^a-c]", "d", true},
        {"[]a]", "]", true},
        {"[a", "[a", true},
        {"[a-]", "-", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"[\\]]", "]", true},
        {"a\\", "a", false},
        {"build-*", "build-", true},
        {"build-*", "build", false},
        {"[z-a]", "m", false},
        {"*[", "x[", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (matches(cv_text(cases[i].pattern), cv_text(cases[i].name)) != cases[i].fits)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].name);
}

/* Short patterns of few characters, so that many of them match. Sets are closed, ranges have two ends. */
static void make_pattern(struct cv_random *random, char *to)
{
    static const char *const parts[] = {"a",    "b",     "c",      "*",   "?",  "[ab]",
                                        "[!a]", "[a-b]", "[b-c]c", "\\a", "**", "[]a]"};
    *to = '\0';
    for (uint64_t left = cv_random_below(random, 7); left--;)
        strcat(to, parts[cv_random_below(random, sizeof parts / sizeof *parts)]);
}

static void test_as_fnmatch(void **state)
{
    (void)state;
    struct cv_random random;
    cv_random_seed(&random, 1, 1);
    uint32_t fitting = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        char pattern[64], name[16];
        make_pattern(&random, pattern);
        const uint64_t length = cv_random_below(&random, 9);
        for (uint64_t j = 0; j < length; j++)
            name[j] = "abc]"[cv_random_below(&random, 4)];
        name[length] = '\0';
        const bool expected = fnmatch(pattern, name, 0) == 0;
        if (matches(cv_text(pattern), cv_text(name)) != expected)
            fail_msg("'%s' and '%s': expected %d", pattern, name, expected);
        fitting += expected;
    }
    assert_true(fitting > 4000);
}

/* A matcher that tries every star again would take years for each of these. */
static void test_never_slow(void **state)
{
    (void)state;
    char name[CV_GLOB_BYTES], pattern[CV_GLOB_BYTES + 1];
    memset(name, 'a', sizeof name);
    for (size_t i = 0; i < CV_GLOB_BYTES; i++)
        pattern[i] = i % 2 ? 'a' : '*';
    pattern[CV_GLOB_BYTES - 1] = 'b';
    const clock_t begun = clock();
    for (int i = 0; i < 100; i++) {
        assert_false(cv_glob((struct cv_text){pattern, CV_GLOB_BYTES}, (struct cv_text){name, sizeof name}));
        assert_false(cv_glob(cv_text("*[cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc]b"),
                             (struct cv_text){name, sizeof name}));
    }
    assert_true(clock() - begun < 5 * CLOCKS_PER_SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_as_fnmatch),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_never_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
