// SPDX-License-Identifier: MIT
#include "show/json.h"

#include <assert.h>
#include <math.h>

#include "core/printable.h"

static void write_text(FILE *out, const char *text)
{
    struct cv_text rest = cv_text(text);
    putc('"', out);
    while (rest.length) {
        char piece[CV_JSON_PIECE_BYTES];
        size_t taken = cv_json_plain(rest);
        if (taken) {
            fwrite(rest.start, 1, taken, out);
        } else {
            taken = cv_json_piece(rest, piece);
            fputs(piece, out);
        }
        rest.start += taken;
        rest.length -= taken;
    }
    putc('"', out);
}

static void begin_value(struct cv_json *json, const char *key)
{
    if (json->filled[json->depth])
        putc(',', json->out);
    json->filled[json->depth] = true;
    if (key) {
        write_text(json->out, key);
        putc(':', json->out);
    }
}

void cv_json_open(struct cv_json *json, const char *key, char bracket)
{
    assert(json->depth + 1 < CV_JSON_DEPTH);
    begin_value(json, key);
    putc(bracket, json->out);
    json->filled[++json->depth] = false;
}

void cv_json_close(struct cv_json *json, char bracket)
{
    assert(json->depth > 0);
    putc(bracket, json->out);
    json->depth--;
}

void cv_json_text(struct cv_json *json, const char *key, const char *text)
{
    begin_value(json, key);
    if (text)
        write_text(json->out, text);
    else
        fputs("null", json->out);
}

/* Faster than printf: there may be ten million of them. */
static void write_number(FILE *out, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    fwrite_unlocked(digits + at, 1, sizeof digits - at, out);
}

void cv_json_count(struct cv_json *json, const char *key, uint64_t number)
{
    begin_value(json, key);
    write_number(json->out, number);
}

void cv_json_real(struct cv_json *json, const char *key, double number)
{
    begin_value(json, key);
    if (isfinite(number))
        fprintf(json->out, "%.15g", number);
    else
        fputs("null", json->out);
}

void cv_json_truth(struct cv_json *json, const char *key, bool truth)
{
    begin_value(json, key);
    fputs(truth ? "true" : "false", json->out);
}

void cv_json_null(struct cv_json *json, const char *key)
{
    cv_json_text(json, key, NULL);
}

void cv_json_numbered(struct cv_json *json, uint64_t key, bool known, uint64_t number)
{
    begin_value(json, NULL);
    putc_unlocked('"', json->out);
    write_number(json->out, key);
    putc_unlocked('"', json->out);
    putc_unlocked(':', json->out);
    if (known)
        write_number(json->out, number);
    else
        fputs("null", json->out);
}

void cv_json_numbers(struct cv_json *json, const char *key, const uint32_t *numbers, uint64_t count)
{
    cv_json_open(json, key, '[');
    for (uint64_t i = 0; i < count; i++)
        cv_json_count(json, NULL, numbers[i]);
    cv_json_close(json, ']');
}
