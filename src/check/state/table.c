// SPDX-License-Identifier: MIT
#include "check/state/table.h"

#include <assert.h>
#include <string.h>

#include "check/state/memory.h"
#include "core/error.h"

#define FIRST_ROOM (1u << 14)
/* Slots after the homes, so that probing need not wrap around. No cluster of entries is as long by chance. */
#define EXTRA 4096u
/* Slots that a thread moves at a time. */
#define PIECE (1u << 16)
/* Slots that are worth sharing among threads. */
#define LEAST_MOVED (2 * PIECE)

/* The bytes of a slot in all arrays. */
static uint64_t slot_bytes(const struct table *table)
{
    return (table->compact ? sizeof *table->fingerprints + sizeof *table->epochs : sizeof *table->slots) +
           (table->wide ? sizeof *table->second : 0);
}

uint64_t table_bytes(const struct table *table, uint64_t room)
{
    return (room + EXTRA) * slot_bytes(table);
}

/* A compact table is for searches that fill the memory, so it is filled higher before it grows. */
static void measure(struct table *table, uint64_t room)
{
    table->room = room;
    table->last = room + EXTRA - 1;
    table->most = table->compact ? room / 100 * 87 : room / 10 * 8;
    table->crowded = table->compact ? room / 100 * 85 : room / 10 * 7;
}

static int map_arrays(struct table *table)
{
    const uint64_t count = table->last + 1;
    bool mapped = true;
    if (table->compact) {
        table->fingerprints = memory_map(count * sizeof *table->fingerprints);
        table->epochs = memory_map(count * sizeof *table->epochs);
        mapped = table->fingerprints && table->epochs;
    } else {
        mapped = (table->slots = memory_map(count * sizeof *table->slots));
    }
    if (table->wide)
        mapped &= (table->second = memory_map(count * sizeof *table->second)) != NULL;
    return mapped ? 0 : CV_ENOMEM;
}

int table_init(struct table *table, bool wide)
{
    *table = (struct table){.wide = wide};
    measure(table, FIRST_ROOM);
    return map_arrays(table);
}

int table_init_compact(struct table *table, bool wide)
{
    *table = (struct table){.wide = wide, .compact = true};
    measure(table, FIRST_ROOM);
    return map_arrays(table);
}

void table_free(struct table *table)
{
    const uint64_t count = table->last + 1;
    memory_unmap(table->slots, count * sizeof *table->slots);
    memory_unmap(table->fingerprints, count * sizeof *table->fingerprints);
    memory_unmap(table->epochs, count * sizeof *table->epochs);
    memory_unmap(table->second, count * sizeof *table->second);
    *table = (struct table){0};
}

/* ---- compact ---- */

static uint8_t epoch_of(uint32_t level)
{
    return (uint8_t)(1 + level % TABLE_EPOCHS);
}

void table_begin_level(struct table *table, uint32_t level)
{
    if (!table->compact || epoch_of(level + 1) != 1)
        return;
    for (uint64_t at = 0; at <= table->last; at++)
        if (atomic_load_explicit(&table->epochs[at], memory_order_relaxed))
            atomic_store_explicit(&table->epochs[at], TABLE_PAST, memory_order_relaxed);
}

/* Waits for another thread that is writing it. */
static uint8_t written_epoch(const struct table *table, uint64_t at)
{
    uint8_t epoch;
    while (!(epoch = atomic_load_explicit(&table->epochs[at], memory_order_acquire)))
        ;
    return epoch;
}

enum table_answer table_add_compact(struct table *table, struct fingerprint fingerprint, uint32_t level)
{
    const uint64_t wanted = table_wanted(fingerprint);
    for (uint64_t at = table_home(table, wanted); at <= table->last; at++) {
        uint64_t held = atomic_load_explicit(&table->fingerprints[at], memory_order_relaxed);
        if (!held) {
            if (atomic_load_explicit(&table->count, memory_order_relaxed) > table->most)
                return TABLE_FULL;
            if (atomic_compare_exchange_strong(&table->fingerprints[at], &held, wanted)) {
                if (table->wide)
                    table->second[at] = fingerprint.half[1];
                atomic_store_explicit(&table->epochs[at], epoch_of(level), memory_order_release);
                return TABLE_NEW;
            }
        }
        if (held != wanted)
            continue;
        const uint8_t epoch = written_epoch(table, at);
        if (!table->wide || table->second[at] == fingerprint.half[1])
            return epoch == epoch_of(level) ? TABLE_OPEN : TABLE_OLD;
    }
    return TABLE_FULL;
}

/* In a compact table all levels but the next are the past. */
bool table_restore(struct table *table, uint64_t fingerprint, uint64_t second, uint64_t info, uint32_t depth)
{
    const struct fingerprint wanted = {.half = {fingerprint, second}};
    const uint32_t level = (uint32_t)(info & 0xffff) - 1;
    const uint32_t next = depth + 1 < TABLE_MOST_LEVEL ? depth + 1 : TABLE_MOST_LEVEL;
    if (!table->compact)
        return table_add(table, wanted, info >> 16, level) == TABLE_NEW;
    if (table_add_compact(table, wanted, depth + 1) != TABLE_NEW)
        return false;
    if (level == next)
        return true;
    uint64_t at = table_home(table, fingerprint);
    while (table->fingerprints[at] != fingerprint || (table->wide && table->second[at] != second))
        at++;
    table->epochs[at] = TABLE_PAST;
    return true;
}

/* ---- growing ---- */

/* An entry on its way to its slot in the larger table. */
struct moving {
    uint64_t fingerprint, info, second;
};

/* The fingerprint in a slot. `compact` is the table's; it is a constant here and below, so that no loop asks for it. */
static inline _Atomic uint64_t *fingerprint_at(const struct table *table, uint64_t at, bool compact)
{
    return compact ? &table->fingerprints[at] : &table->slots[at].fingerprint;
}

static inline struct moving lift(struct table *table, uint64_t at, bool compact)
{
    struct moving moving = {.fingerprint =
                                atomic_load_explicit(fingerprint_at(table, at, compact), memory_order_relaxed),
                            .second = table->wide ? table->second[at] : 0};
    if (compact) {
        moving.info = atomic_load_explicit(&table->epochs[at], memory_order_relaxed);
        atomic_store_explicit(&table->epochs[at], 0, memory_order_relaxed);
    } else {
        moving.info = atomic_load_explicit(&table->slots[at].info, memory_order_relaxed);
        atomic_store_explicit(&table->slots[at].info, 0, memory_order_relaxed);
    }
    atomic_store_explicit(fingerprint_at(table, at, compact), 0, memory_order_relaxed);
    return moving;
}

/* Another thread may take the same slot: threads that move neighbouring pieces meet at the border. */
static inline void put_down(struct table *table, struct moving moving, bool compact)
{
    uint64_t at = table_home(table, moving.fingerprint), held;
    do
        while ((held = atomic_load_explicit(fingerprint_at(table, at, compact), memory_order_relaxed)))
            at++;
    while (!atomic_compare_exchange_strong(fingerprint_at(table, at, compact), &held, moving.fingerprint));
    assert(at <= table->last);
    if (compact)
        atomic_store_explicit(&table->epochs[at], (uint8_t)moving.info, memory_order_relaxed);
    else
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
    if (table->compact) {
        memory_touch(&table->fingerprints[first], count * sizeof *table->fingerprints);
        memory_touch(&table->epochs[first], count * sizeof *table->epochs);
    } else {
        memory_touch(&table->slots[first], count * sizeof *table->slots);
    }
    if (table->wide)
        memory_touch(&table->second[first], count * sizeof *table->second);
}

/*
 * Entries are near their homes. In a larger table all homes have higher positions, in the same order. So the entries
 * can move in place, the last one first: its new position holds no entry that has not moved yet. Only near the
 * beginning can a new home be at or before an entry that a cluster has displaced. Those few entries move at the end.
 */
static inline void spread(struct table *table, uint64_t end, bool compact)
{
    struct moving late[EXTRA];
    uint64_t waiting = 0;
    touch(table, 0, end);
    for (uint64_t at = end; at-- > 0;) {
        if (!atomic_load_explicit(fingerprint_at(table, at, compact), memory_order_relaxed))
            continue;
        const struct moving moving = lift(table, at, compact);
        if (__builtin_expect(table_home(table, moving.fingerprint) >= at, 1)) {
            put_down(table, moving, compact);
        } else {
            assert(waiting < EXTRA);
            late[waiting++] = moving;
        }
    }
    while (waiting > 0)
        put_down(table, late[--waiting], compact);
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

static inline void move_piece(struct table *table, uint64_t from, uint64_t to, bool compact)
{
    touch(table, from, to);
    for (uint64_t at = to; at-- > from;) {
        if (!atomic_load_explicit(fingerprint_at(table, at, compact), memory_order_relaxed))
            continue;
        const struct moving moving = lift(table, at, compact);
        assert(table_home(table, moving.fingerprint) >= table->growth.high);
        put_down(table, moving, compact);
    }
}

void table_move(struct table *table)
{
    struct growth *growth = &table->growth;
    const uint64_t count = growth->high - growth->low;
    for (uint64_t taken; (taken = atomic_fetch_add(&growth->taken, PIECE)) < count;) {
        const uint64_t to = growth->high - taken;
        const uint64_t from = to > growth->low + PIECE ? to - PIECE : growth->low;
        if (table->compact)
            move_piece(table, from, to, true);
        else
            move_piece(table, from, to, false);
    }
}

bool table_go_on(struct table *table)
{
    choose_low(table, table->growth.low);
    if (table->growth.low < table->growth.high)
        return true;
    if (table->compact)
        spread(table, table->growth.high, true);
    else
        spread(table, table->growth.high, false);
    return false;
}

/* One of the arrays. */
struct column {
    void *array; /* points to the pointer */
    size_t size; /* of an element */
};

static bool resize_column(const struct column *column, uint64_t from, uint64_t to)
{
    void *array;
    memcpy(&array, column->array, sizeof array);
    array = memory_resize(array, from * column->size, to * column->size);
    if (array)
        memcpy(column->array, &array, sizeof array);
    return array;
}

/* Resizes all arrays, or none. */
static bool resize(struct table *table, uint64_t from, uint64_t to)
{
    struct column columns[3];
    uint32_t count = 0, done = 0;
    if (table->compact) {
        columns[count++] = (struct column){&table->fingerprints, sizeof *table->fingerprints};
        columns[count++] = (struct column){&table->epochs, sizeof *table->epochs};
    } else {
        columns[count++] = (struct column){&table->slots, sizeof *table->slots};
    }
    if (table->wide)
        columns[count++] = (struct column){&table->second, sizeof *table->second};
    while (done < count && resize_column(&columns[done], from, to))
        done++;
    if (done == count)
        return true;
    while (done > 0)
        resize_column(&columns[--done], to, from);
    return false;
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
