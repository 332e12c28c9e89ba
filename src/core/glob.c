// SPDX-License-Identifier: MIT
#include "core/glob.h"

/* Where the set that begins at `at` ends: after its `]`; 0 if it has none. The first byte of a set is never its end. */
static size_t set_end(struct cv_text pattern, size_t at)
{
    at++;
    if (at < pattern.length && (pattern.start[at] == '!' || pattern.start[at] == '^'))
        at++;
    for (bool first = true; at < pattern.length; at++, first = false) {
        if (pattern.start[at] == ']' && !first)
            return at + 1;
        if (pattern.start[at] == '\\')
            at++;
    }
    return 0;
}

/* One byte of a set, its backslash taken away. */
static unsigned char next_of(struct cv_text pattern, size_t *at)
{
    if (pattern.start[*at] == '\\')
        ++*at;
    return (unsigned char)pattern.start[(*at)++];
}

static bool in_set(struct cv_text pattern, size_t at, size_t end, unsigned char byte)
{
    const bool inverted = pattern.start[++at] == '!' || pattern.start[at] == '^';
    bool found = false;
    at += inverted;
    while (at < end - 1) {
        const unsigned char low = next_of(pattern, &at);
        unsigned char high = low;
        if (at + 1 < end - 1 && pattern.start[at] == '-') {
            at++;
            high = next_of(pattern, &at);
        }
        found |= low <= byte && byte <= high;
    }
    return found != inverted;
}

/* Does the pattern's next element, which is no star, fit this byte? `at` moves past it. */
static bool fits(struct cv_text pattern, size_t *at, unsigned char byte)
{
    const size_t from = *at;
    const unsigned char sign = (unsigned char)pattern.start[from];
    const size_t end = sign == '[' ? set_end(pattern, from) : 0;
    *at = from + 1;
    if (sign == '?')
        return true;
    if (end) {
        *at = end;
        return in_set(pattern, from, end, byte);
    }
    if (sign != '\\')
        return sign == byte;
    *at = from + 2;
    return from + 1 < pattern.length && (unsigned char)pattern.start[from + 1] == byte;
}

bool cv_glob(struct cv_text pattern, struct cv_text name)
{
    size_t at = 0, star = 0, taken = 0; /* the last star's end, and how far into the name it goes */
    bool starred = false;
    for (size_t i = 0; i < name.length;) {
        if (at < pattern.length && pattern.start[at] == '*') {
            starred = true;
            star = ++at;
            taken = i;
        } else if (at < pattern.length && fits(pattern, &at, (unsigned char)name.start[i])) {
            i++;
        } else if (starred) {
            at = star;
            i = ++taken;
        } else {
            return false;
        }
    }
    while (at < pattern.length && pattern.start[at] == '*')
        at++;
    return at >= pattern.length;
}
