// SPDX-License-Identifier: MIT
#include "cli/study/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/study/sweep_team.h"
#include "core/hash_map.h"
#include "core/wall_clock.h"
#include "ranks/launch.h"

#define PAUSE_MS 100       /* how long the first rank sleeps if nothing happens */
#define LAST_SAVING_MS 400 /* for a last checkpoint */
#define TIME_LEFT_BYTES 64u

/* The first rank's view of a sweep. */
struct sweeping {
    const struct sweep *sweep;
    struct cv_ranks *ranks;
    struct team team;
    struct cv_hash_map waiting; /* parcels whose turn has not come, by their first task plus 1 */
    uint64_t taken;             /* results */
    uint64_t finished;          /* tasks */
    uint64_t known;             /* of them: from a checkpoint */
    uint32_t working;           /* other ranks that have not said goodbye */
    bool enough;
    bool out_of_memory;
    bool saved_last; /* the checkpoint is that of the end */
    bool shows;      /* progress */
    struct command_progress progress;
};

uint64_t sweep_width(const struct sweep *sweep, const struct cv_ranks *ranks)
{
    return (uint64_t)(sweep->threads ? sweep->threads : 1) * cv_ranks_count(ranks);
}

/* ---- progress ---- */

static const char *time_left(double seconds, char text[TIME_LEFT_BYTES])
{
    const uint64_t whole = (uint64_t)(seconds + 0.5);
    if (whole >= 3600)
        snprintf(text, TIME_LEFT_BYTES, ", %llu h %llu min left", (unsigned long long)(whole / 3600),
                 (unsigned long long)(whole / 60 % 60));
    else if (whole >= 60)
        snprintf(text, TIME_LEFT_BYTES, ", %llu min %llu s left", (unsigned long long)(whole / 60),
                 (unsigned long long)(whole % 60));
    else
        snprintf(text, TIME_LEFT_BYTES, ", %llu s left", (unsigned long long)whole);
    return text;
}

static void show_progress(struct sweeping *it)
{
    char text[TIME_LEFT_BYTES];
    if (!it->shows || !command_progress_due(&it->progress))
        return;
    const double seconds = it->progress.told - it->progress.started;
    const uint64_t left = it->sweep->count - it->finished, fresh = it->finished - it->known;
    command_progress_tell(&it->progress, "%llu of %llu %s%s", (unsigned long long)it->finished,
                          (unsigned long long)it->sweep->count, it->sweep->unit,
                          fresh ? time_left(seconds / (double)fresh * (double)left, text) : "");
}

/* ---- checkpoints ---- */

/* A result that ended the sweep, or was stopped, is none that others can follow. */
static void save(struct sweeping *it)
{
    struct sweep_saved *saved = it->sweep->saved;
    if (saved && !it->enough && !command_interrupted && cv_checkpoint_is_due(saved->checkpoint))
        sweep_saved_write(saved, it->taken, &it->waiting);
}

/*
 * The user wants to stop: what is known is kept, without the runs that are stopped now. When mpirun ends a job it does
 * not wait for long, so a file that takes long stays as it is.
 */
static void save_last(struct sweeping *it)
{
    struct sweep_saved *saved = it->sweep->saved;
    if (!saved || !saved->checkpoint->path || it->saved_last || it->enough || !command_interrupted)
        return;
    it->saved_last = true;
    if (cv_ranks_count(it->ranks) == 1 || !saved->checkpoint->exists || saved->checkpoint->took_ms < LAST_SAVING_MS)
        sweep_saved_write(saved, it->taken, &it->waiting);
}

/* Goes on where the checkpoint ends. */
static void go_on(struct sweeping *it)
{
    struct sweep_saved *saved = it->sweep->saved;
    if (!saved)
        return;
    it->taken = it->known = saved->taken;
    it->waiting = saved->waiting;
    saved->waiting = (struct cv_hash_map){0};
    for (size_t i = 0; i < saved->known_count; i++)
        it->known += saved->known[i].count;
    it->finished = it->known;
}

/* ---- taking results ---- */

static void take_parcel(struct sweeping *it, struct parcel *parcel)
{
    struct sweep_reader reader = {parcel->bytes.bytes, parcel->bytes.size};
    for (uint32_t i = 0; i < parcel->count && !it->enough; i++) {
        const uint64_t size = sweep_get_number(&reader);
        struct sweep_reader one = {reader.at, size};
        it->enough = !it->sweep->take(it->sweep->context, it->taken++, &one);
        reader.at += size;
        reader.left -= size;
    }
    parcel_free(parcel);
}

static void take_waiting(struct sweeping *it)
{
    struct cv_hash_entry *entry;
    while (!it->enough && (entry = cv_hash_map_find(&it->waiting, it->taken + 1))) {
        struct parcel *next = entry->pointer;
        cv_hash_map_remove(&it->waiting, entry);
        take_parcel(it, next);
    }
}

static void receive_parcel(struct sweeping *it, struct parcel *parcel)
{
    it->finished += parcel->count;
    team_learn(&it->team, parcel);
    if (parcel->bytes.out_of_memory)
        it->out_of_memory = true;
    struct cv_hash_entry *entry = cv_hash_map_add(&it->waiting, parcel->first + 1);
    if (!entry || it->out_of_memory) {
        it->out_of_memory = true;
        parcel_free(parcel);
        return;
    }
    entry->pointer = parcel;
    take_waiting(it);
}

static bool is_over(const struct sweeping *it)
{
    return it->taken == it->sweep->count || it->enough || it->out_of_memory || command_interrupted;
}

/* ---- other ranks ---- */

enum tag { TAG_WANT, TAG_RANGE, TAG_RESULTS, TAG_STOP, TAG_GOODBYE };

struct range_block {
    uint64_t first;
    uint32_t count, unused;
};

struct results_block {
    uint64_t first;
    uint32_t count;
    uint32_t out_of_memory;
    double seconds;
};

static bool send_bytes(struct cv_ranks *ranks, uint32_t to, enum tag tag, const void *head, size_t head_size,
                       const void *more, size_t more_size)
{
    struct cv_block *block = cv_block_new(ranks, head_size + more_size);
    if (!block)
        return false;
    if (head_size)
        memcpy(block->bytes, head, head_size);
    if (more_size)
        memcpy(block->bytes + head_size, more, more_size);
    block->size = head_size + more_size;
    return cv_ranks_send(ranks, to, tag, block) == 0;
}

static struct parcel *unpack(const struct cv_block *block)
{
    struct results_block head;
    memcpy(&head, block->bytes, sizeof head);
    struct parcel *parcel = calloc(1, sizeof *parcel);
    if (!parcel)
        return NULL;
    *parcel = (struct parcel){
        .first = head.first, .count = head.count, .seconds = head.seconds, .bytes.out_of_memory = head.out_of_memory};
    sweep_put(&parcel->bytes, block->bytes + sizeof head, block->size - sizeof head);
    return parcel;
}

/* The first rank answers another one. */
static void hear(struct sweeping *it, const struct cv_block *block)
{
    if (block->tag == TAG_WANT) {
        struct range_block range = {0};
        if (!team_deal(&it->team, &range.first, &range.count))
            return; /* nothing is left: it hears of the end */
        it->out_of_memory |= !send_bytes(it->ranks, block->peer, TAG_RANGE, &range, sizeof range, NULL, 0);
    } else if (block->tag == TAG_RESULTS) {
        struct parcel *parcel = unpack(block);
        if (parcel)
            receive_parcel(it, parcel);
        else
            it->out_of_memory = true;
    } else if (block->tag == TAG_GOODBYE) {
        it->working--;
    }
}

static bool hear_all(struct sweeping *it)
{
    struct cv_block *block;
    bool heard = false;
    while (cv_ranks_receive(it->ranks, &block) == 0 && block) {
        heard = true;
        hear(it, block);
        cv_block_free(it->ranks, block);
    }
    return heard;
}

static void tell_others_to_stop(struct sweeping *it)
{
    for (uint32_t rank = 1; rank < cv_ranks_count(it->ranks); rank++)
        it->out_of_memory |= !send_bytes(it->ranks, rank, TAG_STOP, NULL, 0, NULL, 0);
}

/* A user who has interrupted the job does not wait for the others. */
static void wait_for_goodbyes(struct sweeping *it)
{
    while (it->working && !command_interrupted)
        if (!hear_all(it))
            cv_ranks_rest(it->ranks);
}

/* What a rank does that is not the first. */
static int serve(struct cv_ranks *ranks, struct team *team)
{
    uint32_t asked = 0; /* ranges that have not come */
    bool stopped = false, memory = true;
    while (!stopped && memory && !command_interrupted) {
        struct cv_block *block;
        struct parcel *parcel;
        bool idle = true;
        while (memory && team_wanting(team) > asked) {
            memory = send_bytes(ranks, 0, TAG_WANT, NULL, 0, NULL, 0);
            asked++;
        }
        while (memory && (parcel = team_take_done(team))) {
            const struct results_block head = {parcel->first, parcel->count, parcel->bytes.out_of_memory,
                                               parcel->seconds};
            team_learn(team, parcel);
            memory = send_bytes(ranks, 0, TAG_RESULTS, &head, sizeof head, parcel->bytes.bytes, parcel->bytes.size);
            parcel_free(parcel);
            idle = false;
        }
        while (memory && (memory = cv_ranks_receive(ranks, &block) == 0) && block) {
            struct range_block range;
            stopped |= block->tag == TAG_STOP;
            if (block->tag == TAG_RANGE) {
                memcpy(&range, block->bytes, sizeof range);
                memory = team_add(team, range.first, range.count);
                asked--;
            }
            cv_block_free(ranks, block);
            idle = false;
        }
        if (idle)
            cv_ranks_rest(ranks);
    }
    team_join(team);
    if (stopped)
        send_bytes(ranks, 0, TAG_GOODBYE, NULL, 0, NULL, 0);
    return memory ? 0 : CV_ENOMEM;
}

/* ---- the first rank ---- */

/* Takes what the own threads have finished. */
static bool take_done(struct sweeping *it)
{
    struct parcel *parcel;
    bool any = false;
    while ((parcel = team_take_done(&it->team))) {
        receive_parcel(it, parcel);
        any = true;
    }
    return any;
}

static void lead(struct sweeping *it)
{
    const bool others = cv_ranks_count(it->ranks) > 1;
    while (!is_over(it)) {
        bool idle = !(others && hear_all(it));
        idle &= !take_done(it);
        save(it);
        show_progress(it);
        if (idle && others)
            cv_ranks_rest(it->ranks);
        else if (idle)
            team_wait_done(&it->team, PAUSE_MS);
    }
    take_done(it);
    save_last(it);
    tell_others_to_stop(it);
    team_join(&it->team);
    take_done(it); /* what was finished when the user wanted to stop */
    it->enough = true;
    wait_for_goodbyes(it);
}

static void forget_waiting(struct sweeping *it)
{
    for (size_t i = 0; i < it->waiting.room; i++)
        if (it->waiting.entries[i].key)
            parcel_free(it->waiting.entries[i].pointer);
    cv_hash_map_free(&it->waiting);
}

/* One thread of one rank needs no other. */
static void run_alone(struct sweeping *it)
{
    struct sweep_bytes result = {0};
    while (!is_over(it)) {
        result.size = 0;
        it->sweep->compute(it->sweep->context, it->taken, &command_interrupted, &result);
        it->out_of_memory = result.out_of_memory;
        struct sweep_reader reader = {result.bytes, result.size};
        save_last(it);
        if (!it->out_of_memory)
            it->enough = !it->sweep->take(it->sweep->context, it->taken++, &reader);
        it->finished++;
        take_waiting(it);
        save(it);
        show_progress(it);
    }
    save_last(it);
    free(result.bytes);
}

int sweep_run(const struct sweep *sweep, struct cv_ranks *ranks)
{
    const uint32_t threads = sweep->threads ? sweep->threads : 1, count = cv_ranks_count(ranks);
    struct sweeping it = {.sweep = sweep,
                          .ranks = ranks,
                          .working = count - 1,
                          .shows = cv_launch_shows(),
                          .progress.started = cv_wall_seconds()};
    int error = 0;
    go_on(&it);
    if (threads == 1 && count == 1) {
        run_alone(&it);
    } else {
        error = team_start(&it.team, sweep, threads, sweep_width(sweep, ranks), cv_ranks_own(ranks) == 0);
        if (!error && cv_ranks_own(ranks))
            error = serve(ranks, &it.team);
        else if (!error)
            lead(&it);
        team_join(&it.team);
        team_free(&it.team);
    }
    forget_waiting(&it);
    command_progress_end(&it.progress);
    return it.out_of_memory ? CV_ENOMEM : error;
}
