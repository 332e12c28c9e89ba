// SPDX-License-Identifier: MIT
#include "core/printable.h"

#include <assert.h>
#include <string.h>

#define LONGEST_PIECE 8u /* bytes of the longest character as it is shown, with a NUL */

static const char ellipsis[] = "…";

size_t cv_utf8_character(struct cv_text text, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* a smaller number has a shorter form */
    const unsigned char first = (unsigned char)*text.start;
    const size_t length = first < 0x80   ? 1
                          : first < 0xc0 ? 0
                          : first < 0xe0 ? 2
                          : first < 0xf0 ? 3
                          : first < 0xf8 ? 4
                                         : 0;
    if (!length || length > text.length)
        return 0;
    uint32_t value = length == 1 ? first : first & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        const unsigned char next = (unsigned char)text.start[i];
        if ((next & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (next & 0x3f);
    }
    if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *character = value;
    return length;
}

static bool is_harmless(uint32_t character)
{
    if (character < 0x20 || (character >= 0x7f && character < 0xa0))
        return false;
    return character != 0x061c && character != 0x200e && character != 0x200f &&
           !(character >= 0x2028 && character <= 0x202e) && !(character >= 0x2066 && character <= 0x2069) &&
           character != 0xfeff;
}

/* Writes "\x1b" or "\u202e", and a NUL. A name may have hundreds of such bytes. */
static void escape(char *piece, char kind, uint32_t value)
{
    static const char digits[] = "0123456789abcdef";
    *piece++ = '\\';
    *piece++ = kind;
    for (uint32_t shift = kind == 'x' ? 8 : 16; shift; shift -= 4)
        *piece++ = digits[value >> (shift - 4) & 15u];
    *piece = '\0';
}

/* Writes the next character as it is shown. Returns its length in the text. */
static size_t next_piece(struct cv_text text, bool doubles, char piece[LONGEST_PIECE])
{
    uint32_t character = 0;
    const size_t length = cv_utf8_character(text, &character);
    if (!length || character < 0x20 || character == 0x7f) {
        escape(piece, 'x', (unsigned char)*text.start);
        return 1;
    }
    if (!is_harmless(character)) {
        escape(piece, 'u', character);
        return length;
    }
    memcpy(piece, text.start, length);
    piece[length] = '\0';
    if (character == '\\' && doubles)
        memcpy(piece, "\\\\", 3);
    return length;
}

size_t cv_json_piece(struct cv_text text, char piece[CV_JSON_PIECE_BYTES])
{
    uint32_t character = 0;
    const size_t length = cv_utf8_character(text, &character);
    if (!length) {
        *piece = '\\';
        escape(piece + 1, 'x', (unsigned char)*text.start);
        return 1;
    }
    if (character == '"' || character == '\\') {
        memcpy(piece, (const char[]){'\\', (char)character, '\0'}, 3);
    } else if (!is_harmless(character)) {
        escape(piece, 'u', character);
    } else {
        memcpy(piece, text.start, length);
        piece[length] = '\0';
    }
    return length;
}

size_t cv_json_plain(struct cv_text text)
{
    size_t length = 0;
    while (length < text.length && text.start[length] >= ' ' && text.start[length] <= '~' &&
           text.start[length] != '"' && text.start[length] != '\\')
        length++;
    return length;
}

static size_t show(char *to, size_t room, struct cv_text text, bool doubles)
{
    size_t used = 0, last = 0; /* `last`: the end of the text if an ellipsis must follow */
    assert(room > sizeof ellipsis);
    while (text.length) {
        char piece[LONGEST_PIECE];
        const size_t taken = next_piece(text, doubles, piece), length = strlen(piece);
        if (used + length + 1 > room) {
            memcpy(to + last, ellipsis, sizeof ellipsis);
            return last + sizeof ellipsis - 1;
        }
        memcpy(to + used, piece, length);
        used += length;
        if (used + sizeof ellipsis <= room)
            last = used;
        text.start += taken;
        text.length -= taken;
    }
    to[used] = '\0';
    return used;
}

size_t cv_show(char *to, size_t room, struct cv_text text)
{
    return show(to, room, text, true);
}

size_t cv_show_line(char *to, size_t room, struct cv_text text)
{
    return show(to, room, text, false);
}
