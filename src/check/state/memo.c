// SPDX-License-Identifier: MIT
#include "check/state/memo.h"

#include "check/state/memory.h"
#include "core/error.h"

#define FIRST_HOMES 1024u
#define EXTRA 64u /* slots after the last home, so that probing need not wrap around */

static struct memo_table *new_table(size_t homes, struct memo_table *older)
{
    const size_t slots = homes + EXTRA, bytes = sizeof(struct memo_table) + slots * sizeof(struct memo_entry);
    struct memo_table *table = memory_map(bytes);
    if (!table)
        return NULL;
    if (older)
        memory_touch(table, bytes);
    *table = (struct memo_table){.older = older, .bytes = bytes, .homes = homes, .last = slots - 1};
    return table;
}

static void free_tables(struct memo_table *table)
{
    while (table) {
        struct memo_table *older = table->older;
        memory_unmap(table, table->bytes);
        table = older;
    }
}

int memo_init(struct memo *memo)
{
    *memo = (struct memo){.lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP}; /* held for moments */
    memo->table = new_table(FIRST_HOMES, NULL);
    return memo->table ? 0 : CV_ENOMEM;
}

void memo_free(struct memo *memo)
{
    free_tables(memo->table);
    *memo = (struct memo){.table = NULL};
}

size_t memo_bytes(const struct memo *memo)
{
    size_t bytes = 0;
    for (const struct memo_table *table = memo->table; table; table = table->older)
        bytes += table->bytes;
    return bytes;
}

void memo_tidy(struct memo *memo)
{
    struct memo_table *table = memo->table;
    if (!table)
        return;
    free_tables(table->older);
    table->older = NULL;
}

/* ---- adding ---- */

/* The entry's slot, or a free one for it; NULL if only the last is free. */
static struct memo_entry *slot_of(struct memo_table *table, uint64_t one, uint64_t other)
{
    struct memo_entry *slot = &table->entries[memo_home(table, one, other)];
    while (slot->result && (slot->one != one || slot->other != other))
        slot++;
    return slot < &table->entries[table->last] ? slot : NULL;
}

/* False if a cluster at the end leaves no slot for an entry. */
static bool copy(struct memo_table *to, const struct memo_table *from)
{
    for (size_t i = 0; i < from->last; i++) {
        const struct memo_entry *entry = &from->entries[i];
        if (!entry->result)
            continue;
        struct memo_entry *slot = slot_of(to, entry->one, entry->other);
        if (!slot)
            return false;
        *slot = *entry;
    }
    return true;
}

/* Publishes the larger table when all entries are in it. */
static struct memo_table *grow(struct memo *memo)
{
    struct memo_table *now = memo->table;
    for (size_t homes = 2 * now->homes;; homes *= 2) {
        struct memo_table *larger = new_table(homes, now);
        if (larger && !copy(larger, now)) {
            memory_unmap(larger, larger->bytes);
            continue;
        }
        if (larger)
            atomic_store_explicit(&memo->table, larger, memory_order_release);
        return larger;
    }
}

static uint64_t add(struct memo *memo, uint64_t one, uint64_t other, uint64_t result)
{
    struct memo_table *table = memo->table;
    struct memo_entry *slot = slot_of(table, one, other);
    if (slot && slot->result)
        return slot->result;
    if (!slot || memo->count >= table->homes / 2)
        return grow(memo) ? add(memo, one, other, result) : 0;
    slot->one = one;
    slot->other = other;
    atomic_store_explicit(&slot->result, result, memory_order_release);
    memo->count++;
    return result;
}

uint64_t memo_add(struct memo *memo, uint64_t one, uint64_t other, uint64_t result)
{
    pthread_mutex_lock(&memo->lock);
    const uint64_t added = add(memo, one, other, result);
    pthread_mutex_unlock(&memo->lock);
    return added;
}

void memo_change(struct memo *memo, uint64_t one, uint64_t other, uint64_t result)
{
    slot_of(memo->table, one, other)->result = result;
}
