// SPDX-License-Identifier: MIT
#include "cli/study/sweep_team.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/command.h"
#include "core/wall_clock.h"

#define PORTION_SECONDS 0.05 /* dealing takes microseconds, and a portion should not be long */
#define MOST_PORTION 65536u

void parcel_free(struct parcel *parcel)
{
    if (parcel)
        free(parcel->bytes.bytes);
    free(parcel);
}

/* ---- dealing; under the lock ---- */

/* The portions get smaller at the end, so that all threads end at about the same time. */
static uint32_t portion(const struct team *team)
{
    const uint64_t left = team->sweep->count - team->next, share = left / (2 * team->width);
    double wanted = team->tasks ? PORTION_SECONDS / (team->seconds / (double)team->tasks + 1e-9) : 1;
    if (wanted > (double)share)
        wanted = (double)share;
    return wanted < 1 ? 1 : wanted > MOST_PORTION ? MOST_PORTION : (uint32_t)wanted;
}

/* Passes over the results that came out of a checkpoint. Returns how many tasks there are before the next of them. */
static uint64_t pass_known(struct team *team)
{
    const struct sweep_saved *saved = team->sweep->saved;
    const size_t ranges = saved ? saved->known_count : 0;
    while (team->passed < ranges && saved->known[team->passed].first == team->next)
        team->next += saved->known[team->passed++].count;
    return (team->passed < ranges ? saved->known[team->passed].first : team->sweep->count) - team->next;
}

static bool deal(struct team *team, uint64_t *first, uint32_t *count)
{
    const uint64_t most = pass_known(team);
    if (!most || team->stopped)
        return false;
    *count = portion(team);
    *count = *count > most ? (uint32_t)most : *count;
    *first = team->next;
    team->next += *count;
    return true;
}

/* The next tasks of a thread, or NULL. */
static struct parcel *next_parcel(struct team *team)
{
    struct parcel *parcel = team->todo;
    if (!team->leads) {
        if (parcel) {
            team->todo = parcel->next;
            team->todo_count--;
        }
        return parcel;
    }
    uint64_t first;
    uint32_t count;
    if (!deal(team, &first, &count))
        return NULL;
    parcel = calloc(1, sizeof *parcel);
    if (!parcel)
        command_out_of_memory();
    parcel->first = first;
    parcel->count = count;
    return parcel;
}

bool team_deal(struct team *team, uint64_t *first, uint32_t *count)
{
    pthread_mutex_lock(&team->lock);
    const bool dealt = deal(team, first, count);
    pthread_mutex_unlock(&team->lock);
    return dealt;
}

bool team_add(struct team *team, uint64_t first, uint32_t count)
{
    struct parcel *parcel = calloc(1, sizeof *parcel), **place;
    if (!parcel)
        return false;
    parcel->first = first;
    parcel->count = count;
    pthread_mutex_lock(&team->lock);
    for (place = &team->todo; *place; place = &(*place)->next)
        ;
    *place = parcel;
    team->todo_count++;
    pthread_cond_signal(&team->work);
    pthread_mutex_unlock(&team->lock);
    return true;
}

/* Short tasks are fetched ahead; a long one could keep what is fetched from other threads. */
uint32_t team_wanting(struct team *team)
{
    pthread_mutex_lock(&team->lock);
    const bool ahead = team->tasks && team->seconds / (double)team->tasks < PORTION_SECONDS;
    const uint32_t wanted = team->idle + (ahead ? team->thread_count : 0);
    const uint32_t wanting = wanted > team->todo_count ? wanted - team->todo_count : 0;
    pthread_mutex_unlock(&team->lock);
    return wanting;
}

void team_learn(struct team *team, const struct parcel *parcel)
{
    pthread_mutex_lock(&team->lock);
    team->tasks += parcel->count;
    team->seconds += parcel->seconds;
    pthread_mutex_unlock(&team->lock);
}

/* ---- threads ---- */

static void compute(struct team *team, struct parcel *parcel)
{
    const double started = cv_wall_seconds();
    for (uint32_t i = 0; i < parcel->count; i++) {
        const size_t before = parcel->bytes.size;
        uint64_t size = 0;
        sweep_put_number(&parcel->bytes, size);
        team->sweep->compute(team->sweep->context, parcel->first + i, &team->halted, &parcel->bytes);
        if (parcel->bytes.out_of_memory)
            break;
        size = parcel->bytes.size - before - sizeof size;
        memcpy(parcel->bytes.bytes + before, &size, sizeof size);
        if (__atomic_load_n(&team->halted, __ATOMIC_RELAXED))
            parcel->count = i + 1;
    }
    parcel->seconds = cv_wall_seconds() - started;
}

static void *work(void *context)
{
    struct team *team = context;
    pthread_mutex_lock(&team->lock);
    while (!team->stopped) {
        struct parcel *parcel = next_parcel(team);
        if (!parcel) {
            team->idle++;
            pthread_cond_wait(&team->work, &team->lock);
            team->idle--;
            continue;
        }
        parcel->next = NULL;
        pthread_mutex_unlock(&team->lock);
        compute(team, parcel);
        pthread_mutex_lock(&team->lock);
        if (team->finished)
            team->last_finished->next = parcel;
        else
            team->finished = parcel;
        team->last_finished = parcel;
        pthread_cond_signal(&team->done);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

/* The threads leave signals to the thread that leads them. */
static void start_threads(struct team *team, uint32_t threads)
{
    sigset_t ours, before;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    while (team->thread_count < threads && pthread_create(&team->threads[team->thread_count], NULL, work, team) == 0)
        team->thread_count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int team_start(struct team *team, const struct sweep *sweep, uint32_t threads, uint64_t width, bool leads)
{
    *team =
        (struct team){.sweep = sweep, .width = width, .leads = leads, .next = sweep->saved ? sweep->saved->taken : 0};
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->work, NULL);
    pthread_cond_init(&team->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    team->threads = calloc(threads, sizeof *team->threads);
    if (!team->threads)
        return CV_ENOMEM;
    start_threads(team, threads);
    return team->thread_count ? 0 : CV_ETHREADS; /* the system may give fewer than asked for */
}

void team_stop(struct team *team)
{
    __atomic_store_n(&team->halted, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&team->lock);
    team->stopped = true;
    pthread_cond_broadcast(&team->work);
    pthread_mutex_unlock(&team->lock);
}

static void free_all(struct parcel *parcel)
{
    while (parcel) {
        struct parcel *next = parcel->next;
        parcel_free(parcel);
        parcel = next;
    }
}

void team_join(struct team *team)
{
    team_stop(team);
    for (uint32_t i = 0; i < team->thread_count; i++)
        pthread_join(team->threads[i], NULL);
    team->thread_count = 0;
}

void team_free(struct team *team)
{
    free_all(team->todo);
    free_all(team->finished);
    free(team->threads);
    pthread_mutex_destroy(&team->lock);
    pthread_cond_destroy(&team->work);
    pthread_cond_destroy(&team->done);
}

/* ---- results ---- */

struct parcel *team_take_done(struct team *team)
{
    pthread_mutex_lock(&team->lock);
    struct parcel *parcel = team->finished;
    if (parcel)
        team->finished = parcel->next;
    pthread_mutex_unlock(&team->lock);
    return parcel;
}

void team_wait_done(struct team *team, uint32_t most_ms)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += (long)most_ms * 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pthread_mutex_lock(&team->lock);
    if (!team->finished)
        pthread_cond_timedwait(&team->done, &team->lock, &end);
    pthread_mutex_unlock(&team->lock);
}
