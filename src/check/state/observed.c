// SPDX-License-Identifier: MIT
#include "check/state/observed.h"

#include <stdlib.h>

#include "check/state/intern.h"
#include "core/error.h"

#define ARENA_ROOM 4096u

struct observed_arena {
    struct observed_arena *next;
    struct observed observations[ARENA_ROOM];
};

int observed_init(struct observations *observations)
{
    *observations = (struct observations){.arena_used = ARENA_ROOM};
    pthread_mutex_init(&observations->lock, NULL);
    observations->blocks = calloc(INTERN_BLOCKS, sizeof(*observations->blocks));
    return observations->blocks ? 0 : CV_ENOMEM;
}

void observed_free(struct observations *observations)
{
    if (!observations->blocks)
        return;
    for (uint32_t i = 0; i < INTERN_BLOCKS; i++)
        free(observations->blocks[i]);
    while (observations->arenas) {
        struct observed_arena *next = observations->arenas->next;
        free(observations->arenas);
        observations->arenas = next;
    }
    free(observations->blocks);
    pthread_mutex_destroy(&observations->lock);
    *observations = (struct observations){0};
}

const struct observed *observed_newest(const struct observations *observations, uint32_t node_state)
{
    _Atomic(const struct observed *) *block = observations->blocks[node_state / INTERN_BLOCK];
    return block ? atomic_load_explicit(&block[node_state % INTERN_BLOCK], memory_order_acquire) : NULL;
}

const struct observed *observed_of(const struct observations *observations, uint32_t node_state)
{
    const struct observed *it = observed_newest(observations, node_state);
    while (it && it->epoch == observations->epoch && !observations->at_once)
        it = it->next;
    return it;
}

static bool is_known(const struct observations *observations, uint32_t node_state, const struct observed *observed)
{
    for (const struct observed *it = observed_newest(observations, node_state); it; it = it->next)
        if (it->after == observed->after && it->type == observed->type && it->argument == observed->argument &&
            it->alive == observed->alive && it->receivers == observed->receivers)
            return true;
    return false;
}

static struct observed *new_observed(struct observations *observations)
{
    if (observations->arena_used == ARENA_ROOM) {
        struct observed_arena *arena = malloc(sizeof *arena);
        if (!arena)
            return NULL;
        arena->next = observations->arenas;
        observations->arenas = arena;
        observations->arena_used = 0;
        observations->bytes += sizeof *arena;
    }
    return &observations->arenas->observations[observations->arena_used++];
}

static int add(struct observations *observations, uint32_t node_state, struct observed observed)
{
    _Atomic(const struct observed *) **block = &observations->blocks[node_state / INTERN_BLOCK];
    if (!*block && !(*block = calloc(INTERN_BLOCK, sizeof **block)))
        return CV_ENOMEM;
    if (is_known(observations, node_state, &observed))
        return 0;
    struct observed *fresh = new_observed(observations);
    if (!fresh)
        return CV_ENOMEM;
    *fresh = observed;
    fresh->epoch = observations->epoch;
    fresh->next = observed_newest(observations, node_state);
    atomic_store_explicit(&(*block)[node_state % INTERN_BLOCK], fresh, memory_order_release);
    observations->learnt = true;
    return 0;
}

int observed_add(struct observations *observations, uint32_t node_state, struct observed observed)
{
    pthread_mutex_lock(&observations->lock);
    const int error = add(observations, node_state, observed);
    pthread_mutex_unlock(&observations->lock);
    return error;
}

void observed_publish(struct observations *observations)
{
    observations->epoch++;
}
