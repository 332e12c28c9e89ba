// SPDX-License-Identifier: MIT
#include "check/table.h"

#include <assert.h>
#include <stdlib.h>

#include "check/memory.h"
#include "core/error.h"

#define FIRST_ROOM (1u << 14)
/* Nothing wraps round: what finds no place before the end goes here. Crowds as large as that do not happen by chance.
 */
#define BEHIND 4096u

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
    const struct moving moving = {table->slots[at].print, table->slots[at].info, table->wide ? table->second[at] : 0};
    table->slots[at].print = table->slots[at].info = 0;
    return moving;
}

static inline void put_down(struct table *table, struct moving moving)
{
    uint64_t at = table_home(table, moving.print);
    while (table->slots[at].print)
        at++;
    assert(at <= table->last);
    table->slots[at].print = moving.print;
    table->slots[at].info = moving.info;
    if (table->wide)
        table->second[at] = moving.second;
}

/*
 * Entries stand in the order of their homes, and in a larger table all homes are further on, in the same order. So the
 * entries move where they are, the last one first: where it goes nobody stands who has not moved. Only near the
 * beginning may a home be no further on than where a crowd has pushed its owner; those few wait till the others have
 * moved.
 */
static void spread(struct table *table, uint64_t end, struct moving *late)
{
    uint64_t waiting = 0;
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

int table_grow(struct table *table, uint64_t room)
{
    const uint64_t before = table->room, end = table->last + 1;
    measure(table, room);
    struct moving *late = malloc(BEHIND * sizeof *late);
    const bool grown = late && resize(table, end, table->last + 1);
    if (grown)
        spread(table, end, late);
    else
        measure(table, before);
    free(late);
    return grown ? 0 : CV_ENOMEM;
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
