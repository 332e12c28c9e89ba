// SPDX-License-Identifier: MIT
#include "sim/share/share.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/apart.h"
#include "core/wall_clock.h"
#include "guard/guarded.h"
#include "sim/engine.h"
#include "sim/quick.h"
#include "sim/rounds.h"
#include "sim/setup.h"
#include "sim/share/gather.h"
#include "sim/share/stages.h"
#include "sim/workload.h"

/* In smaller groups the first violated invariant is told, of all nodes. And they are played in no time. */
#define SMALLEST_SHARED_GROUP 257u

const char *cv_share_obstacle(const struct cv_scenario *scenario, bool observed)
{
    const struct cv_algorithm *algorithm = scenario->algorithm;
    if (scenario->group.nodes < SMALLEST_SHARED_GROUP)
        return "";
    if (observed)
        return "its events are told in order";
    if (!cv_sim_is_plain(scenario))
        return "faults, lags, lost or unordered messages, --serial and several names concern all nodes at once";
    if (algorithm->hints.perpetual)
        return "it ends with the last exit, wherever that is";
    if (cv_is_guarded(algorithm) || (scenario->app && cv_is_guarded(scenario->app)))
        return "the handlers of a plugin are watched one at a time";
    return NULL;
}

/* ---- the workers of this rank ---- */

static int team_init(struct share_team *team, const struct cv_scenario *scenario, const struct cv_sim_options *options,
                     const struct cv_share *share, bool wide)
{
    const uint32_t all = share->threads * cv_ranks_count(share->ranks);
    *team = (struct share_team){.count = share->threads};
    if (batches_init(&team->batches, share->ranks, share->threads) ||
        split_make(&team->split, scenario, share->ranks, all, wide))
        return CV_ENOMEM;
    const uint32_t first = batches_first(&team->batches);
    team->elsewhere = split_part(&team->split, first, team->count);
    team->workers = cv_new_apart(team->count * sizeof *team->workers);
    if (!team->workers || world_new(&team->world, scenario, options, &team->elsewhere))
        return CV_ENOMEM;
    int error = 0;
    for (uint32_t i = 0; !error && i < team->count; i++)
        error = worker_init(&team->workers[i], team->world, &team->split, &team->batches, first + i);
    return error;
}

/* The world stays if the caller has taken it. */
static void team_free(struct share_team *team)
{
    for (uint32_t i = 0; team->workers && i < team->count; i++)
        worker_free(&team->workers[i]);
    free(team->workers);
    cv_sim_free(team->world);
    split_free(&team->split);
    batches_free(&team->batches);
}

static void *begin_worker(void *worker)
{
    worker_run(worker, true);
    return NULL;
}

static void *continue_worker(void *worker)
{
    worker_run(worker, false);
    return NULL;
}

static void team_run(struct share_team *team, bool begin)
{
    void *(*run_worker)(void *) = begin ? begin_worker : continue_worker;
    pthread_t threads[SHARE_MOST_WORKERS];
    uint32_t started = 1;
    while (started < team->count && !pthread_create(&threads[started], NULL, run_worker, &team->workers[started]))
        started++;
    team->workers[0].alone = started < team->count; /* it tells the others */
    run_worker(&team->workers[0]);
    for (uint32_t i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
}

/* ---- the result ---- */

static void look_at_rest(struct share_worker *worker, quick_look *look)
{
    quick_look_at_rest(worker->sim, look);
    for (size_t i = 0; i < worker->ahead_count; i++) {
        const struct ahead *ahead = &worker->ahead[i];
        for (const unsigned char *at = ahead->rows; at < ahead->rows + ahead->bytes;) {
            const struct cv_row *row = (const void *)at;
            const struct cv_message *first = (const void *)(row + 1);
            look(worker->sim, first, row->further);
            at += sizeof *row + cv_message_bytes(first);
        }
    }
}

/* Adds what a worker has counted to the world. */
static int add_worker(struct cv_sim *world, struct share_worker *worker)
{
    struct cv_sim *sim = worker->sim;
    struct cv_run *run = &world->run;
    look_at_rest(worker, quick_count);
    for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++)
        run->count[kind] += sim->run.count[kind];
    run->calls += sim->run.calls;
    run->time = sim->run.time > run->time ? sim->run.time : run->time;
    run->decided = sim->run.decided > run->decided ? sim->run.decided : run->decided;
    run->last_exit = sim->run.last_exit > run->last_exit ? sim->run.last_exit : run->last_exit;
    world->now = sim->now > world->now ? sim->now : world->now;
    world->chose |= sim->chose;
    return sim->load ? load_add_entries(world, sim->load->entries, sim->load->turns, sim->load->entry_count) : 0;
}

static uint64_t messages_of(const struct cv_sim *sim)
{
    uint64_t messages = 0;
    for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++)
        messages += sim->run.count[kind];
    return messages;
}

static void fill_report(const struct share_team *team, struct cv_share_report *report)
{
    for (uint32_t i = 0; i < team->count; i++) {
        const struct share_worker *worker = &team->workers[i];
        struct cv_share_part *part = &report->parts[worker->number];
        for (cv_node node = 0; node < team->split.nodes; node++)
            part->nodes += !elsewhere_has(&worker->elsewhere, node);
        part->messages = messages_of(worker->sim);
        part->waiting_us = (uint64_t)(worker->idle_seconds * 1e6);
    }
}

/* The gravest reason of any worker here to stop, and whether some have something left to do. */
static void team_stop(struct share_team *team, uint64_t *stop, uint64_t *left)
{
    *stop = *left = 0;
    for (uint32_t i = 0; i < team->count; i++) {
        struct share_worker *worker = &team->workers[i];
        if (worker->stop == STOP_QUIET && worker->sim->rounds) {
            look_at_rest(worker, rounds_leave);
            rounds_compare(worker->sim);
        }
        if (worker->stop == STOP_QUIET && worker->elsewhere.doubtful)
            worker->stop = STOP_DOUBTFUL;
        *stop = worker->stop > *stop ? worker->stop : *stop;
        *left |= !worker_is_done(worker);
    }
}

static int finish(struct share_team *team, const struct cv_share *share, bool left, struct cv_run *run,
                  struct cv_share_report *report)
{
    struct cv_sim *world = team->world;
    int error = 0;
    for (uint32_t i = 0; !error && i < team->count; i++)
        error = add_worker(world, &team->workers[i]);
    fill_report(team, report);
    for (uint32_t i = 0; i < team->count; i++)
        worker_free(&team->workers[i]); /* the judges need memory, too */
    malloc_trim(0);
    if (!error)
        error = gather_run(world, share->ranks, report);
    world->elsewhere = NULL;
    if (error || cv_ranks_own(share->ranks))
        return error;
    if (load_sort_entries(world))
        return CV_ENOMEM;
    world->run.ending = left ? CV_OUT_OF_TIME : CV_QUIET;
    world_settle(world, run);
    return 0;
}

/* ---- playing ---- */

/* One worker plays, whom nobody has to wait for. */
static int play_alone(struct cv_sim **sim, const struct cv_scenario *scenario, const struct cv_sim_options *options,
                      struct cv_run *run)
{
    int error = cv_sim_new(sim, scenario, options);
    return error ? error : cv_sim_run(*sim, run);
}

/* Plays once. `*stop` says whether it has to be played again. */
static int play_shared(struct cv_sim **sim, const struct cv_scenario *scenario, const struct cv_sim_options *options,
                       const struct cv_share *share, bool wide, uint64_t *stop, struct cv_run *run,
                       struct cv_share_report *report)
{
    struct share_team team;
    struct cv_sim_options heard = options ? *options : (struct cv_sim_options){0};
    if (share->checkpoint && cv_ranks_count(share->ranks) == 1)
        heard.interrupted = NULL; /* the stage is played to its end, and written */
    uint64_t left, failed = team_init(&team, scenario, &heard, share, wide) != 0;
    cv_ranks_reduce(share->ranks, CV_REDUCE_MOST, &failed, 1);
    int error = failed ? CV_ENOMEM : 0;
    if (!error && share->checkpoint)
        error = stages_play(&team, share, options ? options->interrupted : NULL, team_run);
    else if (!error)
        team_run(&team, true);
    if (!error)
        team_stop(&team, stop, &left);
    if (!error && *stop == STOP_INTERRUPTED && cv_ranks_count(share->ranks) > 1)
        error = CV_EINTERRUPTED; /* other ranks may be gone already: nobody waits for them */
    if (!error)
        error = batches_drain(&team.batches);
    if (!error) {
        uint64_t both[2] = {*stop, left};
        cv_ranks_reduce(share->ranks, CV_REDUCE_MOST, both, 2);
        *stop = both[0];
        left = both[1];
        if (*stop == STOP_NO_MEMORY || *stop == STOP_NO_THREADS)
            error = *stop == STOP_NO_MEMORY ? CV_ENOMEM : CV_ETHREADS;
        else if (*stop == STOP_QUIET || *stop == STOP_INTERRUPTED)
            error = finish(&team, share, left, run, report);
        if (!error && *stop == STOP_INTERRUPTED)
            run->ending = team.world->run.ending = CV_INTERRUPTED;
    }
    if (!error && (*stop == STOP_QUIET || *stop == STOP_INTERRUPTED) && !cv_ranks_own(share->ranks)) {
        *sim = team.world;
        team.world = NULL;
    }
    team_free(&team);
    return error;
}

int cv_share_run(struct cv_sim **sim, const struct cv_scenario *scenario, const struct cv_sim_options *options,
                 const struct cv_share *share, struct cv_run *run, struct cv_share_report *report)
{
    const uint32_t workers = share->threads * cv_ranks_count(share->ranks);
    const bool first = cv_ranks_own(share->ranks) == 0;
    const double started = cv_wall_seconds();
    uint64_t stop = STOP_NOT;
    int error = 0;
    *sim = NULL;
    *report = (struct cv_share_report){.workers = workers, .parts = calloc(workers, sizeof *report->parts)};
    if (!report->parts)
        return CV_ENOMEM;
    if ((workers > 1 || share->checkpoint) && workers <= SHARE_MOST_WORKERS && workers <= scenario->group.nodes &&
        !cv_share_obstacle(scenario, options && options->observer.event)) {
        error = play_shared(sim, scenario, options, share, false, &stop, run, report);
        if (!error && stop == STOP_EARLY)
            error = play_shared(sim, scenario, options, share, true, &stop, run, report);
        if (error || (stop != STOP_DOUBTFUL && stop != STOP_EARLY))
            goto out;
    }
    report->workers = 1;
    if (first)
        error = play_alone(sim, scenario, options, run);
out:
    report->seconds_us = (uint64_t)((cv_wall_seconds() - started) * 1e6);
    return error;
}
