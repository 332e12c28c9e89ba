// SPDX-License-Identifier: MIT
#include "check/table.h"

#include <sys/mman.h>

#include "core/error.h"

#define FIRST_ROOM (1u << 14)
#define LOWER_48 ((1ull << 48) - 1)

static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE); /* only advice */
    return memory;
}

uint64_t table_bytes(const struct table *table, uint64_t room)
{
    return room * (sizeof *table->slots + (table->wide ? sizeof *table->second : 0));
}

static void unmap(const struct table *table)
{
    if (table->slots)
        munmap(table->slots, table->room * sizeof *table->slots);
    if (table->second)
        munmap(table->second, table->room * sizeof *table->second);
}

int table_init(struct table *table, bool wide)
{
    *table = (struct table){.wide = wide};
    return table_grow(table, FIRST_ROOM);
}

void table_free(struct table *table)
{
    unmap(table);
    *table = (struct table){0};
}

/* While the table grows nobody else is at it. */
static void move(struct table *table, uint64_t print, uint64_t info, uint64_t second)
{
    uint64_t at = table_home(table, print);
    while (table->slots[at].print)
        at = at + 1 < table->room ? at + 1 : 0;
    table->slots[at].print = print;
    table->slots[at].info = info;
    if (table->wide)
        table->second[at] = second;
}

int table_grow(struct table *table, uint64_t room)
{
    struct table larger = {.room = room, .count = table->count, .wide = table->wide};
    larger.slots = map(room * sizeof *larger.slots);
    larger.second = table->wide ? map(room * sizeof *larger.second) : NULL;
    if (!larger.slots || (table->wide && !larger.second)) {
        unmap(&larger);
        return CV_ENOMEM;
    }
    for (uint64_t i = 0; i < table->room; i++)
        if (table->slots[i].print)
            move(&larger, table->slots[i].print, table->slots[i].info, table->wide ? table->second[i] : 0);
    unmap(table);
    table->slots = larger.slots;
    table->second = larger.second;
    table->room = larger.room;
    return 0;
}

/* What is known of a slot that holds this print already. */
static enum table_answer seen(const struct slot *slot, uint32_t level)
{
    const uint64_t info = atomic_load_explicit(&slot->info, memory_order_acquire);
    return !info || (info & 0xffff) == (level & 0xffff) + 1 ? TABLE_OPEN : TABLE_OLD;
}

static bool same_second(const struct table *table, uint64_t at, uint64_t second)
{
    if (!table->wide)
        return true;
    while (!atomic_load_explicit(&table->slots[at].info, memory_order_acquire))
        ; /* another thread is about to write it */
    return table->second[at] == second;
}

enum table_answer table_add(struct table *table, struct print print, uint64_t parent, uint32_t level)
{
    const uint64_t wanted = print.half[0] ? print.half[0] : 1;
    level = level < TABLE_MOST_LEVEL ? level : TABLE_MOST_LEVEL;
    for (uint64_t at = table_home(table, wanted);; at = at + 1 < table->room ? at + 1 : 0) {
        struct slot *slot = &table->slots[at];
        uint64_t held = atomic_load_explicit(&slot->print, memory_order_relaxed);
        if (!held) {
            if (table->count > table->room / 10 * 8)
                return TABLE_FULL;
            if (atomic_compare_exchange_strong(&slot->print, &held, wanted)) {
                if (table->wide)
                    table->second[at] = print.half[1];
                atomic_store_explicit(&slot->info, (parent & LOWER_48) << 16 | (level + 1), memory_order_release);
                return TABLE_NEW;
            }
        }
        if (held == wanted && same_second(table, at, print.half[1]))
            return seen(slot, level);
    }
}

bool table_parent(const struct table *table, uint64_t print, uint64_t *parent)
{
    for (uint64_t at = table_home(table, print); table->slots[at].print; at = at + 1 < table->room ? at + 1 : 0) {
        if ((table->slots[at].print & LOWER_48) != (print & LOWER_48))
            continue;
        *parent = table->slots[at].info >> 16;
        return *parent != 0;
    }
    return false;
}
