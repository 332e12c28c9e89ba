// SPDX-License-Identifier: MIT
/*
 * RESP: everything that is written is read again, whole or byte by byte. Broken input is refused at once, and never
 * read beyond its end.
 */
#include "resp/resp_read.h"
#include "resp/resp_write.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"

/* A copy that ends with the bytes, so that a sanitizer sees a read beyond its end. */
static char *exactly(const char *bytes, size_t length)
{
    char *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, length);
    return copy;
}

static long read_exactly(const char *bytes, size_t length, struct cv_resp_command *command, char **copy)
{
    *copy = exactly(bytes, length);
    return cv_resp_read_command(*copy, length, command);
}

static void expect_words(const char *bytes, size_t taken, size_t count, const char *const *words)
{
    struct cv_resp_command command;
    char *copy;
    const size_t length = strlen(bytes);
    for (size_t part = 0; part < taken; part++) {
        assert_int_equal(read_exactly(bytes, part, &command, &copy), CV_RESP_MORE);
        free(copy);
    }
    assert_int_equal(read_exactly(bytes, length, &command, &copy), taken);
    assert_int_equal(command.count, count);
    for (size_t i = 0; i < count; i++)
        assert_true(cv_text_is(command.word[i], words[i]));
    free(copy);
}

static void expect_broken(const char *bytes, const char *why)
{
    struct cv_resp_command command;
    char *copy;
    assert_int_equal(read_exactly(bytes, strlen(bytes), &command, &copy), CV_RESP_BROKEN);
    assert_non_null(strstr(command.wrong, why));
    free(copy);
}

static void commands_are_read(void **state)
{
    (void)state;
    expect_words("*1\r\n$4\r\nPING\r\n", 14, 1, (const char *[]){"PING"});
    expect_words("*2\r\n$4\r\nLOCK\r\n$1\r\na\r\n*1\r\n", 21, 2, (const char *[]){"LOCK", "a"});
    expect_words("*2\r\n$0\r\n\r\n$2\r\n\r\n\r\n", 18, 2, (const char *[]){"", "\r\n"});
    expect_words("PING\r\nPING\r\n", 6, 1, (const char *[]){"PING"});
    expect_words("  LOCK  a   WAIT 0 \n", 20, 4, (const char *[]){"LOCK", "a", "WAIT", "0"});
    expect_words("\r\nPING\r\n", 2, 0, NULL);
    expect_words("*0\r\nPING\r\n", 4, 0, NULL);
    expect_words("*-1\r\nPING\r\n", 5, 0, NULL);
}

static void broken_commands_are_told(void **state)
{
    (void)state;
    expect_broken("*x", "multibulk");
    expect_broken("*1x", "multibulk");
    expect_broken("*\r", "multibulk");
    expect_broken("*01", "multibulk");
    expect_broken("*+1", "multibulk");
    expect_broken("*1\rx", "multibulk");
    expect_broken("*33\r\n", "at most 32 words");
    expect_broken("*99999999999999999999", "multibulk");
    expect_broken("*1\r\n:1\r\n", "'$'");
    expect_broken("*1\r\nPING\r\n", "'$'");
    expect_broken("*1\r\n$-1\r\n", "bulk length");
    expect_broken("*1\r\n$x", "bulk length");
    expect_broken("*1\r\n$16385\r\n", "at most 16384 bytes");
    expect_broken("*1\r\n$4\r\nPINGPONG", "longer");
    expect_broken("*1\r\n$4\r\nPING\rx", "longer");
    expect_broken("a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a\n", "words");
}

/* No command may keep a connection's buffer full for ever. */
static void commands_are_bounded(void **state)
{
    (void)state;
    struct cv_resp_command command;
    char bytes[CV_RESP_COMMAND_BYTES + 1];
    memset(bytes, 'x', sizeof bytes);
    assert_int_equal(cv_resp_read_command(bytes, sizeof bytes - 2, &command), CV_RESP_MORE);
    assert_int_equal(cv_resp_read_command(bytes, sizeof bytes - 1, &command), CV_RESP_BROKEN);
    bytes[CV_RESP_COMMAND_BYTES - 1] = '\n';
    assert_int_equal(cv_resp_read_command(bytes, sizeof bytes - 1, &command), CV_RESP_COMMAND_BYTES);
    /* *1 $16370 and 16370 bytes are 16384 with their frame; one byte more is too much. */
    for (int size = 16369; size <= 16371; size++) {
        memset(bytes, 'x', sizeof bytes);
        const int header = snprintf(bytes, sizeof bytes, "*1\r\n$%d\r\n", size);
        const size_t whole = (size_t)header + (size_t)size + 2;
        bytes[header] = 'x';
        if (whole <= sizeof bytes)
            bytes[whole - 2] = '\r', bytes[whole - 1] = '\n';
        const size_t arrived = whole < sizeof bytes ? whole : sizeof bytes;
        assert_int_equal(cv_resp_read_command(bytes, arrived, &command),
                         whole <= CV_RESP_COMMAND_BYTES ? (long)whole : CV_RESP_BROKEN);
        assert_int_equal(cv_resp_read_command(bytes, arrived - 2, &command),
                         arrived - 2 < CV_RESP_COMMAND_BYTES ? CV_RESP_MORE : CV_RESP_BROKEN);
    }
}

static void words_are_compared_in_any_case(void **state)
{
    (void)state;
    assert_true(cv_resp_is(cv_text("lOcK"), "LOCK"));
    assert_false(cv_resp_is(cv_text("LOC"), "LOCK"));
    assert_false(cv_resp_is(cv_text("LOCKS"), "LOCK"));
    assert_false(cv_resp_is(cv_text("LOCX"), "LOCK"));
}

/* Commands of any words, written one after the other, are read one by one. */
static void written_commands_are_read(void **state)
{
    (void)state;
    struct cv_random random;
    cv_random_seed(&random, 1, 0);
    for (int round = 0; round < 300; round++) {
        char words[CV_RESP_WORDS][64];
        size_t lengths[CV_RESP_WORDS];
        const size_t count = 1 + cv_random_below(&random, CV_RESP_WORDS);
        struct cv_resp_writer writer;
        cv_resp_begin(&writer, CV_RESP_COMMAND_BYTES);
        cv_resp_array(&writer, count);
        for (size_t i = 0; i < count; i++) {
            lengths[i] = cv_random_below(&random, sizeof words[i]);
            for (size_t j = 0; j < lengths[i]; j++)
                words[i][j] = (char)cv_random_below(&random, 256);
            cv_resp_bulk(&writer, (struct cv_text){words[i], lengths[i]});
        }
        assert_false(writer.full);
        const size_t whole = writer.length;
        cv_resp_word(&writer, "the next");
        struct cv_resp_command command;
        for (size_t part = 0; part < whole; part++)
            assert_int_equal(cv_resp_read_command(writer.bytes, part, &command), CV_RESP_MORE);
        assert_int_equal(cv_resp_read_command(writer.bytes, writer.length, &command), whole);
        assert_int_equal(command.count, count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(command.word[i].length, lengths[i]);
            assert_memory_equal(command.word[i].start, words[i], lengths[i]);
        }
        cv_resp_end(&writer);
    }
}

/* ---- replies ---- */

struct told {
    char text[512];
    size_t length;
};

static void add(struct told *told, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    told->length += (size_t)vsnprintf(told->text + told->length, sizeof told->text - told->length, format, arguments);
    va_end(arguments);
    assert_true(told->length < sizeof told->text);
}

/* An item as text, its items in brackets. */
static void tell(struct cv_text *reply, struct told *told)
{
    struct cv_resp_item item;
    assert_true(cv_resp_next(reply, &item));
    int64_t within = item.number;
    switch (item.kind) {
    case CV_RESP_NIL:
        add(told, "nil ");
        return;
    case CV_RESP_INTEGER:
    case CV_RESP_TRUTH:
        add(told, "%c%" PRId64 " ", item.kind, item.number);
        return;
    case CV_RESP_MAP:
        within *= 2;
        break;
    case CV_RESP_ARRAY:
    case CV_RESP_SET:
    case CV_RESP_PUSH:
        break;
    default:
        add(told, "%c%.*s ", item.kind, (int)item.text.length, item.text.start);
        return;
    }
    add(told, "%c[ ", item.kind);
    for (int64_t i = 0; i < within; i++)
        tell(reply, told);
    add(told, "] ");
}

static void expect_reply(const char *bytes, const char *expected)
{
    const size_t length = strlen(bytes);
    struct cv_resp_scan patient = {0};
    for (size_t part = 0; part < length; part++) {
        struct cv_resp_scan fresh = {0};
        char *copy = exactly(bytes, part);
        assert_int_equal(cv_resp_scan(&fresh, copy, part), CV_RESP_MORE);
        assert_int_equal(cv_resp_scan(&patient, copy, part), CV_RESP_MORE);
        free(copy);
    }
    assert_int_equal(cv_resp_scan(&patient, bytes, length), length);
    struct cv_text reply = {bytes, length}, again = reply;
    struct told told = {0};
    tell(&reply, &told);
    assert_int_equal(reply.length, 0);
    assert_string_equal(told.text, expected);
    assert_true(cv_resp_skip(&again));
    assert_int_equal(again.length, 0);
    assert_false(cv_resp_skip(&again));
}

static void replies_are_read(void **state)
{
    (void)state;
    expect_reply("+OK\r\n", "+OK ");
    expect_reply("-ERR no\r\n", "-ERR no ");
    expect_reply(":9223372036854775807\r\n", ":9223372036854775807 ");
    expect_reply(":-5\r\n", ":-5 ");
    expect_reply("$2\r\nhi\r\n", "$hi ");
    expect_reply("$0\r\n\r\n", "$ ");
    expect_reply("$-1\r\n", "nil ");
    expect_reply("*-1\r\n", "nil ");
    expect_reply("_\r\n", "nil ");
    expect_reply("#t\r\n", "#1 ");
    expect_reply("#f\r\n", "#0 ");
    expect_reply(",1.5\r\n", ",1.5 ");
    expect_reply("*0\r\n", "*[ ] ");
    expect_reply(">3\r\n$4\r\nlost\r\n$1\r\na\r\n:7\r\n", ">[ $lost $a :7 ] ");
    expect_reply("*2\r\n%1\r\n+a\r\n*1\r\n:1\r\n~1\r\n_\r\n", "*[ %[ +a *[ :1 ] ] ~[ nil ] ] ");
}

static void broken_replies_are_told(void **state)
{
    (void)state;
    static const char *const broken[] = {"x",
                                         ":x",
                                         ":1x",
                                         ":\r\n",
                                         "$-2\r\n",
                                         "$1\r\nabc",
                                         "#x\r\n",
                                         "#true",
                                         "_x\r\n",
                                         "%-1\r\n",
                                         "*-2\r\n",
                                         "*99999999\r\n",
                                         "$3000000000\r\n",
                                         ":9223372036854775808\r\n",
                                         "*1\r\n?",
                                         "*16777216\r\n*16777216\r\n"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct cv_resp_scan scan = {0};
        char *copy = exactly(broken[i], strlen(broken[i]));
        assert_int_equal(cv_resp_scan(&scan, copy, strlen(broken[i])), CV_RESP_BROKEN);
        free(copy);
    }
}

/* Random bytes, and good ones with a few changed: the readers never read beyond the end. */
static void random_bytes_do_no_harm(void **state)
{
    (void)state;
    static const char letters[] = "*$:+-_%>#~,0123456789\r\n\r\nx ";
    struct cv_random random;
    cv_random_seed(&random, 2, 0);
    for (int round = 0; round < 100000; round++) {
        char bytes[48];
        const size_t length = cv_random_below(&random, sizeof bytes);
        for (size_t i = 0; i < length; i++)
            bytes[i] = letters[cv_random_below(&random, sizeof letters - 1)];
        char *copy = exactly(bytes, length);
        struct cv_resp_command command;
        struct cv_resp_scan scan = {0};
        const long taken = cv_resp_read_command(copy, length, &command);
        assert_true(taken >= CV_RESP_BROKEN && taken <= (long)length);
        assert_true((taken == CV_RESP_BROKEN) == (command.wrong != NULL));
        for (size_t i = 0; taken > 0 && i < command.count; i++)
            assert_true(command.word[i].start >= copy &&
                        command.word[i].start + command.word[i].length <= copy + taken);
        const long reply = cv_resp_scan(&scan, copy, length);
        assert_true(reply >= CV_RESP_BROKEN && reply <= (long)length);
        free(copy);
    }
}

/* ---- writing ---- */

static void both_protocols_are_written(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "$-1\r\n*2\r\n+OK\r\n-ERR a b\r\n*3\r\n:-9223372036854775808\r\n$2\r\nhi\r\n$0\r\n\r\n*4\r\n:0\r\n",
        "_\r\n%1\r\n+OK\r\n-ERR a b\r\n>3\r\n:-9223372036854775808\r\n$2\r\nhi\r\n$0\r\n\r\n*4\r\n:0\r\n"};
    for (uint32_t protocol = 2; protocol <= 3; protocol++) {
        struct cv_resp_writer writer;
        cv_resp_begin(&writer, 4096);
        writer.protocol = protocol;
        cv_resp_nil(&writer);
        cv_resp_map(&writer, 1);
        cv_resp_status(&writer, "OK");
        cv_resp_error(&writer, "ERR %s", "a\nb");
        cv_resp_push(&writer, 3);
        cv_resp_integer(&writer, INT64_MIN);
        cv_resp_word(&writer, "hi");
        cv_resp_bulk(&writer, (struct cv_text){NULL, 0});
        cv_resp_array(&writer, 4);
        cv_resp_integer(&writer, 0);
        assert_int_equal(writer.length, strlen(expected[protocol - 2]));
        assert_memory_equal(writer.bytes, expected[protocol - 2], writer.length);
        cv_resp_sent(&writer, 3);
        assert_memory_equal(writer.bytes, expected[protocol - 2] + 3, writer.length);
        cv_resp_sent(&writer, writer.length);
        assert_int_equal(writer.length, 0);
        cv_resp_end(&writer);
    }
}

static void a_full_writer_says_so_and_stays_so(void **state)
{
    (void)state;
    static const char long_name[2000] = "";
    struct cv_resp_writer writer;
    cv_resp_begin(&writer, 3000);
    cv_resp_bulk(&writer, (struct cv_text){long_name, sizeof long_name});
    const size_t before = writer.length;
    assert_false(writer.full);
    cv_resp_bulk(&writer, (struct cv_text){long_name, sizeof long_name});
    assert_true(writer.full);
    cv_resp_integer(&writer, 1); /* it would fit, but answer the wrong command */
    assert_int_equal(writer.length, before);
    assert_true(writer.capacity <= 3000);
    cv_resp_end(&writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_read),          cmocka_unit_test(broken_commands_are_told),
        cmocka_unit_test(commands_are_bounded),       cmocka_unit_test(words_are_compared_in_any_case),
        cmocka_unit_test(written_commands_are_read),  cmocka_unit_test(replies_are_read),
        cmocka_unit_test(broken_replies_are_told),    cmocka_unit_test(random_bytes_do_no_harm),
        cmocka_unit_test(both_protocols_are_written), cmocka_unit_test(a_full_writer_says_so_and_stays_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
