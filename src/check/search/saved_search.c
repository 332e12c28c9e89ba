// SPDX-License-Identifier: MIT
#include "check/search/saved_search.h"

#include <errno.h>
#include <stdlib.h>

#include "check/state/saved_model.h"
#include "saved/checkpoint.h"

/* A table may be as full as this, in percent, when the search goes on. */
#define FILLED 60u
#define FILLED_COMPACT 80u

/* The numbers of a search. */
struct saved_numbers {
    uint64_t states;
    uint64_t patience;
    uint64_t transitions;
    uint64_t expanded;
    uint64_t saved;
    uint64_t end_states;
    uint64_t bytes;
    uint64_t disk_bytes;
    struct reduction_gain gain;
    uint32_t depth;
    uint32_t threads;
    bool may_cycle;
    bool reduced;
};

/* ---- numbers ---- */

static struct saved_numbers numbers_of(struct crew *crew)
{
    const struct search *search = crew->search;
    struct saved_numbers numbers;
    memset(&numbers, 0, sizeof numbers); /* the bytes between fields are in the file, too */
    numbers.patience = crew->patience;
    numbers.bytes = search->bytes;
    numbers.disk_bytes = search->disk.most;
    numbers.gain = crew->gain;
    numbers.depth = search->depth;
    numbers.threads = crew->threads;
    for (uint32_t i = 0; i < crew->threads; i++) {
        struct worker *worker = &crew->workers[i];
        crew->search->table.count += worker->fresh;
        worker->fresh = 0;
        numbers.transitions += worker->transitions;
        numbers.expanded += worker->expanded;
        numbers.saved += worker->saved;
        numbers.end_states += worker->end_states;
        numbers.may_cycle |= worker->may_cycle;
        numbers.reduced |= worker->reduced;
    }
    numbers.states = search->table.count;
    return numbers;
}

static void restore_numbers(struct crew *crew, const struct saved_numbers *numbers)
{
    struct search *search = crew->search;
    struct worker *first = &crew->workers[0];
    crew->patience = numbers->patience;
    crew->gain = numbers->gain;
    search->depth = numbers->depth;
    search->bytes = numbers->bytes;
    search->disk.most = numbers->disk_bytes;
    first->transitions = numbers->transitions;
    first->expanded = numbers->expanded;
    first->saved = numbers->saved;
    first->end_states = numbers->end_states;
    first->may_cycle = numbers->may_cycle;
    first->reduced = numbers->reduced;
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

static int read_states(struct crew *crew, struct file_reader *reader, uint64_t count)
{
    struct search *search = crew->search;
    struct table *table = &search->table;
    const size_t bytes = parent_record_bytes(table->wide);
    if (count > file_reader_left(reader) / bytes)
        return CV_EINPUT;
    const uint64_t needed = count * 100 / (table->compact ? FILLED_COMPACT : FILLED) + 1;
    if (needed > table->room && table_grow(table, needed + table->room / 4))
        return CV_ENOMEM;
    for (uint64_t i = 0; i < count; i++) {
        struct parent_record record = {0};
        file_read(reader, &record, bytes);
        if (!record.fingerprint || !table_restore(table, record.fingerprint, record.second, record.info, search->depth))
            return CV_EINPUT;
        table->count++;
        if (table->compact)
            parent_log_copy(&search->parents, crew->workers[0].parents, &record);
    }
    return 0;
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

/* The chunks of a level: those on disk are older than those in memory, whose list begins with the newest. */
static void write_level(struct worker *worker, struct spill *spill, const struct chunk *list,
                        struct file_writer *writer)
{
    const uint64_t on_disk = worker->parents ? spill->bytes / CHUNK_BYTES : 0, in_memory = list_length(list);
    const struct chunk **chunks = malloc((in_memory + 1) * sizeof *chunks);
    if (!chunks) {
        file_writer_fail(writer, ENOMEM);
        return;
    }
    file_write_number(writer, on_disk + in_memory);
    if (on_disk)
        write_file(spill, writer);
    uint64_t count = 0;
    for (; list; list = list->next)
        chunks[count++] = list;
    while (count > 0)
        write_chunk(chunks[--count], writer);
    free(chunks);
}

static void write_frontier(struct worker *worker, struct file_writer *writer)
{
    struct frontier *frontier = &worker->frontier;
    const bool filling = frontier->out && frontier->out->count;
    write_level(worker, &worker->file.level, frontier->level, writer);
    write_level(worker, &worker->file.next, frontier->next, writer);
    file_write_number(writer, filling);
    if (filling)
        write_chunk(frontier->out, writer);
}

/* Reads a chunk into memory of that thread; NULL if the file is wrong or there is no memory. */
static struct chunk *read_chunk(struct worker *worker, struct file_reader *reader, int *error)
{
    const uint64_t slots = file_read_number(reader), count = file_read_number(reader);
    struct chunk *chunk = frontier_spare(&worker->frontier);
    *error = CV_ENOMEM;
    if (!chunk)
        return NULL;
    *error = CV_EINPUT;
    if (slots <= worker->crew->model->setting.nodes || slots > worker->crew->model->slots)
        return NULL;
    chunk_begin(chunk, (uint32_t)slots);
    if (count > chunk->room)
        return NULL;
    chunk->count = (uint32_t)count;
    file_read(reader, chunk->words, count * chunk_stride(chunk->slots) * sizeof *chunk->words);
    *error = 0;
    return chunk;
}

/* Puts a chunk where the thread would have put it. */
static int keep_chunk(struct worker *worker, struct chunk *chunk, bool next)
{
    worker->frontier.store->queued += chunk->count;
    if (!worker->parents) {
        frontier_restore(&worker->frontier, chunk, next);
        return 0;
    }
    const bool written = spill_append(next ? &worker->file.next : &worker->file.level, chunk, CHUNK_BYTES);
    frontier_keep(&worker->frontier, chunk);
    return written ? 0 : CV_EFILE;
}

static int read_level(struct worker *worker, struct file_reader *reader, bool next)
{
    int error = 0;
    for (uint64_t left = file_read_number(reader); left > 0 && !error; left--) {
        struct chunk *chunk = file_reader_failed(reader) ? NULL : read_chunk(worker, reader, &error);
        error = chunk ? keep_chunk(worker, chunk, next) : error ? error : CV_EINPUT;
    }
    return error;
}

static int read_frontier(struct worker *worker, struct file_reader *reader)
{
    int error = read_level(worker, reader, false);
    error = error ? error : read_level(worker, reader, true);
    if (error || !file_read_number(reader))
        return error;
    struct chunk *chunk = read_chunk(worker, reader, &error);
    if (!chunk)
        return error;
    if (worker->frontier.out) /* another thread's, which does not go on */
        return keep_chunk(worker, chunk, true);
    worker->frontier.out = chunk;
    return 0;
}

/* ---- all of it ---- */

static void write_search(void *context, struct file_writer *writer)
{
    struct crew *crew = context;
    const struct saved_numbers numbers = numbers_of(crew);
    file_write(writer, &numbers, sizeof numbers);
    saved_model_write(crew->model, writer);
    if (crew->search->table.compact)
        write_log(crew, writer);
    else
        write_table(&crew->search->table, writer);
    for (uint32_t i = 0; i < crew->threads; i++)
        write_frontier(&crew->workers[i], writer);
}

void saved_search_write(struct crew *crew)
{
    cv_checkpoint_write(crew->model->setting.options.checkpoint, write_search, crew);
}

int saved_search_read(struct crew *crew, struct file_reader *reader)
{
    struct saved_numbers numbers;
    file_read(reader, &numbers, sizeof numbers);
    if (file_reader_failed(reader) || !numbers.threads || numbers.threads > 64)
        return CV_EINPUT;
    restore_numbers(crew, &numbers);
    int error = saved_model_read(crew->model, reader);
    if (!error)
        error = read_states(crew, reader, numbers.states);
    for (uint32_t i = 0; i < numbers.threads && !error; i++)
        error = read_frontier(&crew->workers[i % crew->threads], reader);
    return error ? error : file_reader_failed(reader) ? CV_EINPUT : 0;
}
