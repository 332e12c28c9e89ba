// SPDX-License-Identifier: MIT
#include "explore/json_reader.h"

#include <stdlib.h>
#include <string.h>

#define MOST_DEPTH 16u

struct json_reader {
    const char *at;
    uint32_t depth;
    bool failed;
};

static void skip_space(struct json_reader *reader)
{
    reader->at += strspn(reader->at, " \t\r\n");
}

static bool take(struct json_reader *reader, char wanted)
{
    skip_space(reader);
    if (*reader->at != wanted)
        return false;
    reader->at++;
    return true;
}

static void expect(struct json_reader *reader, char wanted)
{
    if (!take(reader, wanted))
        reader->failed = true;
}

static void take_word(struct json_reader *reader, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(reader->at, word, length) == 0)
        reader->at += length;
    else
        reader->failed = true;
}

/* ---- texts ---- */

static uint32_t read_hex(struct json_reader *reader)
{
    uint32_t code = 0;
    for (int i = 0; i < 4; i++) {
        const char c = *reader->at;
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) {
            reader->failed = true;
            return 0;
        }
        code = code * 16 + (uint32_t)digit;
        reader->at++;
    }
    return code;
}

static char *write_utf8(char *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

/* \uXXXX, or a pair of them for what lies beyond. A zero would end the text, so there is none. */
static char *read_code(struct json_reader *reader, char *out)
{
    uint32_t code = read_hex(reader);
    if (code >= 0xd800 && code < 0xdc00 && strncmp(reader->at, "\\u", 2) == 0) {
        reader->at += 2;
        code = 0x10000 + ((code - 0xd800) << 10) + ((read_hex(reader) - 0xdc00) & 0x3ff);
    }
    reader->failed |= !code;
    return write_utf8(out, code);
}

static char *read_escape(struct json_reader *reader, char *out)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char c = *reader->at;
    const char *known = c ? strchr(letters, c) : NULL;
    if (c)
        reader->at++;
    if (c == 'u')
        return read_code(reader, out);
    if (known)
        *out++ = meanings[known - letters];
    else
        reader->failed = true;
    return out;
}

static char *read_text(struct json_reader *reader)
{
    expect(reader, '"');
    const char *end = reader->at;
    while (*end && *end != '"')
        end += end[0] == '\\' && end[1] ? 2 : 1;
    char *text = reader->failed ? NULL : malloc((size_t)(end - reader->at) + 1), *out = text;
    if (!text) {
        reader->failed = true;
        return NULL;
    }
    while (*reader->at && *reader->at != '"' && !reader->failed) {
        const char c = *reader->at++;
        if (c == '\\')
            out = read_escape(reader, out);
        else
            *out++ = c;
    }
    *out = '\0';
    expect(reader, '"');
    return text;
}

/* ---- values ---- */

static struct json_value *read_value(struct json_reader *reader);

static void read_values(struct json_reader *reader, struct json_value *value, char end)
{
    struct json_value **last = &value->first;
    reader->at++;
    if (take(reader, end))
        return;
    do {
        char *key = NULL;
        skip_space(reader);
        if (value->type == JSON_OBJECT) {
            key = read_text(reader);
            expect(reader, ':');
        }
        *last = reader->failed ? NULL : read_value(reader);
        if (!*last) {
            free(key);
            return;
        }
        (*last)->key = key;
        last = &(*last)->after;
    } while (take(reader, ','));
    expect(reader, end);
}

static void read_number(struct json_reader *reader, struct json_value *value)
{
    if (*reader->at < '0' || *reader->at > '9')
        reader->failed = true;
    while (*reader->at >= '0' && *reader->at <= '9') {
        const uint64_t digit = (uint64_t)(*reader->at++ - '0');
        if (value->number > (UINT64_MAX - digit) / 10)
            reader->failed = true;
        value->number = value->number * 10 + digit;
    }
}

static struct json_value *read_value(struct json_reader *reader)
{
    struct json_value *value = calloc(1, sizeof *value);
    skip_space(reader);
    if (!value || ++reader->depth > MOST_DEPTH) {
        reader->failed = true;
        free(value);
        return NULL;
    }
    switch (*reader->at) {
    case '{':
        value->type = JSON_OBJECT;
        read_values(reader, value, '}');
        break;
    case '[':
        value->type = JSON_LIST;
        read_values(reader, value, ']');
        break;
    case '"':
        value->type = JSON_TEXT;
        value->text = read_text(reader);
        break;
    case 't':
        value->type = JSON_TRUTH;
        value->number = 1;
        take_word(reader, "true");
        break;
    case 'f':
        value->type = JSON_TRUTH;
        take_word(reader, "false");
        break;
    case 'n':
        take_word(reader, "null");
        break;
    default:
        value->type = JSON_NUMBER;
        read_number(reader, value);
        break;
    }
    reader->depth--;
    return value;
}

struct json_value *json_read(const char *text)
{
    struct json_reader reader = {.at = text};
    struct json_value *value = read_value(&reader);
    skip_space(&reader);
    if (!reader.failed && !*reader.at)
        return value;
    json_free(value);
    return NULL;
}

void json_free(struct json_value *value)
{
    for (struct json_value *after; value; value = after) {
        after = value->after;
        json_free(value->first);
        free(value->text);
        free(value->key);
        free(value);
    }
}

const struct json_value *json_get(const struct json_value *object, const char *key)
{
    const struct json_value *value = object && object->type == JSON_OBJECT ? object->first : NULL;
    while (value && strcmp(value->key, key) != 0)
        value = value->after;
    return value;
}

uint64_t json_number(const struct json_value *object, const char *key, uint64_t fallback)
{
    const struct json_value *value = json_get(object, key);
    return value && (value->type == JSON_NUMBER || value->type == JSON_TRUTH) ? value->number : fallback;
}

const char *json_text(const struct json_value *object, const char *key)
{
    const struct json_value *value = json_get(object, key);
    return value && value->type == JSON_TEXT ? value->text : NULL;
}

size_t json_count(const struct json_value *list)
{
    size_t count = 0;
    for (const struct json_value *value = list ? list->first : NULL; value; value = value->after)
        count++;
    return count;
}

bool json_add_text(struct json_value *list, const char *key, const char *text)
{
    struct json_value **last = &list->first, *value = calloc(1, sizeof *value);
    while (*last)
        last = &(*last)->after;
    if (!value)
        return false;
    value->type = JSON_TEXT;
    value->text = strdup(text);
    value->key = key ? strdup(key) : NULL;
    *last = value;
    return value->text && (!key || value->key);
}
