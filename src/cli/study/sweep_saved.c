// SPDX-License-Identifier: MIT
#include "cli/study/sweep_saved.h"

#include <stdlib.h>

#include "cli/study/sweep_team.h"
#include "core/parse.h"

/* ---- writing ---- */

struct writing {
    const struct sweep_saved *saved;
    uint64_t taken;
    struct parcel **parcels; /* ascending */
    size_t count;
};

static int compare_parcels(const void *a, const void *b)
{
    const struct parcel *one = *(struct parcel *const *)a, *other = *(struct parcel *const *)b;
    return (one->first > other->first) - (one->first < other->first);
}

static void write_sweep(void *context, struct file_writer *writer)
{
    const struct writing *writing = context;
    file_write_number(writer, writing->taken);
    file_write_number(writer, writing->count);
    for (size_t i = 0; i < writing->count; i++) {
        const struct parcel *parcel = writing->parcels[i];
        file_write_number(writer, parcel->first);
        file_write_number(writer, parcel->count);
        file_write_number(writer, parcel->bytes.size);
        file_write(writer, parcel->bytes.bytes, parcel->bytes.size);
    }
    writing->saved->save(writing->saved->context, writer);
}

/* Without memory for a list of the parcels they are left out, and computed again. */
void sweep_saved_write(const struct sweep_saved *saved, uint64_t taken, const struct cv_hash_map *waiting)
{
    struct writing writing = {.saved = saved, .taken = taken};
    writing.parcels = calloc(waiting->room + 1, sizeof(struct parcel *));
    for (size_t i = 0; i < waiting->room && writing.parcels; i++)
        if (waiting->entries[i].key)
            writing.parcels[writing.count++] = waiting->entries[i].pointer;
    if (writing.count)
        qsort(writing.parcels, writing.count, sizeof(struct parcel *), compare_parcels);
    cv_checkpoint_write(saved->checkpoint, write_sweep, &writing);
    free(writing.parcels);
}

/* ---- reading ---- */

/* A parcel has as many results as it says, each with its size before it. */
static bool is_whole(const struct parcel *parcel)
{
    struct sweep_reader reader = {parcel->bytes.bytes, parcel->bytes.size};
    for (uint32_t i = 0; i < parcel->count; i++) {
        const uint64_t size = reader.left >= sizeof size ? sweep_get_number(&reader) : UINT64_MAX;
        if (size > reader.left)
            return false;
        reader.at += size;
        reader.left -= size;
    }
    return reader.left == 0;
}

/* Reads a parcel whose tasks come after all others. False: there is no such parcel in the file, or no memory. */
static bool read_parcel(struct sweep_saved *saved, struct file_reader *reader, uint64_t after)
{
    struct parcel *parcel = calloc(1, sizeof *parcel);
    const uint64_t first = file_read_number(reader), count = file_read_number(reader), size = file_read_number(reader);
    if (parcel && first >= after && first < UINT64_MAX - count && count && count <= UINT32_MAX &&
        size <= file_reader_left(reader)) {
        *parcel = (struct parcel){.first = first, .count = (uint32_t)count};
        parcel->bytes = (struct sweep_bytes){.bytes = malloc(size + 1), .size = size, .room = size + 1};
        if (parcel->bytes.bytes) {
            file_read(reader, parcel->bytes.bytes, size);
            struct cv_hash_entry *entry = is_whole(parcel) ? cv_hash_map_add(&saved->waiting, first + 1) : NULL;
            if (entry) {
                entry->pointer = parcel;
                saved->known[saved->known_count++] = (struct sweep_range){first, count};
                return true;
            }
        }
    }
    parcel_free(parcel);
    return false;
}

static bool read_sweep(struct sweep_saved *saved, struct file_reader *reader)
{
    saved->taken = file_read_number(reader);
    const uint64_t parcels = file_read_number(reader);
    if (parcels > file_reader_left(reader))
        return false;
    saved->known = calloc(parcels + 1, sizeof *saved->known);
    uint64_t end = saved->taken + 1; /* the next result to be taken is not known */
    for (uint64_t i = 0; i < parcels && saved->known; i++) {
        if (!read_parcel(saved, reader, end))
            return false;
        end = saved->known[i].first + saved->known[i].count;
    }
    return saved->known && saved->restore(saved->context, reader) && !file_reader_failed(reader) &&
           !file_reader_left(reader);
}

int sweep_saved_open(struct sweep_saved *saved, uint64_t count, struct cv_complaint *complaint)
{
    const int error = cv_checkpoint_open(saved->checkpoint, complaint);
    struct file_reader *reader = cv_checkpoint_content(saved->checkpoint);
    if (error || !reader)
        return error;
    const struct cv_brief path = cv_brief(saved->checkpoint->resume);
    if (!read_sweep(saved, reader))
        return cv_complain(complaint, "--resume %s: it makes no sense, or there is too little memory for it",
                           path.text);
    cv_checkpoint_is_found(saved->checkpoint);
    const struct sweep_range *last = saved->known_count ? &saved->known[saved->known_count - 1] : NULL;
    const uint64_t end = last ? last->first + last->count : saved->taken;
    if (end > count)
        return cv_complain(complaint, "--runs %llu: expected at least %llu, those in --resume %s",
                           (unsigned long long)count, (unsigned long long)end, path.text);
    return 0;
}

void sweep_saved_close(struct sweep_saved *saved)
{
    for (size_t i = 0; i < saved->waiting.room; i++)
        if (saved->waiting.entries[i].key)
            parcel_free(saved->waiting.entries[i].pointer);
    cv_hash_map_free(&saved->waiting);
    free(saved->known);
    saved->known = NULL;
    cv_checkpoint_close(saved->checkpoint);
}
