// SPDX-License-Identifier: MIT
#include "check/search/depth_first.h"

#include <sched.h>

/* Takes a chunk of another thread. True if it found one, or if there is nothing left to find. */
static bool find_work(struct worker *worker)
{
    struct crew *crew = worker->crew;
    struct chunk *chunk = NULL;
    pthread_mutex_lock(&crew->lock);
    for (uint32_t i = 0; i < crew->threads && !chunk; i++)
        chunk = frontier_take(&crew->workers[i].frontier);
    if (chunk)
        crew->idle--;
    const bool over = chunk || crew->idle == crew->threads || crew->stop;
    pthread_mutex_unlock(&crew->lock);
    if (chunk)
        frontier_adopt(&worker->frontier, chunk);
    return over;
}

static void wait_for_work(struct worker *worker)
{
    struct crew *crew = worker->crew;
    crew->idle++;
    while (!find_work(worker))
        if (crew->wants_room)
            crew_help(crew);
        else
            sched_yield();
}

struct chunk *depth_first_next(struct worker *worker)
{
    struct frontier *frontier = &worker->frontier;
    if (!frontier_top(frontier))
        wait_for_work(worker);
    struct chunk *top = worker->crew->stop ? NULL : frontier_top(frontier);
    if (!top)
        return NULL;
    if (worker->crew->idle && top->count > 1)
        frontier_share(frontier);
    top->count--;
    return top;
}
