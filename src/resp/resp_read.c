// SPDX-License-Identifier: MIT
#include <string.h>
#include <strings.h>

#include "resp/resp_read.h"

#define TOO_MANY_WORDS "invalid multibulk length: expected at most 32 words"
#define TOO_BIG "too big a request: expected at most 16384 bytes"
_Static_assert(CV_RESP_WORDS == 32 && CV_RESP_COMMAND_BYTES == 16384, "as the texts say");

/* Reads a line's text, without its CR LF. Returns its length with them, or CV_RESP_MORE. */
static long read_line(const char *bytes, size_t length, struct cv_text *line)
{
    const char *end = memchr(bytes, '\n', length);
    if (!end)
        return CV_RESP_MORE;
    *line = (struct cv_text){bytes, (size_t)(end - bytes)};
    if (line->length && line->start[line->length - 1] == '\r')
        line->length--;
    return end - bytes + 1;
}

/*
 * Reads the number in a line such as `:12\r\n`, whose first byte says the kind. A number is broken as soon as it is too
 * long, or if it is not written in the one way numbers are written.
 */
static long read_number(const char *bytes, size_t length, int64_t *number)
{
    size_t at = 1;
    const bool negative = at < length && bytes[at] == '-';
    at += negative;
    const size_t first = at;
    int64_t value = 0;
    for (; at < length && bytes[at] >= '0' && bytes[at] <= '9'; at++) {
        const int64_t digit = bytes[at] - '0';
        if (value > INT64_MAX / 10 || (value == INT64_MAX / 10 && digit > INT64_MAX % 10))
            return CV_RESP_BROKEN;
        value = value * 10 + digit;
    }
    const bool odd = at - first > 1 && bytes[first] == '0';
    if (odd || (at < length && (at == first || bytes[at] != '\r')) || (at + 1 < length && bytes[at + 1] != '\n'))
        return CV_RESP_BROKEN;
    if (at + 1 >= length)
        return CV_RESP_MORE;
    *number = negative ? -value : value;
    return (long)at + 2;
}

/* ---- commands ---- */

static long broken(struct cv_resp_command *command, const char *wrong)
{
    command->wrong = wrong;
    return CV_RESP_BROKEN;
}

/* Reads words typed by hand, separated by spaces. */
static long read_inline(const char *bytes, size_t length, struct cv_resp_command *command)
{
    struct cv_text line;
    const long taken = read_line(bytes, length < CV_RESP_COMMAND_BYTES ? length : CV_RESP_COMMAND_BYTES, &line);
    if (taken == CV_RESP_MORE)
        return length < CV_RESP_COMMAND_BYTES ? CV_RESP_MORE : broken(command, "too big inline request");
    while (line.length) {
        struct cv_text word = line;
        if (!cv_text_take(&line, ' ', &word))
            break;
        if (!word.length)
            continue;
        if (command->count == CV_RESP_WORDS)
            return broken(command, TOO_MANY_WORDS);
        command->word[command->count++] = word;
    }
    return taken;
}

/* Reads one `$length\r\nbytes\r\n` of a command. */
static long read_word(const char *bytes, size_t length, struct cv_resp_command *command, struct cv_text *word)
{
    int64_t size;
    if (!length)
        return CV_RESP_MORE;
    if (*bytes != '$')
        return broken(command, "expected '$' before every word");
    const long header = read_number(bytes, length, &size);
    if (header == CV_RESP_MORE)
        return CV_RESP_MORE;
    if (header == CV_RESP_BROKEN || size < 0)
        return broken(command, "invalid bulk length");
    if (size > (int64_t)CV_RESP_COMMAND_BYTES)
        return broken(command, TOO_BIG);
    *word = (struct cv_text){bytes + header, (size_t)size};
    const size_t whole = (size_t)header + (size_t)size + 2;
    if (length < whole)
        return CV_RESP_MORE;
    if (memcmp(bytes + whole - 2, "\r\n", 2) != 0)
        return broken(command, "a word is longer than its length says");
    return (long)whole;
}

static long read_words(const char *bytes, size_t length, struct cv_resp_command *command)
{
    int64_t count;
    long taken = read_number(bytes, length, &count);
    if (taken == CV_RESP_MORE)
        return CV_RESP_MORE;
    if (taken == CV_RESP_BROKEN)
        return broken(command, "invalid multibulk length");
    if (count > (int64_t)CV_RESP_WORDS)
        return broken(command, TOO_MANY_WORDS);
    for (; command->count < count; command->count++) {
        const long word = read_word(bytes + taken, length - (size_t)taken, command, &command->word[command->count]);
        if (word == CV_RESP_BROKEN)
            return CV_RESP_BROKEN;
        if (word == CV_RESP_MORE)
            return length < CV_RESP_COMMAND_BYTES ? CV_RESP_MORE : broken(command, TOO_BIG);
        taken += word;
        if (taken > (long)CV_RESP_COMMAND_BYTES)
            return broken(command, TOO_BIG);
    }
    return taken;
}

long cv_resp_read_command(const char *bytes, size_t length, struct cv_resp_command *command)
{
    command->count = 0;
    command->wrong = NULL;
    command->by_hand = length && *bytes != '*';
    if (!length)
        return CV_RESP_MORE;
    return *bytes == '*' ? read_words(bytes, length, command) : read_inline(bytes, length, command);
}

bool cv_resp_is_http(const struct cv_resp_command *command)
{
    static const char *const words[] = {"GET",   "POST",    "PUT",   "HEAD", "DELETE", "OPTIONS",
                                        "PATCH", "CONNECT", "TRACE", "PRI",  "Host:"};
    for (size_t i = 0; command->by_hand && command->count && i < sizeof words / sizeof *words; i++)
        if (cv_resp_is(command->word[0], words[i]))
            return true;
    return false;
}

bool cv_resp_is(struct cv_text word, const char *name)
{
    return strlen(name) == word.length && strncasecmp(word.start, name, word.length) == 0;
}

/* ---- replies ---- */

static long read_bulk(const char *bytes, size_t length, struct cv_resp_item *item)
{
    const long header = read_number(bytes, length, &item->number);
    if (header <= 0)
        return header;
    if (item->number == -1) {
        item->kind = CV_RESP_NIL;
        return header;
    }
    if (item->number < 0 || item->number > INT32_MAX)
        return CV_RESP_BROKEN;
    const size_t whole = (size_t)header + (size_t)item->number + 2;
    if (length < whole)
        return CV_RESP_MORE;
    item->text = (struct cv_text){bytes + header, (size_t)item->number};
    return memcmp(bytes + whole - 2, "\r\n", 2) == 0 ? (long)whole : CV_RESP_BROKEN;
}

static long read_count(const char *bytes, size_t length, struct cv_resp_item *item)
{
    const long header = read_number(bytes, length, &item->number);
    if (header <= 0)
        return header;
    if (item->number == -1 && item->kind == CV_RESP_ARRAY)
        item->kind = CV_RESP_NIL;
    else if (item->number < 0 || item->number > CV_RESP_ITEMS)
        return CV_RESP_BROKEN;
    return header;
}

static long read_truth(const char *bytes, size_t length, struct cv_resp_item *item)
{
    const long taken = read_line(bytes, length, &item->text);
    if (taken == CV_RESP_MORE)
        return length < 4 ? CV_RESP_MORE : CV_RESP_BROKEN;
    item->number = item->text.length == 2 && item->text.start[1] == 't';
    return item->text.length == 2 && (item->number || item->text.start[1] == 'f') ? taken : CV_RESP_BROKEN;
}

static long read_text(const char *bytes, size_t length, struct cv_resp_item *item)
{
    const long taken = read_line(bytes, length, &item->text);
    if (taken > 0) {
        item->text.start++;
        item->text.length--;
    }
    return taken;
}

long cv_resp_read_item(const char *bytes, size_t length, struct cv_resp_item *item)
{
    if (!length)
        return CV_RESP_MORE;
    *item = (struct cv_resp_item){.kind = (enum cv_resp_kind) * bytes};
    switch (item->kind) {
    case CV_RESP_STATUS:
    case CV_RESP_ERROR:
    case CV_RESP_DOUBLE:
        return read_text(bytes, length, item);
    case CV_RESP_INTEGER:
        return read_number(bytes, length, &item->number);
    case CV_RESP_BULK:
        return read_bulk(bytes, length, item);
    case CV_RESP_TRUTH:
        return read_truth(bytes, length, item);
    case CV_RESP_ARRAY:
    case CV_RESP_MAP:
    case CV_RESP_SET:
    case CV_RESP_PUSH:
        return read_count(bytes, length, item);
    case CV_RESP_NIL:
        if (memcmp(bytes, "_\r\n", length < 3 ? length : 3) != 0)
            return CV_RESP_BROKEN;
        return length < 3 ? CV_RESP_MORE : 3;
    }
    return CV_RESP_BROKEN;
}

/* How many items belong to this one. */
static uint64_t items_within(const struct cv_resp_item *item)
{
    switch (item->kind) {
    case CV_RESP_MAP:
        return 2 * (uint64_t)item->number;
    case CV_RESP_ARRAY:
    case CV_RESP_SET:
    case CV_RESP_PUSH:
        return (uint64_t)item->number;
    default:
        return 0;
    }
}

long cv_resp_scan(struct cv_resp_scan *scan, const char *bytes, size_t length)
{
    if (!scan->at)
        scan->missing = 1;
    while (scan->missing) {
        struct cv_resp_item item;
        const long taken = cv_resp_read_item(bytes + scan->at, length - scan->at, &item);
        if (taken <= 0)
            return taken;
        scan->at += (size_t)taken;
        scan->missing += items_within(&item) - 1;
        if (scan->missing > (uint64_t)CV_RESP_ITEMS)
            return CV_RESP_BROKEN;
    }
    return (long)scan->at;
}

bool cv_resp_next(struct cv_text *reply, struct cv_resp_item *item)
{
    const long taken = cv_resp_read_item(reply->start, reply->length, item);
    if (taken <= 0)
        return false;
    reply->start += taken;
    reply->length -= (size_t)taken;
    return true;
}

bool cv_resp_skip(struct cv_text *reply)
{
    struct cv_resp_scan scan = {0};
    const long taken = cv_resp_scan(&scan, reply->start, reply->length);
    if (taken <= 0)
        return false;
    reply->start += taken;
    reply->length -= (size_t)taken;
    return true;
}
