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

/* Where threads wait till all have come. */
struct meeting {
    _Atomic uint32_t waiting, held;
};

/* What the threads share. */
struct crew {
    struct search *search;
    struct model *model;
    struct worker *workers;
    uint32_t threads;
    uint64_t patience;
    struct thrift thrift; /* does reduction pay? */
    bool done, growing;   /* only changed when all threads have met */
    _Atomic bool stop;
    _Atomic bool wants_room;        /* the table is to grow: everybody is to help */
    struct meeting level_end, move; /* nothing is left to do on this level; in this part of the table's growth */
    pthread_mutex_t lock;           /* of the spot, and how it ends */
    struct chunk_store chunks;
};

/* Its own lines of the cache: what one thread writes all the time another must not have to read. */
struct worker {
    _Alignas(128) struct crew *crew;
    uint32_t number;
    struct expander expander;
    struct frontier frontier;
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
        table_bytes(&crew->search->table, crew->search->table.room) + crew->chunks.bytes + model_bytes(crew->model);
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

/* ---- meeting ---- */

static void help(struct crew *crew);

/* The last to come does what is to be done by one alone. Meetings are many and short, so nobody goes to sleep. */
static void meet(struct crew *crew, struct meeting *meeting, void (*alone)(struct crew *))
{
    const uint32_t held = meeting->held;
    if (++meeting->waiting == crew->threads) {
        meeting->waiting = 0;
        alone(crew);
        meeting->held = held + 1;
    }
    while (meeting->held == held)
        if (crew->wants_room && meeting == &crew->level_end)
            help(crew);
        else
            sched_yield();
}

/* Much more while memory is plenty, then half as much again; in the end as much as there may be. */
static void begin_growth(struct crew *crew)
{
    struct table *table = &crew->search->table;
    const uint64_t bound = crew->model->setting.options.memory, now = held(crew);
    const uint64_t others = now - table_bytes(table, table->room);
    uint64_t room = now < bound / 64 ? 4 * table->room : table->room + table->room / (now < bound / 8 ? 1 : 2);
    while (room > table->room && others + table_bytes(table, room) > bound)
        room -= table->room / 8;
    crew->wants_room = false;
    crew->growing = room > table->room + table->room / 16 && !table_begin_growth(table, room);
    if (crew->growing)
        note_memory(crew, 0);
    else
        halt(crew, SEARCH_MEMORY);
}

static void go_on(struct crew *crew)
{
    crew->growing = table_go_on(&crew->search->table);
}

/* Nobody uses the table while it grows: all threads are here. */
static void help(struct crew *crew)
{
    meet(crew, &crew->move, begin_growth);
    while (crew->growing) {
        table_move(&crew->search->table);
        meet(crew, &crew->move, go_on);
    }
}

static void grow(struct crew *crew)
{
    crew->wants_room = true;
    help(crew);
}

/* ---- new states ---- */

static void queue(struct worker *worker, const uint32_t *base, const struct successor *successor)
{
    struct chunk *chunk = frontier_chunk(&worker->frontier, worker->crew->model->parts);
    if (!chunk) {
        halt(worker->crew, SEARCH_MEMORY);
        return;
    }
    uint32_t *state = chunk_append(chunk, successor->print);
    memcpy(state, base, chunk->parts * sizeof *state);
    expand_apply(&worker->expander, successor, state);
}

/* Adds to the table, which may have to grow for it. */
static inline enum table_answer add(struct worker *worker, struct print print, uint64_t parent, uint32_t level)
{
    struct crew *crew = worker->crew;
    for (;;) {
        const enum table_answer answer = table_add(&crew->search->table, print, parent, level);
        if (answer != TABLE_FULL)
            return answer;
        grow(crew);
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
    if (crew->thrift.on)
        for (uint32_t i = 0; i < chunk->count && !crew->stop; i++)
            expand_reduced(worker, chunk, i);
    else
        for (uint32_t i = 0; i < chunk->count && !crew->stop; i += GROUP)
            expand_group(worker, chunk, i, chunk->count - i < GROUP ? chunk->count - i : GROUP);
    crew->search->table.count += worker->fresh;
    worker->fresh = 0;
    if (crew->wants_room || table_is_crowded(&crew->search->table))
        grow(crew);
}

/* ---- the crew ---- */

/* One of its own; if there is none left, another's. */
static struct chunk *next_chunk(struct worker *worker)
{
    struct crew *crew = worker->crew;
    struct chunk *chunk = NULL;
    for (uint32_t i = 0; i < crew->threads && !chunk && !crew->stop; i++)
        chunk = frontier_take(&crew->workers[(worker->number + i) % crew->threads].frontier);
    return chunk;
}

static void look_around(struct worker *worker)
{
    struct crew *crew = worker->crew;
    const struct cv_check_options *options = &crew->model->setting.options;
    worker->remembered = expander_bytes(&worker->expander);
    if (crew->model->out_of_memory)
        halt(crew, SEARCH_MEMORY);
    if (options->interrupted && *options->interrupted)
        halt(crew, SEARCH_INTERRUPTED);
    if (worker->number)
        return;
    note_memory(crew, 0);
    if (options->progress)
        options->progress(options->progress_context,
                          &(struct cv_check_progress){.states = crew->model->before + crew->search->table.count,
                                                      .queue = crew->chunks.queued,
                                                      .bytes = crew->search->bytes,
                                                      .depth = crew->search->depth,
                                                      .phase = "searching"});
}

/* Between two levels: one thread alone. */
static void turn_over(struct crew *crew)
{
    struct search *search = crew->search;
    uint64_t expanded = 0, saved = 0;
    bool more = false;
    for (uint32_t i = 0; i < crew->threads; i++) {
        more |= frontier_advance(&crew->workers[i].frontier);
        expander_tidy(&crew->workers[i].expander);
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
    if (!crew->stop && more && options->most_depth == search->depth + 1)
        halt(crew, SEARCH_DEPTH);
    crew->done = crew->stop || !more;
    search->depth += more;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct crew *crew = worker->crew;
    while (!crew->done) {
        for (struct chunk *chunk; (chunk = next_chunk(worker));) {
            expand_chunk(worker, chunk);
            frontier_drop(&worker->frontier, chunk);
            look_around(worker);
        }
        meet(crew, &crew->level_end, turn_over);
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
    struct chunk *chunk = frontier_chunk(&first->frontier, crew->model->parts);
    if (!chunk)
        return CV_ENOMEM;
    memcpy(chunk_append(chunk, print), state, chunk->parts * sizeof *state);
    table_add(&crew->search->table, symmetry_print(&first->expander.symmetry, state, print), 0, 0);
    crew->search->table.count = 1;
    frontier_advance(&first->frontier);
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
        frontier_free(&crew->workers[i].frontier);
        expander_free(&crew->workers[i].expander);
    }
    search->states = search->table.count;
    search->may_cycle |= search->depth >= TABLE_MOST_LEVEL;
    chunk_store_free(&crew->chunks);
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
    chunk_store_init(&crew.chunks);
    pthread_mutex_init(&crew.lock, NULL);
    for (uint32_t i = 0; i < crew.threads && !error; i++) {
        crew.workers[i].crew = &crew;
        crew.workers[i].number = i;
        frontier_init(&crew.workers[i].frontier, &crew.chunks);
        error = expander_init(&crew.workers[i].expander, model, i ? &crew.workers[0].expander.stepper.own : NULL);
    }
    if (!error)
        error = run_threads(&crew);
    note_memory(&crew, 0);
    add_up(&crew);
    free(crew.workers);
    pthread_mutex_destroy(&crew.lock);
    return error;
}

void search_free(struct search *search)
{
    table_free(&search->table);
}
