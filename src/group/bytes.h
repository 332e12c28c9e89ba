// SPDX-License-Identifier: MIT
/* Numbers and byte strings, little-endian: a growing buffer to write them, and a cursor to read untrusted bytes. */
#ifndef CONCLAVE_GROUP_BYTES_H
#define CONCLAVE_GROUP_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Zeroed to begin with. A failed allocation makes it `broken`, and later writes do nothing. */
struct cv_buffer {
    unsigned char *bytes;
    size_t length, capacity;
    bool broken;
};

static inline void cv_put_bytes(struct cv_buffer *buffer, const void *bytes, size_t length)
{
    if (buffer->capacity - buffer->length < length) {
        const size_t capacity = 2 * (buffer->length + length) + 64;
        unsigned char *grown = buffer->broken ? NULL : realloc(buffer->bytes, capacity);
        buffer->broken = !grown;
        if (buffer->broken)
            return;
        buffer->bytes = grown;
        buffer->capacity = capacity;
    }
    if (length > 0)
        memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
}

static inline void cv_put_8(struct cv_buffer *buffer, uint8_t number)
{
    cv_put_bytes(buffer, &number, sizeof number);
}

static inline void cv_put_32(struct cv_buffer *buffer, uint32_t number)
{
    const uint32_t little = htole32(number);
    cv_put_bytes(buffer, &little, sizeof little);
}

static inline void cv_put_64(struct cv_buffer *buffer, uint64_t number)
{
    const uint64_t little = htole64(number);
    cv_put_bytes(buffer, &little, sizeof little);
}

/* The bytes left to read. A read past the end makes it `broken`, and all later numbers are 0. */
struct cv_cursor {
    const unsigned char *at;
    size_t left;
    bool broken;
};

static inline struct cv_cursor cv_cursor(const void *bytes, size_t length)
{
    return (struct cv_cursor){.at = bytes, .left = length};
}

/* The next `length` bytes in place, or NULL. */
static inline const unsigned char *cv_take_bytes(struct cv_cursor *cursor, size_t length)
{
    cursor->broken |= length > cursor->left;
    if (cursor->broken)
        return NULL;
    const unsigned char *taken = cursor->at;
    cursor->at += length;
    cursor->left -= length;
    return taken;
}

static inline uint8_t cv_take_8(struct cv_cursor *cursor)
{
    const unsigned char *taken = cv_take_bytes(cursor, 1);
    return taken ? *taken : 0;
}

static inline uint32_t cv_take_32(struct cv_cursor *cursor)
{
    uint32_t little = 0;
    const unsigned char *taken = cv_take_bytes(cursor, sizeof little);
    if (taken)
        memcpy(&little, taken, sizeof little);
    return le32toh(little);
}

static inline uint64_t cv_take_64(struct cv_cursor *cursor)
{
    uint64_t little = 0;
    const unsigned char *taken = cv_take_bytes(cursor, sizeof little);
    if (taken)
        memcpy(&little, taken, sizeof little);
    return le64toh(little);
}

/* Has every read found its bytes, and is nothing left? */
static inline bool cv_cursor_done(const struct cv_cursor *cursor)
{
    return !cursor->broken && cursor->left == 0;
}

#endif
