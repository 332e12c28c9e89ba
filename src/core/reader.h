// SPDX-License-Identifier: MIT
/* Reads files that people write: lines of words, comments from # on. Complaints name the file and the line. */
#ifndef CONCLAVE_CORE_READER_H
#define CONCLAVE_CORE_READER_H

#include "core/error.h"
#include "core/parse.h"

/* Begins with .at = the text and .line = 1. */
struct cv_reader {
    const char *at;
    const char *name; /* of the file */
    uint64_t line;
    struct cv_complaint *complaint;
    int error;
};

/* Moves to the next line with a word. False at the end of the text. */
bool cv_reader_line(struct cv_reader *reader);

/* The next word of this line. False at its end. */
bool cv_reader_word(struct cv_reader *reader, struct cv_text *word);

/* The word as a number, in the second case of at most `most`. Only the first mistake is reported. */
uint32_t cv_reader_number(struct cv_reader *reader, const char *what, struct cv_text word);
uint32_t cv_reader_number_to(struct cv_reader *reader, const char *what, struct cv_text word, uint32_t most);

#endif
