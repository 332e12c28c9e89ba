// SPDX-License-Identifier: MIT
#include "cli/study/sweep_bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NO_TEXT UINT64_MAX

void sweep_put(struct sweep_bytes *bytes, const void *value, size_t size)
{
    if (bytes->size + size > bytes->room) {
        size_t room = bytes->room ? bytes->room : 256;
        while (room < bytes->size + size)
            room *= 2;
        unsigned char *larger = realloc(bytes->bytes, room);
        if (!larger) {
            bytes->out_of_memory = true;
            return;
        }
        bytes->bytes = larger;
        bytes->room = room;
    }
    memcpy(bytes->bytes + bytes->size, value, size);
    bytes->size += size;
}

void sweep_put_number(struct sweep_bytes *bytes, uint64_t number)
{
    sweep_put(bytes, &number, sizeof number);
}

void sweep_put_text(struct sweep_bytes *bytes, const char *text)
{
    sweep_put_number(bytes, text ? strlen(text) : NO_TEXT);
    if (text)
        sweep_put(bytes, text, strlen(text) + 1);
}

void sweep_get(struct sweep_reader *reader, void *value, size_t size)
{
    assert(size <= reader->left);
    memcpy(value, reader->at, size);
    reader->at += size;
    reader->left -= size;
}

uint64_t sweep_get_number(struct sweep_reader *reader)
{
    uint64_t number;
    sweep_get(reader, &number, sizeof number);
    return number;
}

const char *sweep_get_text(struct sweep_reader *reader)
{
    const uint64_t length = sweep_get_number(reader);
    if (length == NO_TEXT)
        return NULL;
    assert(length < reader->left && !reader->at[length]);
    const char *text = (const char *)reader->at;
    reader->at += length + 1;
    reader->left -= length + 1;
    return text;
}
