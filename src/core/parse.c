// SPDX-License-Identifier: MIT
#include "core/parse.h"

#include <string.h>

#include "core/printable.h"

struct cv_text cv_text(const char *string)
{
    return (struct cv_text){string, strlen(string)};
}

bool cv_text_is(struct cv_text text, const char *word)
{
    return strlen(word) == text.length && memcmp(text.start, word, text.length) == 0;
}

bool cv_text_split(struct cv_text text, char separator, struct cv_text *before, struct cv_text *after)
{
    const char *found = text.length ? memchr(text.start, separator, text.length) : NULL;
    if (!found)
        return false;
    const size_t length = (size_t)(found - text.start);
    *before = (struct cv_text){text.start, length};
    *after = (struct cv_text){found + 1, text.length - length - 1};
    return true;
}

bool cv_text_take(struct cv_text *text, char separator, struct cv_text *piece)
{
    struct cv_text rest;
    if (!text->start)
        return false;
    if (cv_text_split(*text, separator, piece, &rest)) {
        *text = rest;
    } else {
        *piece = *text;
        text->start = NULL;
    }
    return true;
}

bool cv_text_range(struct cv_text text, struct cv_text *low, struct cv_text *high)
{
    for (size_t i = 0; i + 1 < text.length; i++)
        if (text.start[i] == '.' && text.start[i + 1] == '.') {
            *low = (struct cv_text){text.start, i};
            *high = (struct cv_text){text.start + i + 2, text.length - i - 2};
            return true;
        }
    return false;
}

struct cv_brief cv_brief(const char *value)
{
    return cv_brief_text(cv_text(value));
}

struct cv_brief cv_brief_text(struct cv_text value)
{
    struct cv_brief brief;
    cv_show(brief.text, sizeof brief.text, value);
    return brief;
}

bool cv_parse_number(struct cv_text text, uint64_t largest, uint64_t *number)
{
    const uint64_t tens = largest / 10, ones = largest % 10;
    uint64_t value = 0;
    for (size_t i = 0; i < text.length; i++) {
        const unsigned digit = (unsigned)(text.start[i] - '0');
        if (digit > 9 || value > tens || (value == tens && digit > ones))
            return false;
        value = value * 10 + digit;
    }
    *number = value;
    return text.length > 0;
}

bool cv_parse_probability(struct cv_text text, uint64_t *p_32)
{
    struct cv_text whole = text, fraction = {0};
    uint64_t units = 0, digits = 0, scale = 1;
    cv_text_split(text, '.', &whole, &fraction);
    if (!cv_parse_number(whole, 1, &units) && !(whole.length == 0 && fraction.length))
        return false;
    if (fraction.length > 9 || (fraction.length && !cv_parse_number(fraction, 999999999, &digits)))
        return false;
    if (fraction.start && !fraction.length)
        return false;
    for (size_t i = 0; i < fraction.length; i++)
        scale *= 10;
    *p_32 = (units << 32) + (digits << 32) / scale;
    return *p_32 <= 1ull << 32;
}
