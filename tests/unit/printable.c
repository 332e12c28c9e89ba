// SPDX-License-Identifier: MIT
/* Foreign text as it is shown: no control characters, and no two texts look the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/printable.h"
#include "core/random.h"

static void test_table(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"", ""},
        {"build-7", "build-7"},
        {"grün ✓ 東京", "grün ✓ 東京"},
        {"\033[2J", "\\x1b[2J"},
        {"a\r\nb", "a\\x0d\\x0ab"},
        {"\xff\xfe", "\\xff\\xfe"},
        {"\\xff", "\\\\xff"},
        {"\xc2\x9b"
         "2J",
         "\\u009b2J"},
        {"\x9b"
         "2J",
         "\\x9b2J"},
        {"a\xe2\x80\xae"
         "b",
         "a\\u202eb"},
        {"\xe2\x81\xa6", "\\u2066"},
        {"\xef\xbb\xbf", "\\ufeff"},
        {"\xc0\xaf", "\\xc0\\xaf"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"\xe2\x82", "\\xe2\\x82"},
        {"\x7f", "\\x7f"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char shown[64];
        assert_int_equal(cv_show(shown, sizeof shown, cv_text(cases[i].text)), strlen(cases[i].shown));
        assert_string_equal(shown, cases[i].shown);
    }
    char line[64];
    cv_show_line(line, sizeof line, cv_text("C:\\x \033"));
    assert_string_equal(line, "C:\\x \\x1b");
}

/* Reads it back. This must give the original, so no two texts look the same. */
static size_t undo(const char *shown, char *to)
{
    size_t used = 0;
    while (*shown) {
        unsigned value;
        if (shown[0] != '\\') {
            to[used++] = *shown++;
        } else if (shown[1] == '\\') {
            to[used++] = '\\';
            shown += 2;
        } else if (shown[1] == 'x') {
            value = (unsigned)strtoul((char[3]){shown[2], shown[3], 0}, NULL, 16);
            to[used++] = (char)value;
            shown += 4;
        } else {
            value = (unsigned)strtoul((char[5]){shown[2], shown[3], shown[4], shown[5], 0}, NULL, 16);
            if (value >= 0x800)
                to[used++] = (char)(0xe0 | value >> 12);
            to[used++] = (char)(value >= 0x800 ? 0x80 | (value >> 6 & 0x3f) : 0xc0 | value >> 6);
            to[used++] = (char)(0x80 | (value & 0x3f));
            shown += 6;
        }
    }
    return used;
}

static void test_any_bytes(void **state)
{
    (void)state;
    static const char parts[] = "\x1b\x9b\xe2\x80\xae\xc2\x85\xff\\xu0a\xf0\x9f\x98\x80\n\xed\xa0\xef\xbb\xbf";
    struct cv_random random;
    cv_random_seed(&random, 1, 1);
    for (uint32_t i = 0; i < 200000; i++) {
        char text[24], shown[256], back[256];
        const uint64_t length = cv_random_below(&random, sizeof text);
        for (uint64_t j = 0; j < length; j++)
            text[j] = cv_random_below(&random, 4) ? parts[cv_random_below(&random, sizeof parts - 1)]
                                                  : (char)cv_random_below(&random, 256);
        const size_t used = cv_show(shown, sizeof shown, (struct cv_text){text, length});
        assert_int_equal(used, strlen(shown));
        for (struct cv_text rest = {shown, used}; rest.length;) {
            uint32_t character;
            const size_t taken = cv_utf8_character(rest, &character);
            assert_true(taken && character >= 0x20 && (character < 0x7f || character >= 0xa0));
            assert_true(character < 0x2028 || character > 0x202e);
            rest = (struct cv_text){rest.start + taken, rest.length - taken};
        }
        assert_int_equal(undo(shown, back), length);
        assert_memory_equal(back, text, length);
    }
}

static void test_json(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"grün", "grün"},    {"a\"b\\c", "a\\\"b\\\\c"},  {"\033[2J\n", "\\u001b[2J\\u000a"},
        {"\xff", "\\\\xff"}, {"\xe2\x80\xae", "\\u202e"}, {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char shown[64] = "", piece[CV_JSON_PIECE_BYTES];
        for (struct cv_text rest = cv_text(cases[i].text); rest.length;) {
            const size_t taken = cv_json_piece(rest, piece);
            strcat(shown, piece);
            rest = (struct cv_text){rest.start + taken, rest.length - taken};
        }
        assert_string_equal(shown, cases[i].shown);
    }
}

static void test_without_room(void **state)
{
    (void)state;
    char shown[16];
    for (size_t room = 5; room <= sizeof shown; room++) {
        memset(shown, 'x', sizeof shown);
        const size_t used = cv_show(shown, room,
                                    cv_text("ab\033\xe2\x80\xae"
                                            "cdefghijklmnop"));
        assert_true(used < room && strlen(shown) == used);
        assert_string_equal(shown + used - 3, "…");
    }
    cv_show(shown, 5, cv_text("abcd"));
    assert_string_equal(shown, "abcd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_without_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
