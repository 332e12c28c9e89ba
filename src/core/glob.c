// SPDX-License-Identifier: MIT
#include "core/glob.h"

#include <string.h>

/* The end of the set that begins at `at`, after its `]`; 0 if it has none. The first byte of a set is never its end. */
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

/* One byte of a set, without its backslash. */
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

/* Does an element that is neither star nor set fit this byte? */
static bool is_one(struct cv_text pattern, size_t at, unsigned char byte)
{
    if (pattern.start[at] == '?')
        return true;
    if (pattern.start[at] == '\\' && ++at == pattern.length)
        return false;
    return (unsigned char)pattern.start[at] == byte;
}

/* Does the pattern's next element, which is no star, fit this byte? `at` moves past it. */
static bool fits(struct cv_text pattern, size_t *at, unsigned char byte)
{
    const size_t from = *at;
    const size_t end = pattern.start[from] == '[' ? set_end(pattern, from) : 0;
    *at = end ? end : from + (pattern.start[from] == '\\' ? 2 : 1);
    return end ? in_set(pattern, from, end, byte) : is_one(pattern, from, byte);
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

/* ---- prepared ---- */

static void mark(struct cv_glob_places *places, size_t place)
{
    places->word[place / 64] |= (uint64_t)1 << place % 64;
}

bool cv_glob_prepare(struct cv_glob_prepared *prepared, struct cv_text pattern)
{
    if (pattern.length > CV_GLOB_BYTES)
        return false;
    memset(prepared, 0, sizeof *prepared);
    bool open_end = false; /* a set is never closed, so no later set is closed either */
    for (size_t at = 0, next; at < pattern.length; at = next) {
        next = at + 1;
        if (pattern.start[at] == '*') {
            mark(&prepared->stays, prepared->elements);
            continue;
        }
        const bool set = pattern.start[at] == '[' && !open_end;
        const size_t end = set ? set_end(pattern, at) : 0;
        open_end |= set && !end;
        if (end)
            next = end;
        else if (pattern.start[at] == '\\')
            next = at + 2;
        for (unsigned byte = 0; byte < 256; byte++)
            if (end ? in_set(pattern, at, end, (unsigned char)byte) : is_one(pattern, at, (unsigned char)byte))
                mark(&prepared->fits[byte], prepared->elements);
        prepared->elements++;
    }
    prepared->words = prepared->elements / 64 + 1;
    return true;
}

bool cv_glob_fits(const struct cv_glob_prepared *prepared, struct cv_text name)
{
    struct cv_glob_places reached = {.word = {1}};
    const size_t last = prepared->elements;
    for (size_t i = 0; i < name.length; i++) {
        const struct cv_glob_places *fitting = &prepared->fits[(unsigned char)name.start[i]];
        uint64_t carried = 0, any = 0;
        for (size_t word = 0; word < prepared->words; word++) {
            const uint64_t forward = reached.word[word] & fitting->word[word];
            reached.word[word] = forward << 1 | carried | (reached.word[word] & prepared->stays.word[word]);
            carried = forward >> 63;
            any |= reached.word[word];
        }
        if (!any)
            return false;
    }
    return reached.word[last / 64] >> last % 64 & 1;
}
