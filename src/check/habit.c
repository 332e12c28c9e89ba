// SPDX-License-Identifier: MIT
#include "check/habit.h"

#include <stdlib.h>

#include "check/intern.h"
#include "core/error.h"

#define ARENA_HABITS 4096u
#define KNOWN (1ull << 32)
#define EVERYBODY 0xffffu

struct habit_arena {
    struct habit_arena *next;
    struct habit habits[ARENA_HABITS];
};

int habits_init(struct habits *habits)
{
    *habits = (struct habits){.arena_used = ARENA_HABITS};
    pthread_mutex_init(&habits->lock, NULL);
    habits->blocks = calloc(INTERN_BLOCKS, sizeof(*habits->blocks));
    return habits->blocks ? 0 : CV_ENOMEM;
}

void habits_free(struct habits *habits)
{
    if (!habits->blocks)
        return;
    for (uint32_t i = 0; i < INTERN_BLOCKS; i++)
        free(habits->blocks[i]);
    while (habits->arenas) {
        struct habit_arena *next = habits->arenas->next;
        free(habits->arenas);
        habits->arenas = next;
    }
    free(habits->blocks);
    pthread_mutex_destroy(&habits->lock);
    *habits = (struct habits){0};
}

/* ---- learning ---- */

const struct habit *habits_of(const struct habits *habits, uint32_t place)
{
    _Atomic(const struct habit *) *block = habits->blocks[place / INTERN_BLOCK];
    return block ? atomic_load_explicit(&block[place % INTERN_BLOCK], memory_order_acquire) : NULL;
}

static bool is_known(const struct habits *habits, uint32_t place, const struct habit *habit)
{
    for (const struct habit *it = habits_of(habits, place); it; it = it->next)
        if (it->after == habit->after && it->type == habit->type && it->argument == habit->argument &&
            it->alive == habit->alive && it->receivers == habit->receivers)
            return true;
    return false;
}

static struct habit *new_habit(struct habits *habits)
{
    if (habits->arena_used == ARENA_HABITS) {
        struct habit_arena *arena = malloc(sizeof *arena);
        if (!arena)
            return NULL;
        arena->next = habits->arenas;
        habits->arenas = arena;
        habits->arena_used = 0;
        habits->bytes += sizeof *arena;
    }
    return &habits->arenas->habits[habits->arena_used++];
}

static int add(struct habits *habits, uint32_t place, struct habit habit)
{
    _Atomic(const struct habit *) **block = &habits->blocks[place / INTERN_BLOCK];
    if (!*block && !(*block = calloc(INTERN_BLOCK, sizeof **block)))
        return CV_ENOMEM;
    if (is_known(habits, place, &habit))
        return 0;
    struct habit *fresh = new_habit(habits);
    if (!fresh)
        return CV_ENOMEM;
    *fresh = habit;
    fresh->next = habits_of(habits, place);
    atomic_store_explicit(&(*block)[place % INTERN_BLOCK], fresh, memory_order_release);
    habits->learnt = true;
    return 0;
}

int habits_add(struct habits *habits, uint32_t place, struct habit habit)
{
    pthread_mutex_lock(&habits->lock);
    const int error = add(habits, place, habit);
    pthread_mutex_unlock(&habits->lock);
    return error;
}

/* ---- asking ---- */

/* What comes round to where the question began is not followed any further: that may be anything. */
uint32_t foresee(struct foresight *foresight, uint32_t place, uint32_t causes)
{
    const uint64_t known = memo_find(&foresight->known, place, causes);
    uint32_t receivers = 0;
    if (known)
        return (uint32_t)known;
    if (!memo_add(&foresight->known, place, causes, KNOWN | EVERYBODY))
        return EVERYBODY;
    for (const struct habit *it = habits_of(foresight->habits, place); it; it = it->next)
        if (causes & 1u << it->cause) {
            receivers |= it->receivers;
            if (it->after != place && receivers != EVERYBODY)
                receivers |= foresee(foresight, it->after, causes);
        }
    memo_change(&foresight->known, place, causes, KNOWN | receivers);
    return receivers;
}
