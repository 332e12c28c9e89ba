// SPDX-License-Identifier: MIT
#include "check/state/table.h"

#include <assert.h>

#include "check/state/memory.h"
#include "core/error.h"

#define FIRST_ROOM (1u << 14)
/*
 * Nothing wraps round: what finds no place before the end goes here. Crowds as large as that do not happen by chance.
 */
#define BEHIND 4096u
/* Slots whose entries a thread moves in one go; and how many there must be to share them out. */
#define PIECE (1u << 16)
#define LEAST_MOVED (2 * PIECE)

uint64_t table_bytes(const struct table *table, uint64_t room)
{
    return (room + BEHIND) * (sizeof *table->slots + (table->wide ? sizeof *table->second : 0));
}

static void measure(struct table *table, uint64_t room)
{
    table->room = room;
    table->last = room + BEHIND - 1;
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

/* An entry on its way to where it belongs in a larger table. */
struct moving {
    uint64_t print, info, second;
};

static inline struct moving lift(struct table *table, uint64_t at)
{
    struct slot *slot = &table->slots[at];
    const struct moving moving = {atomic_load_explicit(&slot->print, memory_order_relaxed),
                                  atomic_load_explicit(&slot->info, memory_order_relaxed),
                                  table->wide ? table->second[at] : 0};
    atomic_store_explicit(&slot->print, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->info, 0, memory_order_relaxed);
    return moving;
}

/* Another thread may be about to take the same slot: two that move neighbours meet where one's ends. */
static inline void put_down(struct table *table, struct moving moving)
{
    uint64_t at = table_home(table, moving.print), held;
    do
        while ((held = atomic_load_explicit(&table->slots[at].print, memory_order_relaxed)))
            at++;
    while (!atomic_compare_exchange_strong(&table->slots[at].print, &held, moving.print));
    assert(at <= table->last);
    atomic_store_explicit(&table->slots[at].info, moving.info, memory_order_relaxed);
    if (table->wide)
        table->second[at] = moving.second;
}

/* Where that slot would be now, if it were a home. */
static uint64_t further_on(const struct table *table, uint64_t at)
{
    return (uint64_t)((unsigned __int128)at * table->room / table->growth.before);
}

static void touch(struct table *table, uint64_t from, uint64_t to)
{
    const uint64_t first = further_on(table, from), end = further_on(table, to);
    const uint64_t count = (end <= table->last ? end : table->last + 1) - first;
    memory_touch(&table->slots[first], count * sizeof *table->slots);
    if (table->wide)
        memory_touch(&table->second[first], count * sizeof *table->second);
}

/*
 * Entries stand near their homes, and in a larger table all homes are further on, in the same order. So the entries
 * move where they are, the last one first: where it goes nobody stands who has not moved. Only near the beginning may a
 * home be no further on than where a crowd has pushed its owner; those few wait till the others have moved.
 */
static void spread(struct table *table, uint64_t end)
{
    struct moving late[BEHIND];
    uint64_t waiting = 0;
    touch(table, 0, end);
    for (uint64_t at = end; at-- > 0;) {
        if (!table->slots[at].print)
            continue;
        const struct moving moving = lift(table, at);
        if (__builtin_expect(table_home(table, moving.print) >= at, 1)) {
            put_down(table, moving);
        } else {
            assert(waiting < BEHIND);
            late[waiting++] = moving;
        }
    }
    while (waiting > 0)
        put_down(table, late[--waiting]);
}

/* ---- by several threads ---- */

/*
 * Those whose homes will be behind all that have not moved may move in any order, many at a time: with twice the room
 * the upper half of them, then the upper half of the rest. No crowd has pushed anybody as far as BEHIND.
 */
static void choose_low(struct table *table, uint64_t high)
{
    struct growth *growth = &table->growth;
    const uint64_t low = (uint64_t)((unsigned __int128)high * growth->before / table->room) + BEHIND;
    growth->high = high;
    growth->low = low + LEAST_MOVED < high ? low : high;
    growth->taken = 0;
}

static void move_piece(struct table *table, uint64_t from, uint64_t to)
{
    touch(table, from, to);
    for (uint64_t at = to; at-- > from;) {
        if (!atomic_load_explicit(&table->slots[at].print, memory_order_relaxed))
            continue;
        const struct moving moving = lift(table, at);
        assert(table_home(table, moving.print) >= table->growth.high);
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

uint32_t table_level(const struct table *table, uint64_t print)
{
    const uint64_t wanted = print ? print : 1;
    uint64_t at = table_home(table, wanted);
    while (table->slots[at].print != wanted)
        at++;
    return (uint32_t)(slot_info(&table->slots[at]) & 0xffff) - 1;
}

bool table_parent(const struct table *table, uint64_t print, uint64_t *parent)
{
    for (uint64_t at = table_home(table, print); at <= table->last && table->slots[at].print; at++) {
        if ((table->slots[at].print & TABLE_LOWER_48) != (print & TABLE_LOWER_48))
            continue;
        *parent = table->slots[at].info >> 16;
        return *parent != 0;
    }
    return false;
}
