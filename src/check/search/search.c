// SPDX-License-Identifier: MIT
#include "check/search/search.h"

#include <stdlib.h>

#include "check/search/depth_first.h"
#include "check/search/rank_accord.h"
#include "check/search/saved_search.h"
#include "check/search/visit.h"
#include "check/step/initial_state.h"
#include "core/apart.h"
#include "saved/checkpoint.h"

#define LOOK_AROUND_EVERY 1024u
#define LAST_SAVE_MS 400u

/* ---- the crew ---- */

/* A chunk of that thread: from memory, then from disk. */
static struct chunk *take_chunk(struct worker *worker, struct worker *owner)
{
    struct chunk *chunk = frontier_take(&owner->frontier);
    if (!chunk && worker->parents)
        chunk = frontier_file_take(&owner->file, &owner->frontier, &worker->frontier);
    return chunk;
}

/* A chunk of its own; if there is none left, a chunk of another thread. */
static struct chunk *next_chunk(struct worker *worker)
{
    struct crew *crew = worker->crew;
    struct chunk *chunk = NULL;
    for (uint32_t i = 0; i < crew->threads && !chunk && !crew->stop; i++)
        chunk = take_chunk(worker, &crew->workers[(worker->number + i) % crew->threads]);
    return chunk;
}

static bool writes_checkpoints(const struct crew *crew)
{
    const struct cv_checkpoint *checkpoint = crew->model->setting.options.checkpoint;
    return checkpoint && checkpoint->path;
}

/* Is it time for a checkpoint? Of several ranks the first looks at the clock. */
static bool is_due(const struct crew *crew)
{
    return (!crew->exchange || !crew->exchange->own) && cv_checkpoint_is_due(crew->model->setting.options.checkpoint);
}

/* What a thread does now and then: it counts, looks at memory and signals, and the first one shows progress. */
static void look_around(struct worker *worker)
{
    struct crew *crew = worker->crew;
    const struct cv_check_options *options = &crew->model->setting.options;
    crew->search->table.count += worker->fresh;
    worker->fresh = 0;
    if (crew->wants_room || (table_is_crowded(&crew->search->table) && !crew->cannot_grow))
        crew_grow(crew);
    worker->remembered = expander_bytes(&worker->expander) + reducer_bytes(&worker->reducer);
    if (crew->model->out_of_memory)
        crew_halt(crew, SEARCH_MEMORY);
    if (crew->search->disk.error)
        crew_halt(crew, SEARCH_DISK);
    const bool interrupted = options->interrupted && *options->interrupted;
    if (!writes_checkpoints(crew)) {
        if (interrupted)
            crew_halt(crew, SEARCH_INTERRUPTED);
    } else if (interrupted || is_due(crew)) {
        if (crew->exchange && !crew->wants_save)
            exchange_call(crew->exchange);
        crew->wants_save = true;
    }
    if (crew->wants_save && !crew->exchange)
        crew_save(crew);
    if (worker->number)
        return;
    if (crew->deep)
        crew->search->depth = worker->deepest;
    crew_note_memory(crew);
    if (options->progress)
        options->progress(options->progress_context,
                          &(struct cv_check_progress){.states = crew->model->before + crew->search->table.count,
                                                      .queue = crew->chunks.queued,
                                                      .bytes = crew->search->bytes,
                                                      .depth = crew->search->depth,
                                                      .phase = "searching"});
}

/* Ends the search if another one would be better, by what the algorithm was observed to do. */
static void reconsider(struct crew *crew, const struct level_sum *sum)
{
    const struct model *model = crew->model;
    if (sum->memory)
        crew_halt(crew, SEARCH_MEMORY);
    if (sum->found)
        crew_halt(crew, SEARCH_FOUND);
    if ((model->leaves_topology && model->setting.options.reduction) || model->reads_clocks ||
        model->equal_times_differ || model->promise_doubted)
        crew_halt(crew, SEARCH_REDUCTION_FAILED);
    if (sum->learnt && sum->states > crew->patience)
        crew_halt(crew, SEARCH_LEARNT);
}

/* Ends a thread's level on disk. False if it has nothing more there. */
static bool advance_file(struct crew *crew, struct worker *worker)
{
    parent_log_flush(&crew->search->parents, worker->parents);
    if (crew->search->disk.error)
        crew_halt(crew, SEARCH_DISK);
    if (worker->file.level.bytes) /* there was no memory to read it */
        crew_halt(crew, SEARCH_MEMORY);
    return frontier_file_advance(&worker->file);
}

/* The search for cycles follows, and takes long. Who goes on from here has nothing else to do. */
static void save_end(struct crew *crew)
{
    uint64_t may_cycle = 0;
    if (!writes_checkpoints(crew))
        return;
    for (uint32_t i = 0; i < crew->threads; i++)
        may_cycle |= crew->workers[i].may_cycle;
    if (crew->exchange)
        cv_ranks_reduce(crew->exchange->ranks, CV_REDUCE_MOST, &may_cycle, 1);
    if (may_cycle)
        saved_search_write(crew);
}

/* Does the user end the search? One with checkpoints goes on until it has written the last one. */
static bool is_interrupted(const struct crew *crew)
{
    const volatile sig_atomic_t *interrupted = crew->model->setting.options.interrupted;
    return writes_checkpoints(crew) ? crew->stop && crew->search->end == SEARCH_INTERRUPTED
                                    : interrupted && *interrupted;
}

/* What the threads of this rank have done. */
static struct level_sum sum_up(struct crew *crew)
{
    const struct search *search = crew->search;
    struct level_sum sum = {.states = search->table.count,
                            .learnt = crew->model->observations.learnt,
                            .found = search->spot.found,
                            .stopped = crew->stop,
                            .memory = crew->model->out_of_memory || (crew->stop && search->end == SEARCH_MEMORY),
                            .disk = search->disk.error != 0,
                            .interrupted = is_interrupted(crew),
                            .promise_doubted = crew->model->promise_doubted,
                            .counters_fail = crew->model->counters_fail,
                            .reads_clocks = crew->model->reads_clocks,
                            .equal_times_differ = crew->model->equal_times_differ,
                            .leaves_topology = crew->model->leaves_topology};
    for (uint32_t i = 0; i < crew->threads; i++) {
        sum.states += crew->workers[i].fresh;
        sum.expanded += crew->workers[i].expanded;
        sum.saved += crew->workers[i].saved;
    }
    return sum;
}

/* A rank that must stop stops all. */
static void stop_together(struct crew *crew, const struct level_sum *sum)
{
    struct search *search = crew->search;
    if (!crew->exchange)
        return;
    if (sum->found)
        agree_on_spot(crew);
    if (!sum->stopped && !sum->interrupted)
        return;
    crew->stop = true;
    search->end = sum->found         ? SEARCH_FOUND
                  : sum->interrupted ? SEARCH_INTERRUPTED
                  : sum->disk        ? SEARCH_DISK
                                     : SEARCH_MEMORY;
}

/* What one thread does between two levels. */
static void end_level(struct crew *crew)
{
    struct search *search = crew->search;
    bool here = false;
    for (uint32_t i = 0; i < crew->threads; i++) {
        if (crew->workers[i].parents)
            here |= advance_file(crew, &crew->workers[i]);
        here |= frontier_advance(&crew->workers[i].frontier);
        expander_tidy(&crew->workers[i].expander);
        reducer_tidy(&crew->workers[i].reducer);
    }
    struct level_sum sum = sum_up(crew);
    sum.waiting = here;
    agree_on_level(crew, &sum);
    stop_together(crew, &sum);
    const bool more = sum.waiting != 0;
    if (!sum.learnt) /* new observations may make it pay */
        reduction_gain_update(&crew->gain, sum.expanded, sum.saved);
    reconsider(crew, &sum);
    const uint32_t most = crew->model->setting.options.most_depth;
    if (!crew->stop && (crew->deep ? crew->cut : more && most == search->depth + 1))
        crew_halt(crew, SEARCH_DEPTH);
    crew->done = crew->stop || !more;
    search->depth += more && !crew->deep;
    table_begin_level(&search->table, search->depth);
    if (crew->done && !crew->stop)
        save_end(crew);
}

/* Has this rank states of this level left? */
static bool has_more(const struct worker *worker)
{
    return !worker->crew->stop && (worker->frontier.level || (worker->parents && worker->file.level.bytes));
}

/*
 * What ends a job kills its ranks soon after the signal; for Open MPI that is a second. A checkpoint that takes long
 * would not be complete by then, and nobody would tell how to go on.
 */
static bool has_time(const struct crew *crew)
{
    const struct cv_checkpoint *checkpoint = crew->model->setting.options.checkpoint;
    return !crew->exchange->own && (!checkpoint->exists || checkpoint->took_ms < LAST_SAVE_MS);
}

/* Writes a checkpoint if it is time and all can. False: no rank has states of this level left, or all must end. */
static bool save_together(struct worker *worker)
{
    struct crew *crew = worker->crew;
    const volatile sig_atomic_t *interrupted = crew->model->setting.options.interrupted;
    enum { MORE, DUE, INTERRUPTED, HAS_TIME, UNABLE, NUMBERS };
    uint64_t ranks[NUMBERS] = {has_more(worker), is_due(crew), interrupted && *interrupted, has_time(crew),
                               !crew_may_save(crew)};
    cv_ranks_reduce(crew->exchange->ranks, CV_REDUCE_SUM, ranks, NUMBERS);
    crew->wants_save = false;
    if ((ranks[DUE] || (ranks[INTERRUPTED] && ranks[HAS_TIME])) && !ranks[UNABLE])
        saved_search_write(crew);
    if (ranks[INTERRUPTED])
        crew_halt(crew, SEARCH_INTERRUPTED);
    return ranks[MORE] && !ranks[INTERRUPTED];
}

/* Takes everything that is on its way to this rank, with all that follows from it. */
static void finish_exchange(struct worker *worker)
{
    exchange_finish(worker);
    while (worker->crew->gain.on && exchange_turn(worker->crew->exchange)) {
        visit_decided(worker);
        exchange_finish(worker);
    }
}

/* Expands what is left of this level. Ranks stop for a checkpoint: nothing may be on its way then. */
static void finish_level(struct worker *worker)
{
    struct crew *crew = worker->crew;
    do {
        for (struct chunk *chunk; !(crew->exchange && crew->wants_save) && (chunk = next_chunk(worker));) {
            visit(worker, chunk, 0, chunk->count);
            frontier_drop(&worker->frontier, chunk);
            look_around(worker);
        }
        if (crew->exchange)
            finish_exchange(worker);
    } while (crew->exchange && writes_checkpoints(crew) && save_together(worker));
}

/* Expands everything that can be reached. */
static void search_deep(struct worker *worker)
{
    uint32_t visited = 0;
    for (struct chunk *chunk; (chunk = depth_first_next(worker));) {
        visit(worker, chunk, chunk->count, 1);
        if (++visited % LOOK_AROUND_EVERY == 0 || worker->crew->wants_room)
            look_around(worker);
        if (visited % LOOK_AROUND_EVERY == 0) {
            const struct level_sum sum = sum_up(worker->crew);
            reconsider(worker->crew, &sum);
        }
    }
    look_around(worker);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct crew *crew = worker->crew;
    pthread_mutex_lock(&crew->lock);
    pthread_mutex_unlock(&crew->lock);
    while (!crew->done) {
        if (crew->deep)
            search_deep(worker);
        else
            finish_level(worker);
        crew_meet(crew, &crew->level_end, end_level);
    }
    return NULL;
}

static int begin(struct crew *crew)
{
    struct worker *first = &crew->workers[0];
    uint32_t *state = first->base[0];
    const int error = initial_state(crew->model, state);
    if (error)
        return error;
    const struct fingerprint fingerprint = model_fingerprint(crew->model, state);
    struct chunk *chunk = frontier_chunk(&first->frontier, crew->model->slots);
    if (!chunk)
        return CV_ENOMEM;
    const struct fingerprint key = symmetry_fingerprint(&first->expander.symmetry, state, fingerprint);
    if (crew->exchange && owner_of_state(&crew->exchange->ownership, state, key) != crew->exchange->own)
        return 0;
    memcpy(chunk_append(chunk, fingerprint), state, chunk->slots * sizeof *state);
    table_add(&crew->search->table, key, 0, 0);
    if (first->parents)
        parent_log_add(&crew->search->parents, first->parents, key, 0, 0);
    crew->search->table.count = 1;
    frontier_advance(&first->frontier);
    return 0;
}

static void worker_free(struct worker *worker)
{
    frontier_free(&worker->frontier);
    frontier_file_free(&worker->file);
    free(worker->parents);
    expander_free(&worker->expander);
    reducer_free(&worker->reducer);
}

/* Threads begin when their number is known: the system may give fewer than asked for. */
static void run_threads(struct crew *crew)
{
    pthread_t threads[64];
    uint32_t running = 1;
    pthread_mutex_lock(&crew->lock);
    while (running < crew->threads && !pthread_create(&threads[running], NULL, work, &crew->workers[running]))
        running++;
    while (crew->threads > running)
        worker_free(&crew->workers[--crew->threads]);
    pthread_mutex_unlock(&crew->lock);
    work(&crew->workers[0]);
    for (uint32_t i = 1; i < running; i++)
        pthread_join(threads[i], NULL);
}

static void add_up(struct crew *crew)
{
    struct search *search = crew->search;
    for (uint32_t i = 0; i < crew->threads; i++) {
        search->transitions += crew->workers[i].transitions;
        search->ends += crew->workers[i].end_states;
        search->may_cycle |= crew->workers[i].may_cycle;
        search->reduced |= crew->workers[i].reduced;
        search->depth = crew->workers[i].deepest > search->depth ? crew->workers[i].deepest : search->depth;
        search->table.count += crew->workers[i].fresh; /* other ranks have sent some after the last chunk */
        worker_free(&crew->workers[i]);
    }
    search->states = search->table.count;
    search->may_cycle |= search->depth >= TABLE_MOST_LEVEL;
    chunk_store_free(&crew->chunks);
}

/* Moves to disk what need not be in memory. */
static int use_disk(struct worker *worker)
{
    worker->parents = calloc(1, sizeof *worker->parents);
    frontier_file_init(&worker->file, &worker->frontier, &worker->crew->search->disk);
    return worker->parents ? 0 : CV_ENOMEM;
}

static int open_table(struct search *search, const struct cv_check_options *options)
{
    if (!options->disk)
        return table_init(&search->table, options->wide);
    search->disk.directory = options->disk;
    parent_log_init(&search->parents, &search->disk, options->wide);
    return table_init_compact(&search->table, options->wide);
}

int search_run(struct search *search, struct model *model, bool reduction, uint64_t patience)
{
    struct crew crew = {.search = search, .model = model, .threads = model->setting.options.threads};
    *search = (struct search){.model = model};
    crew.patience = patience;
    crew.deep = model->observations.at_once = model->setting.options.deep;
    crew.gain.on = crew.gain.used = reduction;
    crew.workers = cv_new_apart(crew.threads * sizeof *crew.workers);
    if (!crew.workers)
        return CV_ENOMEM;
    int error = open_table(search, &model->setting.options);
    chunk_store_init(&crew.chunks);
    pthread_mutex_init(&crew.lock, NULL);
    for (uint32_t i = 0; i < crew.threads && !error; i++) {
        crew.workers[i].crew = &crew;
        crew.workers[i].number = i;
        frontier_init(&crew.workers[i].frontier, &crew.chunks, crew.deep);
        error = model->setting.options.disk ? use_disk(&crew.workers[i]) : 0;
        error = error
                    ? error
                    : expander_init(&crew.workers[i].expander, model, i ? &crew.workers[0].expander.stepper.own : NULL);
        error = error ? error : reducer_init(&crew.workers[i].reducer, model);
    }
    struct cv_ranks *ranks = model->setting.options.ranks;
    int exchange_error;
    crew.exchange = exchange_new(model, ranks, crew.workers[0].expander.symmetry.count > 1, &exchange_error);
    error = error ? error : exchange_error;
    error = agree_on_error(ranks, error);
    const bool saved = !error && saved_search_exists(&model->setting.options);
    if (!error)
        error = saved ? saved_search_read(&crew) : begin(&crew);
    error = agree_on_error(ranks, error); /* nobody sends anything before all are here */
    if (saved)
        cv_checkpoint_is_found(model->setting.options.checkpoint);
    if (!error)
        run_threads(&crew);
    if (!error && crew.exchange)
        exchange_observations(&crew.workers[0]);
    crew_note_memory(&crew);
    add_up(&crew);
    if (!error)
        agree_on_numbers(ranks, search);
    exchange_free(crew.exchange);
    search->patience = crew.patience;
    free(crew.workers);
    pthread_mutex_destroy(&crew.lock);
    return error;
}

void search_free(struct search *search)
{
    table_free(&search->table);
    parent_log_free(&search->parents);
}

/* ---- ancestors ---- */

/* A compact table does not have them. */
static uint64_t ancestors_on_disk(struct search *search, uint64_t **fingerprints)
{
    const struct spot *spot = &search->spot;
    const uint32_t level = spot->level - spot->in_step;
    *fingerprints = calloc((size_t)level + 1, sizeof **fingerprints);
    return *fingerprints && parent_log_ancestors(&search->parents, spot->fingerprint, level, *fingerprints) ? level + 1u
                                                                                                            : 0;
}

static uint64_t ancestors_in_table(const struct search *search, uint64_t **fingerprints)
{
    uint64_t count = 0, room = 0, fingerprint = search->spot.fingerprint;
    *fingerprints = NULL;
    do {
        if (count == room) {
            uint64_t *larger = realloc(*fingerprints, (room = 2 * room + 64) * sizeof *larger);
            if (!larger)
                return 0;
            *fingerprints = larger;
        }
        (*fingerprints)[count++] = fingerprint;
    } while (table_parent(&search->table, fingerprint, &fingerprint));
    return count;
}

/* Asks all ranks for the parent of each state: one of them has it. The initial state has none. */
static uint64_t ancestors_of_ranks(struct search *search, struct cv_ranks *ranks, uint64_t **fingerprints)
{
    uint64_t count = 0, fingerprint = search->spot.fingerprint;
    *fingerprints = calloc((size_t)search->spot.level + 2, sizeof **fingerprints);
    if (agree_on_error(ranks, *fingerprints ? 0 : CV_ENOMEM) || !*fingerprints)
        return 0;
    for (uint64_t parent = 1; parent && count <= search->spot.level; fingerprint = parent) {
        (*fingerprints)[count++] = fingerprint;
        if (!table_parent(&search->table, fingerprint, &parent))
            parent = 0;
        cv_ranks_reduce(ranks, CV_REDUCE_SUM, &parent, 1);
    }
    return count;
}

/* Asks all ranks for the parent of a state, which one of them has in its log. False if none has, or a disk fails. */
static bool ask_for_parent(struct search *search, struct cv_ranks *ranks, struct parent_search *way,
                           uint64_t fingerprint, uint32_t level, uint64_t *parent)
{
    bool found = false, failed = false;
    for (int everywhere = 0; everywhere < 2 && !found && !failed; everywhere++) {
        const bool read = parent_log_find(&search->parents, way, fingerprint, level, everywhere);
        uint64_t most[] = {way->found, way->found ? way->parent : 0, !read, (uint64_t)search->disk.error};
        cv_ranks_reduce(ranks, CV_REDUCE_MOST, most, sizeof most / sizeof *most);
        found = most[0];
        *parent = most[1];
        failed = most[2];
        search->disk.error = (int)most[3];
    }
    return found && !failed;
}

static uint64_t ancestors_on_disks(struct search *search, struct cv_ranks *ranks, uint64_t **fingerprints)
{
    const struct spot *spot = &search->spot;
    const struct parent_log *log = &search->parents;
    struct parent_search way = {.left = log->spill.bytes / log->record_bytes};
    uint32_t level = spot->level - spot->in_step;
    uint64_t count = 0, fingerprint = spot->fingerprint;
    *fingerprints = calloc((size_t)level + 1, sizeof **fingerprints);
    if (agree_on_error(ranks, *fingerprints ? 0 : CV_ENOMEM) || !*fingerprints)
        return 0;
    (*fingerprints)[count++] = fingerprint;
    for (; level > 0; level--) {
        if (!ask_for_parent(search, ranks, &way, fingerprint, level, &fingerprint))
            return 0;
        (*fingerprints)[count++] = fingerprint;
    }
    return count;
}

uint64_t search_ancestors(struct search *search, uint64_t **fingerprints)
{
    struct cv_ranks *ranks = search->model->setting.options.ranks;
    if (ranks && cv_ranks_count(ranks) > 1)
        return search->table.compact ? ancestors_on_disks(search, ranks, fingerprints)
                                     : ancestors_of_ranks(search, ranks, fingerprints);
    return search->table.compact ? ancestors_on_disk(search, fingerprints) : ancestors_in_table(search, fingerprints);
}
