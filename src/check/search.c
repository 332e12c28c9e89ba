// SPDX-License-Identifier: MIT
#include "check/search.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "check/frontier.h"
#include "check/reduce.h"

#define COUNT_AT_ONCE 256u
/* States expanded together, so that while one is at work the cache fetches what the others will need. */
#define GROUP 12u
static_assert((GROUP + 1) * MOST_PARTS <= MOST_PROSPECTS, "what can happen in a group must be kept");

/* What the threads share. */
struct crew {
    struct search *search;
    struct model *model;
    pthread_rwlock_t growing;         /* who adds to the table reads, who makes it larger writes */
    pthread_mutex_t lock;             /* of the lists and the spot */
    _Atomic uint32_t waiting, levels; /* threads that have nothing left to do on this level; levels that are over */
    struct chunk *level, *next;       /* this level's chunks, and the next one's */
    struct chunk *spare;              /* to be used again */
    struct arena chunks;              /* all there are */
    _Atomic uint64_t chunk_bytes, queued;
    _Atomic bool stop;
    bool done;
    struct thrift thrift; /* does reduction pay? */
    struct common common;
    uint64_t patience;
    struct worker *workers;
    uint32_t threads;
};

/* Its own lines of the cache: what one thread writes all the time another must not have to read. */
struct worker {
    _Alignas(128) struct crew *crew;
    uint32_t number;
    struct expander expander;
    struct chunk *out;
    uint32_t base[GROUP][MOST_PARTS];
    struct print prints[GROUP];
    struct outlook outlooks[GROUP];
    uint32_t ends[GROUP];    /* where the successors of each end */
    uint32_t obliged[GROUP]; /* how many of them must happen */
    uint64_t transitions, expanded, saved, rests;
    uint64_t fresh; /* states added to the table and not yet counted there */
    bool may_cycle, reduced;
    _Atomic uint64_t remembered; /* bytes of what it has worked out so far */
};

/* ---- memory ---- */

static uint64_t held(const struct crew *crew)
{
    uint64_t bytes =
        table_bytes(&crew->search->table, crew->search->table.room) + crew->chunk_bytes + model_bytes(crew->model);
    for (uint32_t i = 0; i < crew->threads; i++)
        bytes += crew->workers[i].remembered;
    return bytes;
}

static void halt(struct crew *crew, enum search_end end)
{
    pthread_mutex_lock(&crew->lock);
    if (!crew->stop)
        crew->search->end = end;
    crew->stop = true;
    pthread_mutex_unlock(&crew->lock);
}

static void note_memory(struct crew *crew, uint64_t extra)
{
    const uint64_t bytes = held(crew) + extra;
    pthread_mutex_lock(&crew->lock);
    if (bytes > crew->search->bytes)
        crew->search->bytes = bytes;
    pthread_mutex_unlock(&crew->lock);
    if (bytes > crew->model->setting.options.memory)
        halt(crew, SEARCH_MEMORY);
}

/* Much more while memory is plenty, then half as much again; in the end as much as there may be. */
static void grow(struct crew *crew)
{
    struct table *table = &crew->search->table;
    pthread_rwlock_wrlock(&crew->growing);
    if (table_is_crowded(table) && !crew->stop) {
        const uint64_t bound = crew->model->setting.options.memory, now = held(crew);
        const uint64_t others = now - table_bytes(table, table->room);
        uint64_t room = now < bound / 64 ? 4 * table->room : table->room + table->room / (now < bound / 8 ? 1 : 2);
        while (room > table->room && others + table_bytes(table, room) > bound)
            room -= table->room / 8;
        if (room <= table->room + table->room / 16 || table_grow(table, room))
            halt(crew, SEARCH_MEMORY);
        else
            note_memory(crew, 0);
    }
    pthread_rwlock_unlock(&crew->growing);
}

/* ---- new states ---- */

static struct chunk *new_chunk(struct worker *worker)
{
    struct crew *crew = worker->crew;
    pthread_mutex_lock(&crew->lock);
    struct chunk *chunk = crew->spare;
    if (chunk)
        crew->spare = chunk->next;
    if (!chunk)
        chunk = arena_take(&crew->chunks, CHUNK_BYTES);
    pthread_mutex_unlock(&crew->lock);
    if (!chunk) {
        halt(crew, SEARCH_MEMORY);
        return NULL;
    }
    crew->chunk_bytes += CHUNK_BYTES;
    chunk_begin(chunk, crew->model->parts);
    return chunk;
}

static void hand_in(struct worker *worker)
{
    struct crew *crew = worker->crew;
    if (!worker->out)
        return;
    crew->queued += worker->out->count;
    pthread_mutex_lock(&crew->lock);
    worker->out->next = crew->next;
    crew->next = worker->out;
    pthread_mutex_unlock(&crew->lock);
    worker->out = NULL;
}

static void queue(struct worker *worker, const uint32_t *base, const struct successor *successor)
{
    const uint32_t parts = worker->crew->model->parts;
    if (worker->out && !chunk_takes(worker->out, parts))
        hand_in(worker);
    if (!worker->out && !(worker->out = new_chunk(worker)))
        return;
    uint32_t *state = chunk_append(worker->out, successor->print);
    memcpy(state, base, worker->out->parts * sizeof *state);
    expand_apply(&worker->expander, successor, state);
}

/* Adds to the table, which may have to grow for it: this thread reads it, so it has to let go meanwhile. */
static inline enum table_answer add(struct worker *worker, struct print print, uint64_t parent, uint32_t level)
{
    struct crew *crew = worker->crew;
    for (;;) {
        const enum table_answer answer = table_add(&crew->search->table, print, parent, level);
        if (answer != TABLE_FULL)
            return answer;
        pthread_rwlock_unlock(&crew->growing);
        grow(crew);
        pthread_rwlock_rdlock(&crew->growing);
        if (crew->stop)
            return TABLE_OPEN;
    }
}

/* What the state with that print is known by. */
static uint64_t key_of(struct worker *worker, const uint32_t *state, struct print print)
{
    struct symmetry *symmetry = &worker->expander.symmetry;
    return (symmetry->count > 1 ? symmetry_print(symmetry, state, print) : print).half[0];
}

/* ---- what is wrong ---- */

/* Is it what is looked for? */
static bool is_wanted(const struct worker *worker, const char *property)
{
    const char *wanted = worker->crew->model->setting.options.property;
    return !wanted || strcmp(wanted, property) == 0;
}

static void report(struct worker *worker, const struct spot *spot)
{
    struct crew *crew = worker->crew;
    struct spot *known = &crew->search->spot;
    pthread_mutex_lock(&crew->lock);
    if (!known->found || spot->level < known->level)
        *known = *spot;
    if (!crew->stop)
        crew->search->end = SEARCH_FOUND;
    crew->stop = true;
    pthread_mutex_unlock(&crew->lock);
}

static void report_step(struct worker *worker, uint64_t key, const struct successor *successor)
{
    struct spot spot = {
        .found = true, .level = worker->crew->search->depth + 1, .print = key, .in_step = true, .step = *successor};
    spot.finding =
        (struct cv_finding){.name = wrong_name((enum wrong)successor->wrong), .kind = "always", .verdict = CV_VIOLATED};
    if (is_wanted(worker, spot.finding.name))
        report(worker, &spot);
}

static void judge_rest(struct worker *worker, const uint32_t *state, struct print print)
{
    struct spot spot = {.found = true, .level = worker->crew->search->depth, .print = key_of(worker, state, print)};
    worker->rests++;
    const char *wanted = worker->crew->model->setting.options.property;
    if (judge_end(worker->crew->model, state, false, wanted, &spot.finding))
        halt(worker->crew, SEARCH_MEMORY);
    else if (spot.finding.verdict == CV_VIOLATED)
        report(worker, &spot);
}

/* ---- expanding ---- */

/* Looks the successors up, from one number on; whether at least one is still to be expanded. */
static bool look_up(struct worker *worker, const uint32_t *base, struct print print, uint32_t from, uint32_t to)
{
    struct table *table = &worker->crew->search->table;
    const uint64_t key = key_of(worker, base, print);
    const uint32_t level = worker->crew->search->depth + 1;
    uint64_t fresh = 0;
    bool open = false, back = false;
    for (uint32_t i = from; i < to; i++) {
        const struct successor *successor = &worker->expander.successors[i];
        if (__builtin_expect(successor->wrong, 0))
            report_step(worker, key, successor);
        const enum table_answer answer = add(worker, successor->key, key, level);
        if (answer == TABLE_NEW) {
            fresh++;
            queue(worker, base, successor);
        }
        open |= answer != TABLE_OLD;
        back |= answer == TABLE_OLD;
    }
    worker->may_cycle |= back;
    worker->transitions += to - from;
    worker->fresh += fresh;
    if (worker->fresh > COUNT_AT_ONCE) {
        table->count += worker->fresh;
        worker->fresh = 0;
    }
    return open;
}

static void expand_group(struct worker *worker, const struct chunk *chunk, uint32_t first, uint32_t count)
{
    struct expander *expander = &worker->expander;
    const struct table *table = &worker->crew->search->table;
    const uint32_t parts = worker->crew->model->parts;
    expand_clear(expander);
    for (uint32_t i = 0; i < count; i++) {
        worker->prints[i] = chunk_state(chunk, first + i, parts, worker->base[i]);
        expand_look(expander, worker->base[i], &worker->outlooks[i]);
    }
    expand_look_up(expander);
    for (uint32_t i = 0, from = 0; i < count; i++, from = expander->count) {
        expander->obliged = 0;
        expand_all(expander, worker->base[i], worker->prints[i], &worker->outlooks[i]);
        worker->ends[i] = expander->count;
        worker->obliged[i] = expander->obliged;
        for (uint32_t j = from; j < expander->count; j++)
            table_expect(table, expander->successors[j].key);
    }
    for (uint32_t i = 0, from = 0; i < count; from = worker->ends[i++]) {
        look_up(worker, worker->base[i], worker->prints[i], from, worker->ends[i]);
        if (!worker->obliged[i])
            judge_rest(worker, worker->base[i], worker->prints[i]);
    }
}

/* A message that may as well arrive before all else. */
static bool try_messages(struct worker *worker, uint32_t *state, struct print print, uint32_t alive)
{
    struct expander *expander = &worker->expander;
    const struct model *model = worker->crew->model;
    for (uint32_t part = 0; (part = reduce_next_message(model, &expander->commuting, state, alive, part));) {
        expand_clear(expander);
        expand_delivery(expander, state, print, part);
        if (look_up(worker, state, print, 0, expander->count)) {
            commuting_note(&expander->commuting, state[model->to[part]], model_contents(model, state[part])->first,
                           alive);
            return true;
        }
    }
    return false;
}

/* What a few nodes do, if the others' doings cannot matter to it, nor it to them. */
static bool try_nodes(struct worker *worker, uint32_t *state, struct print print, uint32_t alive)
{
    struct expander *expander = &worker->expander;
    uint32_t nodes = EVERY_NODE, tried = 0;
    while (reduce_next(worker->crew->model, &expander->foresight, state, alive, &tried, &nodes)) {
        expand_clear(expander);
        expand(expander, state, print, nodes);
        if (reduce_is_invisible(expander) && look_up(worker, state, print, 0, expander->count))
            return true;
    }
    return false;
}

/* If a part of it led only to states that were expanded before, the rest might be put off for ever: then all of it. */
static void expand_reduced(struct worker *worker, const struct chunk *chunk, uint32_t index)
{
    struct expander *expander = &worker->expander;
    uint32_t *state = worker->base[0];
    const struct print print = chunk_state(chunk, index, worker->crew->model->parts, state);
    const uint32_t alive = expand_alive(expander, state);
    const bool worth_trying = is_settled(&worker->crew->model->setting, alive);
    worker->expanded += worth_trying;
    if (worth_trying && (try_messages(worker, state, print, alive) || try_nodes(worker, state, print, alive))) {
        worker->reduced = true;
        worker->saved++;
        return;
    }
    expand_clear(expander);
    expand(expander, state, print, EVERY_NODE);
    look_up(worker, state, print, 0, expander->count);
    if (!expander->obliged)
        judge_rest(worker, state, print);
}

static void expand_chunk(struct worker *worker, const struct chunk *chunk)
{
    struct crew *crew = worker->crew;
    pthread_rwlock_rdlock(&crew->growing);
    if (crew->thrift.on)
        for (uint32_t i = 0; i < chunk->count && !crew->stop; i++)
            expand_reduced(worker, chunk, i);
    else
        for (uint32_t i = 0; i < chunk->count && !crew->stop; i += GROUP)
            expand_group(worker, chunk, i, chunk->count - i < GROUP ? chunk->count - i : GROUP);
    crew->search->table.count += worker->fresh;
    worker->fresh = 0;
    const bool crowded = table_is_crowded(&crew->search->table);
    pthread_rwlock_unlock(&crew->growing);
    if (crowded)
        grow(crew);
}

/* ---- the crew ---- */

static struct chunk *next_chunk(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    struct chunk *chunk = crew->stop ? NULL : crew->level;
    if (chunk)
        crew->level = chunk->next;
    pthread_mutex_unlock(&crew->lock);
    return chunk;
}

static void drop_chunk(struct crew *crew, struct chunk *chunk)
{
    crew->queued -= chunk->count;
    crew->chunk_bytes -= CHUNK_BYTES;
    pthread_mutex_lock(&crew->lock);
    chunk->next = crew->spare;
    crew->spare = chunk;
    pthread_mutex_unlock(&crew->lock);
}

static void look_around(struct worker *worker)
{
    struct crew *crew = worker->crew;
    const struct cv_check_options *options = &crew->model->setting.options;
    const struct stepper *stepper = &worker->expander.stepper;
    const struct commuting *commuting = &worker->expander.commuting;
    worker->remembered = stepper->outcomes.bytes + commuting->stepper.outcomes.bytes +
                         memo_bytes(&commuting->stepper.steps) + memo_bytes(&commuting->known) +
                         memo_bytes(&stepper->steps) + memo_bytes(&stepper->puts) +
                         memo_bytes(&worker->expander.foresight.known) + memo_bytes(&worker->expander.quiet);
    if (crew->model->out_of_memory)
        halt(crew, SEARCH_MEMORY);
    if (options->interrupted && *options->interrupted)
        halt(crew, SEARCH_INTERRUPTED);
    if (worker->number)
        return;
    pthread_rwlock_rdlock(&crew->growing);
    note_memory(crew, 0);
    pthread_rwlock_unlock(&crew->growing);
    if (options->progress)
        options->progress(options->progress_context,
                          &(struct cv_check_progress){.states = crew->model->before + crew->search->table.count,
                                                      .queue = crew->queued,
                                                      .bytes = crew->search->bytes,
                                                      .depth = crew->search->depth,
                                                      .phase = "searching"});
}

/* Between two levels: one thread alone. */
static void turn_over(struct crew *crew)
{
    struct search *search = crew->search;
    uint64_t expanded = 0, saved = 0;
    for (uint32_t i = 0; i < crew->threads; i++) {
        hand_in(&crew->workers[i]);
        expanded += crew->workers[i].expanded;
        saved += crew->workers[i].saved;
    }
    if (!crew->model->habits.learnt) /* what is still to be learnt may make it worth while */
        thrift_look(&crew->thrift, expanded, saved);
    const struct cv_check_options *options = &crew->model->setting.options;
    if ((crew->model->strayed && options->reduction) || crew->model->timely || crew->model->tied)
        halt(crew, SEARCH_STRAYED);
    if (crew->model->habits.learnt && search->table.count > crew->patience)
        halt(crew, SEARCH_LEARNT);
    if (!crew->stop && crew->next && options->most_depth == search->depth + 1)
        halt(crew, SEARCH_DEPTH);
    crew->done = crew->stop || !crew->next;
    crew->level = crew->next;
    crew->next = NULL;
    search->depth += crew->level != NULL;
}

/* The last to come turns over. Levels are many and some are short, so the others do not go to sleep meanwhile. */
static void meet(struct crew *crew)
{
    const uint32_t levels = crew->levels;
    if (++crew->waiting == crew->threads) {
        crew->waiting = 0;
        turn_over(crew);
        crew->levels = levels + 1;
    }
    while (crew->levels == levels)
        sched_yield();
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct crew *crew = worker->crew;
    while (!crew->done) {
        for (struct chunk *chunk; (chunk = next_chunk(crew));) {
            expand_chunk(worker, chunk);
            drop_chunk(crew, chunk);
            look_around(worker);
        }
        meet(crew);
    }
    return NULL;
}

static int begin(struct crew *crew)
{
    struct worker *first = &crew->workers[0];
    uint32_t *state = first->base[0];
    if (model_begin(crew->model, state))
        return CV_ENOMEM;
    const struct print print = model_fingerprint(crew->model, state);
    first->out = new_chunk(first);
    if (!first->out)
        return CV_ENOMEM;
    memcpy(chunk_append(first->out, print), state, first->out->parts * sizeof *state);
    table_add(&crew->search->table, symmetry_print(&first->expander.symmetry, state, print), 0, 0);
    crew->search->table.count = 1;
    hand_in(first);
    crew->level = crew->next;
    crew->next = NULL;
    return 0;
}

static int run_threads(struct crew *crew)
{
    pthread_t threads[64];
    uint32_t running = 1;
    int error = begin(crew);
    for (; !error && running < crew->threads; running++)
        if (pthread_create(&threads[running], NULL, work, &crew->workers[running]))
            break;
    /* A thread less would leave the others waiting for it. */
    if (!error && running < crew->threads)
        abort();
    if (!error)
        work(&crew->workers[0]);
    for (uint32_t i = 1; !error && i < running; i++)
        pthread_join(threads[i], NULL);
    return error;
}

static void add_up(struct crew *crew)
{
    struct search *search = crew->search;
    for (uint32_t i = 0; i < crew->threads; i++) {
        search->transitions += crew->workers[i].transitions;
        search->ends += crew->workers[i].rests;
        search->may_cycle |= crew->workers[i].may_cycle;
        search->reduced |= crew->workers[i].reduced;
        expander_free(&crew->workers[i].expander);
    }
    search->states = search->table.count;
    search->may_cycle |= search->depth >= TABLE_MOST_LEVEL;
    arena_free(&crew->chunks);
}

int search_run(struct search *search, struct model *model, bool reduction, uint64_t patience)
{
    struct crew crew = {.search = search, .model = model, .threads = model->setting.options.threads};
    *search = (struct search){.model = model};
    crew.patience = patience;
    crew.thrift.on = crew.thrift.used = reduction;
    crew.workers = aligned_alloc(_Alignof(struct worker), crew.threads * sizeof *crew.workers);
    int error = table_init(&search->table, model->setting.options.wide);
    if (!crew.workers)
        return CV_ENOMEM;
    memset(crew.workers, 0, crew.threads * sizeof *crew.workers);
    pthread_rwlock_init(&crew.growing, NULL);
    pthread_mutex_init(&crew.lock, NULL);
    crew.common.lock = (pthread_mutex_t)PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP; /* held for moments */
    error |= memo_init(&crew.common.steps);
    for (uint32_t i = 0; i < crew.threads && !error; i++) {
        crew.workers[i].crew = &crew;
        crew.workers[i].number = i;
        error = expander_init(&crew.workers[i].expander, model);
        crew.workers[i].expander.stepper.common = crew.threads > 1 ? &crew.common : NULL;
    }
    if (!error)
        error = run_threads(&crew);
    note_memory(&crew, 0);
    add_up(&crew);
    free(crew.workers);
    pthread_mutex_destroy(&crew.lock);
    pthread_mutex_destroy(&crew.common.lock);
    memo_free(&crew.common.steps);
    pthread_rwlock_destroy(&crew.growing);
    return error;
}

void search_free(struct search *search)
{
    table_free(&search->table);
}
