// SPDX-License-Identifier: MIT
/*
 * Shows foreign texts: names of locks, messages of servers, addresses. Such a text could control a terminal, or make
 * one line look like another. So all output is valid UTF-8, and keeps its order and its line:
 *
 *     \x1b  \xff       a control character; a byte that is no part of valid UTF-8
 *     \u0085  \u202e   a control character of Unicode, one that turns the direction of text, one that ends a line
 *     \\               a backslash, so that no two texts look the same
 *
 * Everything else is shown as it is.
 */
#ifndef CONCLAVE_CORE_PRINTABLE_H
#define CONCLAVE_CORE_PRINTABLE_H

#include "core/parse.h"

/* Writes the text and a NUL. If the room is too small, the text ends with an ellipsis. Returns the length. */
size_t cv_show(char *to, size_t room, struct cv_text text);
/* The same for a sentence of ours with foreign words in it: backslashes stay single. */
size_t cv_show_line(char *to, size_t room, struct cv_text text);

/*
 * Writes the first character of a text that is not empty, as a JSON string has it, and a NUL. Returns its length in the
 * text. A byte that is no part of valid UTF-8 becomes \\xff.
 */
#define CV_JSON_PIECE_BYTES 8u
size_t cv_json_piece(struct cv_text text, char piece[CV_JSON_PIECE_BYTES]);
/* The number of bytes at the beginning that stand for themselves in JSON. */
size_t cv_json_plain(struct cv_text text);

/* The length and the code of the first character; 0 if it is not valid UTF-8. The text is not empty. */
size_t cv_utf8_character(struct cv_text text, uint32_t *character);

#endif
