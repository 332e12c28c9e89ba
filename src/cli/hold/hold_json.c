// SPDX-License-Identifier: MIT
#include "cli/hold/hold_json.h"

#include "core/printable.h"

/* For the writer a string is a thing between brackets: it may have any byte, also NUL. */
void hold_json(struct cv_json *json, const char *key, struct cv_text text)
{
    if (!text.start) {
        cv_json_null(json, key);
        return;
    }
    cv_json_open(json, key, '"');
    while (text.length) {
        char piece[CV_JSON_PIECE_BYTES];
        const size_t length = cv_json_piece(text, piece);
        fputs(piece, json->out);
        text.start += length;
        text.length -= length;
    }
    cv_json_close(json, '"');
}
