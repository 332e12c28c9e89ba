// SPDX-License-Identifier: MIT
#include "check/search/saved_search.h"

#include <errno.h>
#include <stdlib.h>

#include "check/search/rank_accord.h"
#include "check/search/rank_file.h"
#include "check/state/saved_model.h"
#include "saved/checkpoint.h"

/* A table may be as full as this, in percent, when the search goes on. */
#define FILLED 60u
#define FILLED_COMPACT 80u

/* What all threads of all ranks have done. */
struct saved_sums {
    uint64_t states;
    uint64_t waiting; /* states to be expanded */
    uint64_t transitions;
    uint64_t expanded;
    uint64_t saved;
    uint64_t end_states;
    uint64_t bytes;
    uint64_t disk_bytes;
    uint64_t may_cycle;
    uint64_t reduced;
};

/* The numbers of a search. */
struct saved_numbers {
    struct saved_sums sums;
    uint64_t patience;
    struct reduction_gain gain;
    uint32_t depth;
    uint32_t ranks; /* sections in the file */
    uint32_t nodes; /* by which the ranks own states, as in struct ownership; 0: by the key */
};

static uint32_t ranks_of(const struct crew *crew)
{
    return crew->exchange ? cv_ranks_count(crew->exchange->ranks) : 1;
}

/* ---- numbers ---- */

static void add_up_ranks(struct crew *crew, struct saved_sums *sums)
{
    uint64_t numbers[sizeof *sums / sizeof(uint64_t)];
    if (!crew->exchange)
        return;
    memcpy(numbers, sums, sizeof *sums);
    cv_ranks_reduce(crew->exchange->ranks, CV_REDUCE_SUM, numbers, sizeof numbers / sizeof *numbers);
    memcpy(sums, numbers, sizeof *sums);
}

static void find_numbers(struct crew *crew, struct saved_numbers *numbers)
{
    struct search *search = crew->search;
    memset(numbers, 0, sizeof *numbers); /* the bytes between fields are in the file, too */
    struct saved_sums *sums = &numbers->sums;
    sums->bytes = search->bytes;
    sums->disk_bytes = search->disk.most;
    sums->waiting = crew->chunks.queued;
    for (uint32_t i = 0; i < crew->threads; i++) {
        struct worker *worker = &crew->workers[i];
        search->table.count += worker->fresh;
        worker->fresh = 0;
        sums->waiting += worker->frontier.out ? worker->frontier.out->count : 0;
        sums->transitions += worker->transitions;
        sums->expanded += worker->expanded;
        sums->saved += worker->saved;
        sums->end_states += worker->end_states;
        sums->may_cycle |= worker->may_cycle;
        sums->reduced |= worker->reduced;
    }
    sums->states = search->table.count;
    add_up_ranks(crew, sums);
    numbers->patience = crew->patience;
    numbers->gain = crew->gain;
    numbers->depth = search->depth;
    numbers->ranks = ranks_of(crew);
    numbers->nodes = crew->exchange ? crew->exchange->ownership.nodes : 0;
}

/* The first rank goes on counting for all. */
static void restore_numbers(struct crew *crew, const struct saved_numbers *numbers)
{
    const struct saved_sums *sums = &numbers->sums;
    struct search *search = crew->search;
    struct worker *first = &crew->workers[0];
    crew->patience = numbers->patience;
    crew->gain = numbers->gain;
    search->depth = numbers->depth;
    search->bytes = sums->bytes / ranks_of(crew);
    search->disk.most = sums->disk_bytes / ranks_of(crew);
    if (crew->exchange && crew->exchange->own)
        return;
    first->transitions = sums->transitions;
    first->expanded = sums->expanded;
    first->saved = sums->saved;
    first->end_states = sums->end_states;
    first->may_cycle = sums->may_cycle != 0;
    first->reduced = sums->reduced != 0;
}

/* ---- states ---- */

static void write_table(const struct table *table, struct file_writer *writer)
{
    const size_t bytes = parent_record_bytes(table->wide);
    for (uint64_t at = 0; at <= table->last; at++) {
        if (!table->slots[at].fingerprint)
            continue;
        const struct parent_record record = {table->slots[at].fingerprint, table->slots[at].info,
                                             table->wide ? table->second[at] : 0};
        file_write(writer, &record, bytes);
    }
}

/* A compact table lacks the parents; the log has all states. */
static void write_log(struct crew *crew, struct file_writer *writer)
{
    struct spill *spill = &crew->search->parents.spill;
    for (uint32_t i = 0; i < crew->threads; i++)
        parent_log_flush(&crew->search->parents, crew->workers[i].parents);
    unsigned char *bytes = malloc(CHUNK_BYTES);
    uint64_t at = 0;
    while (bytes && at < spill->bytes) {
        const size_t count = spill->bytes - at < CHUNK_BYTES ? (size_t)(spill->bytes - at) : CHUNK_BYTES;
        if (!spill_read(spill, at, bytes, count))
            break;
        file_write(writer, bytes, count);
        at += count;
    }
    if (at < spill->bytes)
        file_writer_fail(writer, bytes ? EIO : ENOMEM);
    free(bytes);
}

static void write_entries(struct crew *crew, struct file_writer *writer)
{
    file_write_number(writer, crew->search->table.count);
    if (crew->search->table.compact)
        write_log(crew, writer);
    else
        write_table(&crew->search->table, writer);
}

/* ---- the frontier ---- */

static void write_chunk(const struct chunk *chunk, struct file_writer *writer)
{
    file_write_number(writer, chunk->slots);
    file_write_number(writer, chunk->count);
    file_write(writer, chunk->words, (size_t)chunk->count * chunk_stride(chunk->slots) * sizeof *chunk->words);
}

/* The chunks in a file, the oldest first. */
static void write_file(struct spill *spill, struct file_writer *writer)
{
    struct chunk *chunk = spill->bytes ? malloc(CHUNK_BYTES) : NULL;
    for (uint64_t at = 0; at < spill->bytes; at += CHUNK_BYTES) {
        if (!chunk || !spill_read(spill, at, chunk, CHUNK_BYTES)) {
            file_writer_fail(writer, chunk ? EIO : ENOMEM);
            break;
        }
        write_chunk(chunk, writer);
    }
    free(chunk);
}

static uint64_t list_length(const struct chunk *list)
{
    uint64_t count = 0;
    for (; list; list = list->next)
        count++;
    return count;
}

/* The chunks of a level: on disk, in memory, and one that is being filled, which may be NULL. */
static void write_level(const struct worker *worker, struct spill *spill, const struct chunk *list,
                        const struct chunk *filling, struct file_writer *writer)
{
    const uint64_t on_disk = worker->parents ? spill->bytes / CHUNK_BYTES : 0;
    file_write_number(writer, on_disk + list_length(list) + (filling != NULL));
    if (on_disk)
        write_file(spill, writer);
    for (; list; list = list->next)
        write_chunk(list, writer);
    if (filling)
        write_chunk(filling, writer);
}

static void write_frontier(struct worker *worker, struct file_writer *writer)
{
    const struct frontier *frontier = &worker->frontier;
    write_level(worker, &worker->file.level, frontier->level, NULL, writer);
    write_level(worker, &worker->file.next, frontier->next, frontier->out, writer);
}

static void write_section(void *context, struct file_writer *writer)
{
    struct crew *crew = context;
    saved_model_write(crew->model, writer);
    write_entries(crew, writer);
    file_write_number(writer, crew->threads);
    for (uint32_t i = 0; i < crew->threads; i++)
        write_frontier(&crew->workers[i], writer);
}

/* ---- writing ---- */

struct writing {
    struct crew *crew;
    struct saved_numbers numbers;
};

static void write_search(void *context, struct file_writer *writer)
{
    const struct writing *writing = context;
    file_write(writer, &writing->numbers, sizeof writing->numbers);
    write_section(writing->crew, writer);
    if (writing->crew->exchange)
        rank_file_gather(writing->crew->exchange->ranks, writer);
}

void saved_search_write(struct crew *crew)
{
    struct writing writing = {.crew = crew};
    struct cv_ranks *ranks = crew->exchange ? crew->exchange->ranks : NULL;
    find_numbers(crew, &writing.numbers);
    if (!is_first_rank(ranks)) {
        rank_file_serve(ranks, write_section, crew);
        return;
    }
    cv_checkpoint_write(crew->model->setting.options.checkpoint, write_search, &writing);
    if (ranks)
        rank_file_end(ranks);
}

/* ---- reading ---- */

struct reading {
    struct crew *crew;
    struct file_reader *reader;
    struct saved_numbers numbers;
    struct numbering numbering; /* of the section */
    uint32_t section;
    uint64_t chunks;       /* of all sections so far */
    uint64_t waiting;      /* states that this rank has taken */
    uint64_t merged;       /* entries of other sections with a fingerprint that was there already */
    struct chunk *filling; /* with states that it takes; NULL: none */
};

/* Do the ranks own what they owned, because there are as many? */
static bool own_as_before(const struct reading *reading)
{
    return reading->crew->exchange && reading->crew->exchange->ownership.nodes;
}

static bool is_own_entry(const struct reading *reading, uint64_t fingerprint)
{
    const struct exchange *exchange = reading->crew->exchange;
    if (own_as_before(reading))
        return reading->section == exchange->own;
    return !exchange || owner_among(exchange->ownership.ranks, fingerprint) == exchange->own;
}

/* Ranks that do not have what they had take one chunk after the other. */
static bool takes_chunk(const struct reading *reading)
{
    const struct exchange *exchange = reading->crew->exchange;
    if (own_as_before(reading))
        return reading->section == exchange->own;
    return !exchange || reading->chunks % ranks_of(reading->crew) == exchange->own;
}

/* Room for this rank's share, which may be a little more than that of others. */
static int make_room(const struct reading *reading)
{
    struct table *table = &reading->crew->search->table;
    const uint64_t share = reading->numbers.sums.states / ranks_of(reading->crew);
    const uint64_t count = reading->crew->exchange ? share + share / 16 + 1024 : share;
    const uint64_t needed = count * 100 / (table->compact ? FILLED_COMPACT : FILLED) + 1;
    return needed > table->room && table_grow(table, needed + table->room / 4) ? CV_ENOMEM : 0;
}

/*
 * By chance, two ranks may have had states with one fingerprint. Where these come together they are one, as in a search
 * without ranks.
 */
static int restore_entry(struct reading *reading, const struct parent_record *record)
{
    struct search *search = reading->crew->search;
    struct table *table = &search->table;
    if (table_is_crowded(table) && table_grow(table, table->room + table->room / 4))
        return CV_ENOMEM;
    if (!record->fingerprint)
        return CV_EINPUT;
    if (!table_restore(table, record->fingerprint, record->second, record->info, search->depth)) {
        reading->merged++;
        return reading->section ? 0 : CV_EINPUT;
    }
    table->count++;
    if (table->compact)
        parent_log_copy(&search->parents, reading->crew->workers[0].parents, record);
    return 0;
}

static int read_entries(struct reading *reading)
{
    const size_t bytes = parent_record_bytes(reading->crew->search->table.wide);
    const uint64_t count = file_read_number(reading->reader);
    int error = count > file_reader_left(reading->reader) / bytes ? CV_EINPUT : 0;
    for (uint64_t i = 0; i < count && !error; i++) {
        struct parent_record record = {0};
        file_read(reading->reader, &record, bytes);
        if (is_own_entry(reading, record.fingerprint))
            error = restore_entry(reading, &record);
    }
    return error;
}

/* Puts a chunk where the first thread would have put it. Other threads take from there. */
static int keep_filled(struct reading *reading, bool next)
{
    struct worker *worker = &reading->crew->workers[0];
    struct chunk *chunk = reading->filling;
    reading->filling = NULL;
    if (!chunk)
        return 0;
    worker->frontier.store->queued += chunk->count;
    reading->waiting += chunk->count;
    if (!worker->parents) {
        frontier_restore(&worker->frontier, chunk, next);
        return 0;
    }
    const bool written = spill_append(next ? &worker->file.next : &worker->file.level, chunk, CHUNK_BYTES);
    frontier_keep(&worker->frontier, chunk);
    return written ? 0 : CV_EFILE;
}

/* Reads a chunk; CV_EINPUT if it is none. */
static int read_chunk(struct reading *reading, struct chunk *chunk)
{
    const uint64_t slots = file_read_number(reading->reader), count = file_read_number(reading->reader);
    if (slots <= reading->crew->model->setting.nodes || slots > MOST_SLOTS)
        return CV_EINPUT;
    chunk_begin(chunk, (uint32_t)slots);
    if (count > chunk->room)
        return CV_EINPUT;
    chunk->count = (uint32_t)count;
    file_read(reading->reader, chunk->words, count * chunk_stride(chunk->slots) * sizeof *chunk->words);
    return file_reader_failed(reading->reader) ? CV_EINPUT : 0;
}

/* Takes the states of a chunk, in the numbers of this rank. */
static int take_states(struct reading *reading, const struct chunk *chunk, bool next)
{
    const struct model *model = reading->crew->model;
    struct frontier *frontier = &reading->crew->workers[0].frontier;
    const uint32_t slots = model->slots;
    uint32_t saved[MOST_SLOTS], state[MOST_SLOTS];
    int error = 0;
    for (uint32_t i = 0; i < chunk->count && !error; i++) {
        const struct fingerprint fingerprint = chunk_state(chunk, i, chunk->slots, saved);
        if (!numbering_translate(&reading->numbering, model, saved, chunk->slots, state))
            return CV_EINPUT;
        if (reading->filling && !chunk_takes(reading->filling, slots))
            error = keep_filled(reading, next);
        if (!reading->filling && (reading->filling = frontier_spare(frontier)))
            chunk_begin(reading->filling, slots);
        if (!reading->filling)
            return CV_ENOMEM;
        memcpy(chunk_append(reading->filling, fingerprint), state, slots * sizeof *state);
    }
    return error;
}

static int read_level(struct reading *reading, struct chunk *chunk, bool next)
{
    int error = 0;
    for (uint64_t left = file_read_number(reading->reader); left > 0 && !error; left--) {
        error = read_chunk(reading, chunk);
        if (!error && takes_chunk(reading))
            error = take_states(reading, chunk, next);
        reading->chunks++;
    }
    return error ? error : keep_filled(reading, next);
}

static int read_frontiers(struct reading *reading)
{
    struct chunk *chunk = malloc(CHUNK_BYTES);
    int error = chunk ? 0 : CV_ENOMEM;
    for (uint64_t left = file_read_number(reading->reader); left > 0 && !error; left--) {
        error = read_level(reading, chunk, false);
        if (!error)
            error = read_level(reading, chunk, true);
    }
    free(chunk);
    return error;
}

static int read_section(struct reading *reading)
{
    int error = saved_model_read(reading->crew->model, reading->reader, !reading->section, &reading->numbering);
    if (!error)
        error = read_entries(reading);
    if (!error)
        error = read_frontiers(reading);
    numbering_free(&reading->numbering);
    return error;
}

static int read_search(struct reading *reading)
{
    struct crew *crew = reading->crew;
    struct saved_numbers *numbers = &reading->numbers;
    file_read(reading->reader, numbers, sizeof *numbers);
    if (file_reader_failed(reading->reader) || !numbers->ranks)
        return CV_EINPUT;
    restore_numbers(crew, numbers);
    if (crew->exchange)
        crew->exchange->ownership.nodes = numbers->ranks == ranks_of(crew) ? numbers->nodes : 0;
    int error = make_room(reading);
    for (; reading->section < numbers->ranks && !error; reading->section++)
        error = read_section(reading);
    return error ? error : file_reader_failed(reading->reader) ? CV_EINPUT : 0;
}

/* Every state of the file must be with some rank, once. */
static int count_states(const struct reading *reading)
{
    const struct saved_sums *wanted = &reading->numbers.sums;
    struct saved_sums sums = {.states = reading->crew->search->table.count + reading->merged,
                              .waiting = reading->waiting};
    add_up_ranks(reading->crew, &sums);
    return sums.states == wanted->states && sums.waiting == wanted->waiting ? 0 : CV_EINPUT;
}

bool saved_search_exists(const struct cv_check_options *options)
{
    bool exists = cv_checkpoint_content(options->checkpoint) != NULL;
    if (options->checkpoint)
        agree_with_first(options->ranks, &exists, sizeof exists);
    return exists;
}

int saved_search_read(struct crew *crew)
{
    struct file_reader *file = cv_checkpoint_content(crew->model->setting.options.checkpoint);
    struct cv_ranks *ranks = crew->exchange ? crew->exchange->ranks : NULL;
    struct rank_reading shared = {.ranks = ranks, .file = file};
    struct reading reading = {.crew = crew, .reader = ranks ? rank_file_reader(&shared) : file};
    if (!reading.reader)
        return CV_ENOMEM;
    int error = read_search(&reading);
    if (ranks)
        rank_file_finish(reading.reader);
    error = agree_on_error(ranks, error);
    return error ? error : count_states(&reading);
}
