// SPDX-License-Identifier: MIT
#include "core/reader.h"

#include <inttypes.h>
#include <string.h>

static bool ends_line(char c)
{
    return c == '\0' || c == '\n' || c == '#';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

bool cv_reader_word(struct cv_reader *reader, struct cv_text *word)
{
    while (is_blank(*reader->at))
        reader->at++;
    word->start = reader->at;
    while (!is_blank(*reader->at) && !ends_line(*reader->at))
        reader->at++;
    word->length = (size_t)(reader->at - word->start);
    return word->length > 0;
}

bool cv_reader_line(struct cv_reader *reader)
{
    for (;; reader->at++)
        if (*reader->at == '\0')
            return false;
        else if (*reader->at == '#')
            reader->at += strcspn(reader->at, "\n") - 1;
        else if (*reader->at == '\n')
            reader->line++;
        else if (!is_blank(*reader->at))
            return true;
}

uint32_t cv_reader_number_to(struct cv_reader *reader, const char *what, struct cv_text word, uint32_t most)
{
    uint64_t number = 0;
    if (!cv_parse_number(word, most, &number) && !reader->error)
        reader->error =
            cv_complain(reader->complaint, "%s:%" PRIu64 ": %s '%.*s' is not a number from 0 to %" PRIu32, reader->name,
                        reader->line, what, word.length < 80 ? (int)word.length : 80, word.start, most);
    return (uint32_t)number;
}

uint32_t cv_reader_number(struct cv_reader *reader, const char *what, struct cv_text word)
{
    return cv_reader_number_to(reader, what, word, UINT32_MAX);
}
