// SPDX-License-Identifier: MIT
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp/resp_write.h"

#define FIRST_CAPACITY 1024u
#define KEPT_CAPACITY 16384u /* by writers that are empty */
#define NUMBER_BYTES 24u     /* a kind, a sign, nineteen digits, CR and LF */

bool cv_resp_pool_take(struct cv_resp_pool *pool, size_t bytes)
{
    if (!pool)
        return true;
    if (pool->used > pool->most || bytes > pool->most - pool->used)
        return false;
    pool->used += bytes;
    return true;
}

void cv_resp_pool_give(struct cv_resp_pool *pool, size_t bytes)
{
    assert(!pool || pool->used >= bytes);
    if (pool)
        pool->used -= bytes;
}

void cv_resp_begin(struct cv_resp_writer *writer, size_t most)
{
    *writer = (struct cv_resp_writer){.most = most, .protocol = 2};
}

void cv_resp_end(struct cv_resp_writer *writer)
{
    cv_resp_pool_give(writer->pool, writer->capacity);
    free(writer->bytes);
    *writer = (struct cv_resp_writer){0};
}

void cv_resp_sent(struct cv_resp_writer *writer, size_t count)
{
    assert(count <= writer->length);
    writer->length -= count;
    if (writer->length) {
        memmove(writer->bytes, writer->bytes + count, writer->length);
    } else if (writer->capacity > KEPT_CAPACITY) {
        cv_resp_pool_give(writer->pool, writer->capacity);
        free(writer->bytes);
        writer->bytes = NULL;
        writer->capacity = 0;
    }
}

static bool grow(struct cv_resp_writer *writer, size_t wanted)
{
    size_t capacity = writer->capacity ? writer->capacity : FIRST_CAPACITY;
    while (capacity < wanted)
        capacity *= 2;
    if (capacity > writer->most)
        capacity = writer->most;
    const size_t more = capacity - writer->capacity;
    if (wanted > capacity || !cv_resp_pool_take(writer->pool, more))
        return false;
    char *bytes = realloc(writer->bytes, capacity);
    if (!bytes) {
        cv_resp_pool_give(writer->pool, more);
        return false;
    }
    writer->bytes = bytes;
    writer->capacity = capacity;
    return true;
}

/* Makes room for so many bytes, which the caller fills and counts; NULL if there is none. */
static char *room_for(struct cv_resp_writer *writer, size_t count)
{
    if (writer->full)
        return NULL;
    if (count > writer->capacity - writer->length &&
        (count > writer->most - writer->length || !grow(writer, writer->length + count))) {
        writer->full = true;
        return NULL;
    }
    return writer->bytes + writer->length;
}

static char *put_line_end(char *at)
{
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

/* Writes a line of a kind and a number. Returns where the line ends. */
static char *put_number(char *at, char kind, int64_t number)
{
    char digits[NUMBER_BYTES];
    size_t first = sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        digits[--first] = (char)('0' + rest % 10);
    while (rest /= 10);
    *at++ = kind;
    if (number < 0)
        *at++ = '-';
    memcpy(at, digits + first, sizeof digits - first);
    return put_line_end(at + sizeof digits - first);
}

static void write_number(struct cv_resp_writer *writer, char kind, int64_t number)
{
    char *at = room_for(writer, NUMBER_BYTES);
    if (at)
        writer->length += (size_t)(put_number(at, kind, number) - at);
}

static void write_line(struct cv_resp_writer *writer, char kind, const char *text, size_t length)
{
    char *at = room_for(writer, length + 3);
    if (!at)
        return;
    *at++ = kind;
    for (size_t i = 0; i < length; i++)
        at[i] = text[i] == '\r' || text[i] == '\n' ? ' ' : text[i];
    put_line_end(at + length);
    writer->length += length + 3;
}

void cv_resp_status(struct cv_resp_writer *writer, const char *text)
{
    write_line(writer, '+', text, strlen(text));
}

void cv_resp_error(struct cv_resp_writer *writer, const char *format, ...)
{
    char text[1024]; /* a longer text is cut off; a name may be longer, and is shown only to be recognised */
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert(length >= 0);
    write_line(writer, '-', text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

void cv_resp_integer(struct cv_resp_writer *writer, int64_t number)
{
    write_number(writer, ':', number);
}

void cv_resp_bulk(struct cv_resp_writer *writer, struct cv_text text)
{
    char *at = room_for(writer, NUMBER_BYTES + text.length + 2);
    if (!at)
        return;
    char *body = put_number(at, '$', (int64_t)text.length);
    if (text.length)
        memcpy(body, text.start, text.length);
    put_line_end(body + text.length);
    writer->length += (size_t)(body - at) + text.length + 2;
}

void cv_resp_append(struct cv_resp_writer *writer, struct cv_text items)
{
    char *at = room_for(writer, items.length);
    if (!at)
        return;
    memcpy(at, items.start, items.length);
    writer->length += items.length;
}

void cv_resp_word(struct cv_resp_writer *writer, const char *text)
{
    cv_resp_bulk(writer, (struct cv_text){text, strlen(text)});
}

void cv_resp_nil(struct cv_resp_writer *writer)
{
    if (writer->protocol < 3)
        write_number(writer, '$', -1);
    else
        write_line(writer, '_', "", 0);
}

void cv_resp_array(struct cv_resp_writer *writer, size_t items)
{
    write_number(writer, '*', (int64_t)items);
}

void cv_resp_map(struct cv_resp_writer *writer, size_t pairs)
{
    if (writer->protocol < 3)
        write_number(writer, '*', 2 * (int64_t)pairs);
    else
        write_number(writer, '%', (int64_t)pairs);
}

void cv_resp_push(struct cv_resp_writer *writer, size_t items)
{
    write_number(writer, writer->protocol < 3 ? '*' : '>', (int64_t)items);
}
