// SPDX-License-Identifier: MIT
/* Scripts of lock libraries, by their text; and SHA-1, by which clients name them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "service/redis_script.h"

/* The examples of FIPS 180, and the lengths at which the padding takes another block. */
static void test_sha1(void **state)
{
    (void)state;
    static char many[1000000];
    memset(many, 'a', sizeof many);
    assert_string_equal(cv_sha1(cv_text("abc")).hex, "a9993e364706816aba3e25717850c26c9cd0d89d");
    assert_string_equal(cv_sha1(cv_text("")).hex, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    assert_string_equal(cv_sha1(cv_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")).hex,
                        "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    assert_string_equal(cv_sha1((struct cv_text){many, sizeof many}).hex, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    assert_string_equal(cv_sha1((struct cv_text){many, 55}).hex, "c1c8bbdc22796e28c0e15163d20899b65621d65a");
    assert_string_equal(cv_sha1((struct cv_text){many, 56}).hex, "c2db330f6083854c99d4b5bfb6e8f29f201be699");
    assert_string_equal(cv_sha1((struct cv_text){many, 64}).hex, "0098ba824b5c16427bd7a1122a5a442a25ec644d");
}

static bool same(const char *one, const char *other)
{
    return strcmp(redis_script_hash(cv_text(one)).hex, redis_script_hash(cv_text(other)).hex) == 0;
}

static void test_normal_form(void **state)
{
    (void)state;
    assert_true(same("return redis.call('GET', KEYS[1])", "  return\n redis.call(\"get\",KEYS [ 1 ]) -- why\n"));
    assert_true(same("local a = 1; return a", "local a=1 return a"));
    assert_true(same("return 1", "--[[ long\n comment ]]return--x\n1"));
    assert_true(same("return 'a b'", "return \"a b\""));
    assert_false(same("return a b", "return ab"));
    assert_false(same("return 'a b'", "return 'ab'"));
    assert_false(same("return 'A'", "return 'a'"));
    assert_false(same("return '-- no comment'", "return ''"));
    assert_false(same("return a == b", "return a ~= b"));
    assert_false(same("", "return"));
    assert_true(same("return 'open", "return 'open"));
    assert_true(same("return 1 --", "return 1"));
    assert_true(same("--[[ without end", ""));
}

static void test_loaded_scripts(void **state)
{
    (void)state;
    static struct redis_scripts scripts;
    const struct cv_text release = cv_text("if redis.call(\"get\",KEYS[1]) == ARGV[1] then return "
                                           "redis.call(\"del\",KEYS[1]) else return 0 end");
    const struct redis_script *script = redis_script_of(release);
    assert_non_null(script);
    assert_int_equal(script->verb, REDIS_SCRIPT_RELEASE);
    assert_null(redis_script_of(cv_text("return 1")));
    const struct cv_sha1 name = redis_script_load(&scripts, release, script);
    assert_string_equal(name.hex, cv_sha1(release).hex);
    assert_ptr_equal(redis_script_find(&scripts, cv_text(name.hex)), script);
    assert_null(redis_script_find(&scripts, cv_text("")));
    assert_null(redis_script_find(&scripts, (struct cv_text){name.hex, 39}));
    char variant[256];
    for (size_t i = 1; i <= REDIS_SCRIPTS_LOADED; i++) {
        memcpy(variant, release.start, release.length);
        memset(variant + release.length, ' ', i);
        redis_script_load(&scripts, (struct cv_text){variant, release.length + i}, script);
    }
    assert_null(redis_script_find(&scripts, cv_text(name.hex)));
    assert_ptr_equal(redis_script_find(&scripts, cv_text(cv_sha1((struct cv_text){variant, release.length + 64}).hex)),
                     script);
}

/* A text of every length up to beyond the longest fits. */
static void test_long_scripts(void **state)
{
    (void)state;
    static char text[5000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "a \"'-;["[i * 2654435761u >> 7 & 7 ? i % 7 : 0];
    for (size_t length = 4000; length < sizeof text; length++)
        assert_null(redis_script_of((struct cv_text){text, length}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha1),
        cmocka_unit_test(test_normal_form),
        cmocka_unit_test(test_loaded_scripts),
        cmocka_unit_test(test_long_scripts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
