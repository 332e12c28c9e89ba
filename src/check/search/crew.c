// SPDX-License-Identifier: MIT
#include "check/search/crew.h"

#include <sched.h>

#include "check/search/saved_search.h"

/* ---- memory ---- */

static uint64_t held(const struct crew *crew)
{
    uint64_t bytes =
        table_bytes(&crew->search->table, crew->search->table.room) + crew->chunks.bytes + model_bytes(crew->model);
    for (uint32_t i = 0; i < crew->threads; i++)
        bytes += crew->workers[i].remembered;
    return bytes;
}

void crew_halt(struct crew *crew, enum search_end end)
{
    pthread_mutex_lock(&crew->lock);
    const volatile sig_atomic_t *interrupted = crew->model->setting.options.interrupted;
    if (!crew->stop)
        crew->search->end = crew->search->spot.found      ? SEARCH_FOUND
                            : interrupted && *interrupted ? SEARCH_INTERRUPTED
                                                          : end;
    crew->stop = true;
    pthread_mutex_unlock(&crew->lock);
}

void crew_note_memory(struct crew *crew)
{
    const uint64_t bytes = held(crew);
    pthread_mutex_lock(&crew->lock);
    if (bytes > crew->search->bytes)
        crew->search->bytes = bytes;
    pthread_mutex_unlock(&crew->lock);
    if (bytes > crew->model->setting.options.memory)
        crew_halt(crew, SEARCH_MEMORY);
}

/* ---- barriers ---- */

/* Threads spin: barriers are many, and the waits short. */
void crew_meet(struct crew *crew, struct barrier *barrier, void (*alone)(struct crew *))
{
    const uint32_t passed = barrier->passed;
    if (++barrier->waiting == crew->threads) {
        barrier->waiting = 0;
        alone(crew);
        barrier->passed = passed + 1;
    }
    while (barrier->passed == passed)
        if (crew->wants_room && barrier != &crew->move)
            crew_help(crew);
        else if (crew->wants_save && barrier == &crew->level_end)
            crew_save(crew);
        else
            sched_yield();
}

/* ---- checkpoints ---- */

/* A search that is over, for whatever reason, may have lost states on its way. A spot is not in the file. */
bool crew_may_save(const struct crew *crew)
{
    return !crew->stop && !crew->model->out_of_memory && !crew->search->spot.found;
}

static void save(struct crew *crew)
{
    const volatile sig_atomic_t *interrupted = crew->model->setting.options.interrupted;
    crew->wants_save = false;
    if (crew_may_save(crew))
        saved_search_write(crew);
    if (interrupted && *interrupted)
        crew_halt(crew, SEARCH_INTERRUPTED);
}

void crew_save(struct crew *crew)
{
    crew_meet(crew, &crew->save, save);
}

/* ---- growing ---- */

/*
 * Grows fourfold while there is plenty of memory, then twofold, then by half; at the end up to the bound. A table that
 * is crowded and cannot grow has still some room.
 */
static void begin_growth(struct crew *crew)
{
    struct table *table = &crew->search->table;
    const uint64_t bound = crew->model->setting.options.memory, now = held(crew);
    const uint64_t others = now - table_bytes(table, table->room);
    uint64_t room = now < bound / 64 ? 4 * table->room : table->room + table->room / (now < bound / 8 ? 1 : 2);
    while (room > table->room && others + table_bytes(table, room) > bound)
        room -= table->room / 64;
    crew->wants_room = false;
    crew->growing = room > table->room + table->room / 16 && !table_begin_growth(table, room);
    crew->cannot_grow = !crew->growing;
    if (crew->growing)
        crew_note_memory(crew);
    else if (table->count > table->most)
        crew_halt(crew, SEARCH_MEMORY);
}

static void go_on(struct crew *crew)
{
    crew->growing = table_go_on(&crew->search->table);
}

/* While the table grows, all threads are here, so none of them uses it. */
void crew_help(struct crew *crew)
{
    crew_meet(crew, &crew->move, begin_growth);
    while (crew->growing) {
        table_move(&crew->search->table);
        crew_meet(crew, &crew->move, go_on);
    }
}

void crew_grow(struct crew *crew)
{
    crew->wants_room = true;
    crew_help(crew);
}
