// SPDX-License-Identifier: MIT
#include "check/state/table.h"

#include <assert.h>

#include "check/state/memory.h"
#include "core/error.h"

#define FIRST_ROOM (1u << 14)
/* Slots after the homes, so that probing need not wrap around. No cluster of entries is as long by chance. */
#define EXTRA 4096u
/* Slots that a thread moves at a time. */
#define PIECE (1u << 16)
/* Slots that are worth sharing among threads. */
#define LEAST_MOVED (2 * PIECE)

uint64_t table_bytes(const struct table *table, uint64_t room)
{
    return (room + EXTRA) * (sizeof *table->slots + (table->wide ? sizeof *table->second : 0));
}

static void measure(struct table *table, uint64_t room)
{
    table->room = room;
    table->last = room + EXTRA - 1;
    table->most = room / 10 * 8;
}

int table_init(struct table *table, bool wide)
{
    *table = (struct table){.wide = wide};
    measure(table, FIRST_ROOM);
    table->slots = memory_map((table->last + 1) * sizeof *table->slots);
    table->second = wide ? memory_map((table->last + 1) * sizeof *table->second) : NULL;
    return table->slots && (!wide || table->second) ? 0 : CV_ENOMEM;
}

void table_free(struct table *table)
{
    memory_unmap(table->slots, (table->last + 1) * sizeof *table->slots);
    memory_unmap(table->second, (table->last + 1) * sizeof *table->second);
    *table = (struct table){0};
}

/* ---- growing ---- */

/* An entry on its way to its slot in the larger table. */
struct moving {
    uint64_t fingerprint, info, second;
};

static inline struct moving lift(struct table *table, uint64_t at)
{
    struct slot *slot = &table->slots[at];
    const struct moving moving = {atomic_load_explicit(&slot->fingerprint, memory_order_relaxed),
                                  atomic_load_explicit(&slot->info, memory_order_relaxed),
                                  table->wide ? table->second[at] : 0};
    atomic_store_explicit(&slot->fingerprint, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->info, 0, memory_order_relaxed);
    return moving;
}

/* Another thread may take the same slot: threads that move neighbouring pieces meet at the border. */
static inline void put_down(struct table *table, struct moving moving)
{
    uint64_t at = table_home(table, moving.fingerprint), held;
    do
        while ((held = atomic_load_explicit(&table->slots[at].fingerprint, memory_order_relaxed)))
            at++;
    while (!atomic_compare_exchange_strong(&table->slots[at].fingerprint, &held, moving.fingerprint));
    assert(at <= table->last);
    atomic_store_explicit(&table->slots[at].info, moving.info, memory_order_relaxed);
    if (table->wide)
        table->second[at] = moving.second;
}

/* The new position of a home. */
static uint64_t new_home(const struct table *table, uint64_t at)
{
    return (uint64_t)((unsigned __int128)at * table->room / table->growth.before);
}

static void touch(struct table *table, uint64_t from, uint64_t to)
{
    const uint64_t first = new_home(table, from), end = new_home(table, to);
    const uint64_t count = (end <= table->last ? end : table->last + 1) - first;
    memory_touch(&table->slots[first], count * sizeof *table->slots);
    if (table->wide)
        memory_touch(&table->second[first], count * sizeof *table->second);
}

/*
 * Entries are near their homes. In a larger table all homes have higher positions, in the same order. So the entries
 * can move in place, the last one first: its new position holds no entry that has not moved yet. Only near the
 * beginning can a new home be at or before an entry that a cluster has displaced. Those few entries move at the end.
 */
static void spread(struct table *table, uint64_t end)
{
    struct moving late[EXTRA];
    uint64_t waiting = 0;
    touch(table, 0, end);
    for (uint64_t at = end; at-- > 0;) {
        if (!table->slots[at].fingerprint)
            continue;
        const struct moving moving = lift(table, at);
        if (__builtin_expect(table_home(table, moving.fingerprint) >= at, 1)) {
            put_down(table, moving);
        } else {
            assert(waiting < EXTRA);
            late[waiting++] = moving;
        }
    }
    while (waiting > 0)
        put_down(table, late[--waiting]);
}

/* ---- by several threads ---- */

/*
 * Entries whose new homes come after all entries that have not moved may move in any order, so threads can share them:
 * with twice the room the upper half of the table, then the upper half of the rest. No entry is displaced by EXTRA.
 */
static void choose_low(struct table *table, uint64_t high)
{
    struct growth *growth = &table->growth;
    const uint64_t low = (uint64_t)((unsigned __int128)high * growth->before / table->room) + EXTRA;
    growth->high = high;
    growth->low = low + LEAST_MOVED < high ? low : high;
    growth->taken = 0;
}

static void move_piece(struct table *table, uint64_t from, uint64_t to)
{
    touch(table, from, to);
    for (uint64_t at = to; at-- > from;) {
        if (!atomic_load_explicit(&table->slots[at].fingerprint, memory_order_relaxed))
            continue;
        const struct moving moving = lift(table, at);
        assert(table_home(table, moving.fingerprint) >= table->growth.high);
        put_down(table, moving);
    }
}

void table_move(struct table *table)
{
    struct growth *growth = &table->growth;
    const uint64_t count = growth->high - growth->low;
    for (uint64_t taken; (taken = atomic_fetch_add(&growth->taken, PIECE)) < count;) {
        const uint64_t to = growth->high - taken;
        move_piece(table, to > growth->low + PIECE ? to - PIECE : growth->low, to);
    }
}

bool table_go_on(struct table *table)
{
    choose_low(table, table->growth.low);
    if (table->growth.low < table->growth.high)
        return true;
    spread(table, table->growth.high);
    return false;
}

static bool resize(struct table *table, uint64_t from, uint64_t to)
{
    struct slot *slots = memory_resize(table->slots, from * sizeof *slots, to * sizeof *slots);
    if (!slots)
        return false;
    table->slots = slots;
    if (!table->wide)
        return true;
    uint64_t *second = memory_resize(table->second, from * sizeof *second, to * sizeof *second);
    if (second)
        table->second = second;
    else
        table->slots = memory_resize(slots, to * sizeof *slots, from * sizeof *slots);
    return second;
}

int table_begin_growth(struct table *table, uint64_t room)
{
    const uint64_t before = table->room, end = table->last + 1;
    measure(table, room);
    if (!resize(table, end, table->last + 1)) {
        measure(table, before);
        return CV_ENOMEM;
    }
    table->growth.before = before;
    choose_low(table, end);
    return 0;
}

int table_grow(struct table *table, uint64_t room)
{
    const int error = table_begin_growth(table, room);
    if (error)
        return error;
    do
        table_move(table);
    while (table_go_on(table));
    return 0;
}

uint32_t table_level(const struct table *table, uint64_t fingerprint)
{
    const uint64_t wanted = fingerprint ? fingerprint : 1;
    uint64_t at = table_home(table, wanted);
    while (table->slots[at].fingerprint != wanted)
        at++;
    return (uint32_t)(slot_info(&table->slots[at]) & 0xffff) - 1;
}

bool table_parent(const struct table *table, uint64_t fingerprint, uint64_t *parent)
{
    for (uint64_t at = table_home(table, fingerprint); at <= table->last && table->slots[at].fingerprint; at++) {
        if ((table->slots[at].fingerprint & TABLE_LOWER_48) != (fingerprint & TABLE_LOWER_48))
            continue;
        *parent = table->slots[at].info >> 16;
        return *parent != 0;
    }
    return false;
}
