// SPDX-License-Identifier: MIT
#include "check/state/intern.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/error.h"

#define FIRST_SLOTS 1024u

int intern_init(struct intern *intern, uint64_t seed)
{
    *intern = (struct intern){.slot_count = FIRST_SLOTS, .seed = seed};
    intern->lock = (pthread_mutex_t)PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP; /* held for moments */
    intern->blocks = calloc(INTERN_BLOCKS, sizeof *intern->blocks);
    intern->slots = calloc(FIRST_SLOTS, sizeof *intern->slots);
    return intern->blocks && intern->slots ? 0 : CV_ENOMEM;
}

void intern_free(struct intern *intern)
{
    if (!intern->slot_count)
        return;
    for (uint32_t i = 0; intern->blocks && i < INTERN_BLOCKS && intern->blocks[i]; i++)
        free(intern->blocks[i]);
    arena_free(&intern->records);
    free(intern->blocks);
    free(intern->slots);
    pthread_mutex_destroy(&intern->lock);
    *intern = (struct intern){0};
}

static bool grow(struct intern *intern)
{
    const uint32_t count = intern->slot_count * 2;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    for (uint32_t number = 0; number < intern->count; number++) {
        uint32_t at = intern_record(intern, number)->hash & (count - 1);
        while (slots[at])
            at = (at + 1) & (count - 1);
        slots[at] = number + 1;
    }
    free(intern->slots);
    intern->slots = slots;
    intern->slot_count = count;
    return true;
}

static uint32_t append(struct intern *intern, const void *bytes, size_t length, uint32_t hash)
{
    const uint32_t number = intern->count, block = number / INTERN_BLOCK;
    if (block == INTERN_BLOCKS)
        return INTERN_NONE;
    if (!intern->blocks[block] && !(intern->blocks[block] = calloc(INTERN_BLOCK, sizeof **intern->blocks)))
        return INTERN_NONE;
    struct intern_record *record = arena_take(&intern->records, sizeof *record + length);
    if (!record)
        return INTERN_NONE;
    record->fingerprint = fingerprint_of_bytes(bytes, length, intern->seed);
    record->length = (uint32_t)length;
    record->hash = hash;
    if (length)
        memcpy(record->bytes, bytes, length);
    intern->blocks[block][number % INTERN_BLOCK] = record;
    intern->bytes += sizeof *record + length + sizeof record + 2 * sizeof *intern->slots;
    intern->count++;
    return number;
}

static uint32_t add(struct intern *intern, const void *bytes, size_t length, uint32_t hash)
{
    if (intern->count >= intern->slot_count / 2 && !grow(intern))
        return INTERN_NONE;
    uint32_t at = hash & (intern->slot_count - 1);
    for (; intern->slots[at]; at = (at + 1) & (intern->slot_count - 1)) {
        const struct intern_record *record = intern_record(intern, intern->slots[at] - 1);
        if (record->hash == hash && record->length == length && memcmp(record->bytes, bytes, length) == 0)
            return intern->slots[at] - 1;
    }
    const uint32_t number = append(intern, bytes, length, hash);
    if (number != INTERN_NONE)
        intern->slots[at] = number + 1;
    return number;
}

uint32_t intern_add(struct intern *intern, const void *bytes, size_t length)
{
    const uint32_t hash = (uint32_t)(length ? XXH3_64bits(bytes, length) : 0);
    pthread_mutex_lock(&intern->lock);
    const uint32_t number = add(intern, bytes, length, hash);
    pthread_mutex_unlock(&intern->lock);
    return number;
}
