// SPDX-License-Identifier: MIT
#include "run/step_log_texts.h"

#include <stdlib.h>

#include "core/error.h"

size_t log_whole_bytes(const unsigned char *bytes, size_t size)
{
    size_t at = 0;
    while (size - at >= sizeof(struct log_step)) {
        const struct log_step *step = (const void *)(bytes + at);
        if (size - at - sizeof *step < step->bytes)
            break;
        at += sizeof *step + step->bytes;
    }
    return at;
}

int log_texts_add(struct log_texts *texts, const char *text)
{
    if (texts->count == texts->room) {
        const uint32_t room = 2 * texts->room + 8;
        const char **larger = realloc(texts->text, room * sizeof *larger);
        if (!larger)
            return CV_ENOMEM;
        texts->text = larger;
        texts->room = room;
    }
    texts->text[texts->count++] = text;
    return 0;
}

/* The number of a text, from 1 on; 0 if memory is out. */
static uintptr_t number_of(struct log_texts *texts, const char *text)
{
    for (uint32_t i = 0; i < texts->count; i++)
        if (texts->text[i] == text)
            return i + 1u;
    return log_texts_add(texts, text) ? 0 : texts->count;
}

int log_number_texts(unsigned char *bytes, size_t size, struct log_texts *texts)
{
    for (size_t at = 0; at < size;) {
        struct log_step *step = (void *)(bytes + at);
        struct log_record *record = (void *)(step + 1);
        for (uint32_t r = 0; r < step->records; r++) {
            if (record->text && !(record->text = (const char *)number_of(texts, record->text)))
                return CV_ENOMEM;
            record = (void *)((unsigned char *)(record + 1) + record->bytes);
        }
        at += sizeof *step + step->bytes;
    }
    return 0;
}

bool log_restore_texts(unsigned char *bytes, size_t size, const struct log_texts *texts)
{
    for (size_t at = 0; at < size;) {
        struct log_step *step = (void *)(bytes + at);
        struct log_record *record = (void *)(step + 1);
        for (uint32_t r = 0; r < step->records; r++) {
            const uintptr_t number = (uintptr_t)record->text;
            if (number > texts->count)
                return false;
            record->text = number ? texts->text[number - 1] : NULL;
            record = (void *)((unsigned char *)(record + 1) + record->bytes);
        }
        at += sizeof *step + step->bytes;
    }
    return true;
}

void log_texts_free(struct log_texts *texts)
{
    free(texts->text);
    *texts = (struct log_texts){0};
}
