// SPDX-License-Identifier: MIT
#include "sim/share/stages.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wall_clock.h"

#define TAG_RECORDS 5u
#define TAG_LAST_RECORDS 6u
#define BLOCK_BYTES ((size_t)1 << 20)
#define MOST_UNSENT 16u
#define FIRST_STAGE 64u /* ticks */
#define SHORT_STAGE 0.1 /* seconds; the next one is longer */
#define LONG_STAGE 0.5  /* the next one is shorter */

/* ---- writing ---- */

/* Records on their way to the first rank, which writes them as they come. Each stands after its size. */
struct outgoing {
    struct cv_ranks *ranks;
    struct cv_block *block;
    struct file_writer *writer; /* of the first rank; otherwise NULL */
    bool failed;
};

static void send_block(struct outgoing *outgoing, uint32_t tag)
{
    if (outgoing->block && cv_ranks_send(outgoing->ranks, 0, tag, outgoing->block))
        outgoing->failed = true;
    outgoing->block = NULL;
    while (cv_ranks_unsent(outgoing->ranks) > MOST_UNSENT)
        cv_ranks_rest(outgoing->ranks);
}

static void put_record(void *context, const void *bytes, size_t size)
{
    struct outgoing *outgoing = context;
    const uint64_t count = size;
    outgoing->failed |= !bytes;
    if (outgoing->failed)
        return;
    if (outgoing->writer) {
        file_write_number(outgoing->writer, count);
        file_write(outgoing->writer, bytes, size);
        return;
    }
    const size_t needed = sizeof count + size;
    if (outgoing->block && outgoing->block->room - outgoing->block->size < needed)
        send_block(outgoing, TAG_RECORDS);
    if (!outgoing->block)
        outgoing->block = cv_block_new(outgoing->ranks, needed > BLOCK_BYTES ? needed : BLOCK_BYTES);
    outgoing->failed |= !outgoing->block;
    if (outgoing->failed)
        return;
    memcpy(outgoing->block->bytes + outgoing->block->size, &count, sizeof count);
    memcpy(outgoing->block->bytes + outgoing->block->size + sizeof count, bytes, size);
    outgoing->block->size += needed;
}

struct writing {
    struct share_team *team;
    struct cv_ranks *ranks;
    const struct cv_sim *sum;
    uint64_t now;
};

/*
 * An empty last block says that a rank had no memory. Other ranks may have gone on, so that their batches come between
 * the records.
 */
static void write_others(struct batches *batches, struct cv_ranks *ranks, struct file_writer *writer)
{
    for (uint32_t ended = 1; ended < cv_ranks_count(ranks);) {
        struct cv_block *block;
        if (cv_ranks_receive(ranks, &block)) {
            file_writer_fail(writer, ENOMEM);
            return;
        }
        if (!block) {
            cv_ranks_rest(ranks);
            continue;
        }
        const bool records = block->tag == TAG_RECORDS || block->tag == TAG_LAST_RECORDS;
        if (records)
            file_write(writer, block->bytes, block->size);
        else if (batches_accept(batches, block))
            file_writer_fail(writer, ENOMEM);
        if (block->tag == TAG_LAST_RECORDS && !block->size)
            file_writer_fail(writer, ENOMEM);
        ended += block->tag == TAG_LAST_RECORDS;
        cv_block_free(ranks, block);
    }
}

static void write_records(void *context, struct file_writer *writer)
{
    const struct writing *writing = context;
    struct outgoing outgoing = {.ranks = writing->ranks, .writer = writer};
    const struct record_sink sink = {put_record, &outgoing};
    run_write_head(writing->sum, writing->now, &sink);
    run_write(writing->team->world, writing->team->workers, writing->team->count, &sink);
    if (outgoing.failed)
        file_writer_fail(writer, ENOMEM);
    write_others(&writing->team->batches, writing->ranks, writer);
}

static void send_records(const struct share_team *team, struct cv_ranks *ranks)
{
    struct outgoing outgoing = {.ranks = ranks};
    const struct record_sink sink = {put_record, &outgoing};
    run_write(team->world, team->workers, team->count, &sink);
    if (outgoing.failed && outgoing.block)
        outgoing.block->size = 0;
    if (!outgoing.block)
        outgoing.block = cv_block_new(ranks, 1);
    send_block(&outgoing, TAG_LAST_RECORDS);
}

/* What all workers have counted. */
static struct cv_sim add_up(const struct share_team *team, struct cv_ranks *ranks)
{
    struct cv_sim sum = *team->world;
    uint64_t most[5] = {0}, *count = sum.run.count;
    memset(&sum.run, 0, sizeof sum.run);
    for (uint32_t i = 0; i < team->count; i++) {
        const struct cv_sim *sim = team->workers[i].sim;
        const uint64_t here[5] = {sim->run.time, sim->run.decided, sim->run.last_exit, sim->chose, sim->strays};
        for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++)
            count[kind] += sim->run.count[kind];
        sum.run.calls += sim->run.calls;
        for (uint32_t j = 0; j < 5; j++)
            most[j] = here[j] > most[j] ? here[j] : most[j];
    }
    cv_ranks_reduce(ranks, CV_REDUCE_SUM, count, CV_MAX_KINDS);
    cv_ranks_reduce(ranks, CV_REDUCE_SUM, &sum.run.calls, 1);
    cv_ranks_reduce(ranks, CV_REDUCE_MOST, most, 5);
    sum.run.time = most[0];
    sum.run.decided = most[1];
    sum.run.last_exit = most[2];
    sum.chose = most[3];
    sum.strays = most[4];
    return sum;
}

static void save(struct share_team *team, const struct cv_share *share, uint64_t now)
{
    const struct cv_sim sum = add_up(team, share->ranks);
    const struct writing writing = {team, share->ranks, &sum, now};
    if (cv_ranks_own(share->ranks))
        send_records(team, share->ranks);
    else
        cv_checkpoint_write(share->checkpoint, write_records, (void *)(uintptr_t)&writing);
}

/* ---- going on ---- */

/* The next records of the file, whole ones. Returns their bytes; 0 at the end, SIZE_MAX if these are no records. */
static size_t read_records(struct file_reader *reader, unsigned char **bytes, size_t *room, uint64_t *kept)
{
    size_t size = 0;
    while (file_reader_left(reader) || *kept) {
        const uint64_t next = *kept ? *kept : file_read_number(reader);
        const size_t needed = size + sizeof next + next;
        *kept = 0;
        if (next > file_reader_left(reader) || file_reader_failed(reader))
            return SIZE_MAX;
        if (size && needed > BLOCK_BYTES) {
            *kept = next;
            break;
        }
        if (!*bytes || needed > *room) {
            const size_t more = needed > BLOCK_BYTES ? needed : BLOCK_BYTES;
            unsigned char *grown = realloc(*bytes, more);
            if (!grown)
                return SIZE_MAX;
            *bytes = grown;
            *room = more;
        }
        memcpy(*bytes + size, &next, sizeof next);
        file_read(reader, *bytes + size + sizeof next, next);
        size = needed;
    }
    return size;
}

static bool load_records(struct run_loader *loader, const unsigned char *bytes, size_t size)
{
    while (size) {
        uint64_t next;
        assert(bytes);
        memcpy(&next, bytes, sizeof next);
        if (!run_load(loader, bytes + sizeof next, next))
            return false;
        bytes += sizeof next + next;
        size -= sizeof next + next;
    }
    return true;
}

/* Reads the checkpoint in the first rank, for all. 0, CV_ENOMEM or CV_EFILE. */
static int go_on(struct share_team *team, const struct cv_share *share, struct file_reader *reader)
{
    struct run_loader loader;
    unsigned char *bytes = NULL;
    size_t room = 0;
    uint64_t kept = 0, size, trouble = run_loader_init(&loader, team->world, team->workers, team->count) != 0;
    cv_ranks_reduce(share->ranks, CV_REDUCE_MOST, &trouble, 1);
    while (!trouble) {
        size = reader ? read_records(reader, &bytes, &room, &kept) : 0;
        cv_ranks_broadcast(share->ranks, 0, &size, sizeof size);
        if (!size || size == SIZE_MAX)
            break;
        if (size > room) {
            free(bytes);
            bytes = malloc(size);
            room = bytes ? size : 0;
        }
        trouble = !bytes;
        cv_ranks_reduce(share->ranks, CV_REDUCE_MOST, &trouble, 1);
        if (trouble)
            break;
        cv_ranks_broadcast(share->ranks, 0, bytes, size);
        if (!load_records(&loader, bytes, size))
            trouble = 2;
        cv_ranks_reduce(share->ranks, CV_REDUCE_MOST, &trouble, 1);
    }
    if (!trouble)
        trouble = loader.failed ? 1 : size || !loader.begun ? 2 : 0;
    cv_ranks_reduce(share->ranks, CV_REDUCE_MOST, &trouble, 1);
    run_loader_free(&loader);
    free(bytes);
    return trouble == 2 ? CV_EFILE : trouble ? CV_ENOMEM : 0;
}

/* ---- stages ---- */

/* As cv_ranks_reduce(). False: the user ends the run, and nobody knows whether the other ranks are still there. */
static bool agree(const struct cv_share *share, const volatile sig_atomic_t *interrupted, enum cv_reduction reduction,
                  uint64_t *numbers, uint32_t count)
{
    cv_ranks_reduce_begin(share->ranks, reduction, numbers, count);
    while (!cv_ranks_reduced(share->ranks)) {
        if (interrupted && *interrupted)
            return false;
        cv_ranks_rest(share->ranks);
    }
    return true;
}

/* Fills in whether a worker has ended the run, and whether one has something left to do. */
static void look_at(const struct share_team *team, uint64_t pause, uint64_t both[2])
{
    both[0] = pause >= team->world->scenario->until;
    both[1] = 0;
    for (uint32_t i = 0; i < team->count; i++) {
        both[0] |= team->workers[i].stop != STOP_QUIET;
        both[1] |= !worker_is_done(&team->workers[i]);
    }
}

/* What the first rank decides between two stages. */
struct decision {
    uint64_t saves, ends, ticks;
};

static struct decision decide(const struct cv_share *share, bool interrupted, double seconds, uint64_t ticks)
{
    const bool due = share->checkpoint->path && cv_checkpoint_is_due(share->checkpoint);
    if (seconds < SHORT_STAGE && ticks < UINT64_MAX / 4)
        ticks *= 2;
    else if (seconds > LONG_STAGE && ticks > 1)
        ticks /= 2;
    return (struct decision){due || (interrupted && share->checkpoint->path), interrupted, ticks};
}

static int play_on(struct share_team *team, const struct cv_share *share, const volatile sig_atomic_t *interrupted,
                   uint64_t pause, bool begin, void (*run)(struct share_team *team, bool begin))
{
    const uint64_t until = team->world->scenario->until;
    const bool first = !cv_ranks_own(share->ranks);
    struct decision next = {.ticks = FIRST_STAGE};
    for (;; begin = false) {
        uint64_t both[2];
        const double started = cv_wall_seconds();
        pause = until - pause > next.ticks ? pause + next.ticks : until;
        for (uint32_t i = 0; i < team->count; i++)
            team->workers[i].sim->pause = pause;
        run(team, begin);
        if (team->workers[0].stop == STOP_INTERRUPTED && cv_ranks_count(share->ranks) > 1)
            return CV_EINTERRUPTED; /* other ranks may be gone already: nobody waits for them */
        look_at(team, pause, both);
        if (!agree(share, interrupted, CV_REDUCE_MOST, both, 2))
            return CV_EINTERRUPTED;
        if (both[0] || !both[1])
            return 0;
        next = first ? decide(share, interrupted && *interrupted, cv_wall_seconds() - started, next.ticks)
                     : (struct decision){0};
        if (!agree(share, interrupted, CV_REDUCE_MOST, &next.saves, sizeof next / sizeof next.saves))
            return CV_EINTERRUPTED;
        if (next.saves)
            save(team, share, pause);
        if (next.ends)
            return CV_EINTERRUPTED;
    }
}

int stages_play(struct share_team *team, const struct cv_share *share, const volatile sig_atomic_t *interrupted,
                void (*run)(struct share_team *team, bool begin))
{
    const bool first = !cv_ranks_own(share->ranks);
    struct file_reader *reader = first ? cv_checkpoint_content(share->checkpoint) : NULL;
    uint64_t resumes = reader != NULL;
    cv_ranks_broadcast(share->ranks, 0, &resumes, sizeof resumes);
    int error = resumes ? go_on(team, share, reader) : 0;
    if (first && !error)
        cv_checkpoint_is_found(share->checkpoint);
    return error ? error : play_on(team, share, interrupted, resumes ? team->workers[0].sim->now : 0, !resumes, run);
}
