// SPDX-License-Identifier: MIT
#include "check/search/visit.h"

#include "check/expand/successors.h"

#define COUNT_AT_ONCE 256u

/* ---- new states ---- */

/* Depth first: notes the level; false if it is too deep. A breadth-first search checks it once for each level. */
static bool go_down(struct worker *worker, uint32_t level)
{
    const uint32_t most = worker->crew->model->setting.options.most_depth;
    worker->deepest = level > worker->deepest ? level : worker->deepest;
    if (!most || level < most)
        return true;
    worker->crew->cut = true;
    return false;
}

/* Out of the way of a search that keeps to memory. */
static __attribute__((noinline)) void log_parent(struct worker *worker, struct fingerprint key, uint64_t parent,
                                                 uint32_t level)
{
    parent_log_add(&worker->crew->search->parents, worker->parents, key, parent, level);
}

static void queue(struct worker *worker, const uint32_t *base, const struct successor *successor, uint32_t level)
{
    if (worker->crew->deep && !go_down(worker, level))
        return;
    struct chunk *chunk = frontier_chunk(&worker->frontier, worker->crew->model->slots);
    if (!chunk) {
        crew_halt(worker->crew, SEARCH_MEMORY);
        return;
    }
    uint32_t *state = chunk_append(chunk, successor->fingerprint);
    memcpy(state, base, chunk->slots * sizeof *state);
    expand_apply(&worker->expander, successor, state);
}

/* Adds to the table, and makes it grow if it must. */
static inline enum table_answer add(struct worker *worker, struct fingerprint fingerprint, uint64_t parent,
                                    uint32_t level)
{
    struct crew *crew = worker->crew;
    for (;;) {
        const enum table_answer answer = table_add(&crew->search->table, fingerprint, parent, level);
        if (answer != TABLE_FULL)
            return answer;
        crew_grow(crew);
        if (crew->cannot_grow)
            crew_halt(crew, SEARCH_MEMORY);
        if (crew->stop)
            return TABLE_OPEN;
    }
}

/* The level of the state with this key. */
static inline uint32_t level_of(const struct worker *worker, uint64_t key)
{
    const struct crew *crew = worker->crew;
    return crew->deep ? table_level(&crew->search->table, key) : crew->search->depth;
}

/* The key of a state: see struct successor. */
static uint64_t key_of(struct worker *worker, const uint32_t *state, struct fingerprint fingerprint)
{
    struct symmetry *symmetry = &worker->expander.symmetry;
    return (symmetry->count > 1 ? symmetry_fingerprint(symmetry, state, fingerprint) : fingerprint).half[0];
}

/* ---- violations ---- */

/* Does the user look for this property? */
static bool is_wanted(const struct worker *worker, const char *property)
{
    const char *wanted = worker->crew->model->setting.options.property;
    return !wanted || strcmp(wanted, property) == 0;
}

/*
 * Without memory a state may wrongly seem to be an end, because its successors are missing. So nothing is judged. A
 * breadth-first search finishes the level, so that it finds the same violation whoever expands which state.
 */
static void report(struct worker *worker, const struct spot *spot)
{
    struct crew *crew = worker->crew;
    struct spot *known = &crew->search->spot;
    if (crew->model->out_of_memory) {
        crew_halt(crew, SEARCH_MEMORY);
        return;
    }
    pthread_mutex_lock(&crew->lock);
    if (!known->found || spot_is_before(spot, known))
        *known = *spot;
    pthread_mutex_unlock(&crew->lock);
    if (crew->deep)
        crew_halt(crew, SEARCH_FOUND);
}

static void report_step(struct worker *worker, uint64_t key, const struct successor *successor)
{
    struct spot spot = {
        .found = true, .level = level_of(worker, key) + 1, .fingerprint = key, .in_step = true, .step = *successor};
    for (size_t i = 0; i < CV_STEP_PROPERTIES; i++) {
        spot.finding = cv_finding_of(cv_step_properties[i], CV_VIOLATED);
        if (successor->violations & 1u << cv_step_properties[i] && is_wanted(worker, spot.finding.name)) {
            report(worker, &spot);
            return;
        }
    }
}

static void judge_end_state(struct worker *worker, const uint32_t *state, struct fingerprint fingerprint)
{
    struct spot spot = {.found = true, .fingerprint = key_of(worker, state, fingerprint)};
    spot.level = level_of(worker, spot.fingerprint);
    worker->end_states++;
    const char *wanted = worker->crew->model->setting.options.property;
    if (judge_end(worker->crew->model, state, false, wanted, &spot.finding))
        crew_halt(worker->crew, SEARCH_MEMORY);
    else if (spot.finding.verdict == CV_VIOLATED)
        report(worker, &spot);
}

/* ---- expanding ---- */

/*
 * Adds some of the successors to the table and queues the new ones. True if at least one is still to be expanded; in a
 * depth-first search that is known only of new ones.
 */
static bool add_successors(struct worker *worker, const uint32_t *base, struct fingerprint fingerprint, uint32_t from,
                           uint32_t to)
{
    struct table *table = &worker->crew->search->table;
    const uint64_t key = key_of(worker, base, fingerprint);
    const uint32_t level = level_of(worker, key) + 1;
    uint64_t fresh = 0;
    bool open = false, back = false;
    for (uint32_t i = from; i < to; i++) {
        const struct successor *successor = &worker->expander.successors[i];
        if (__builtin_expect(successor->violations, 0))
            report_step(worker, key, successor);
        const enum table_answer answer = add(worker, successor->key, key, level);
        if (answer == TABLE_NEW) {
            fresh++;
            if (__builtin_expect(worker->parents != NULL, 0))
                log_parent(worker, successor->key, key, level);
            queue(worker, base, successor, level);
        }
        open |= answer == TABLE_NEW || (answer == TABLE_OPEN && !worker->crew->deep);
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
    const uint32_t slots = worker->crew->model->slots;
    expand_clear(expander);
    for (uint32_t i = 0; i < count; i++) {
        worker->fingerprints[i] = chunk_state(chunk, first + i, slots, worker->base[i]);
        expand_find_enabled(expander, worker->base[i], &worker->enabled_sets[i]);
    }
    expand_find_outcomes(expander);
    for (uint32_t i = 0, from = 0; i < count; i++, from = expander->count) {
        expander->obligations = 0;
        expand_all(expander, worker->base[i], worker->fingerprints[i], &worker->enabled_sets[i]);
        worker->successor_ends[i] = expander->count;
        worker->obligations[i] = expander->obligations;
        for (uint32_t j = from; j < expander->count; j++)
            table_expect(table, expander->successors[j].key);
    }
    for (uint32_t i = 0, from = 0; i < count; from = worker->successor_ends[i++]) {
        add_successors(worker, worker->base[i], worker->fingerprints[i], from, worker->successor_ends[i]);
        if (!worker->obligations[i])
            judge_end_state(worker, worker->base[i], worker->fingerprints[i]);
    }
}

/* Expands a message that may arrive before all other events. */
static bool try_messages(struct worker *worker, uint32_t *state, struct fingerprint fingerprint, uint32_t alive)
{
    struct expander *expander = &worker->expander;
    for (uint32_t slot = 0; (slot = reducer_next_message(&worker->reducer, state, alive, slot));) {
        expand_clear(expander);
        expand_delivery(expander, state, fingerprint, slot);
        if (add_successors(worker, state, fingerprint, 0, expander->count)) {
            reducer_note_message(&worker->reducer, state, alive, slot);
            return true;
        }
    }
    return false;
}

/* Expands the events of a persistent set of nodes. */
static bool try_nodes(struct worker *worker, uint32_t *state, struct fingerprint fingerprint, uint32_t alive)
{
    struct expander *expander = &worker->expander;
    uint32_t nodes = EVERY_NODE, tried = 0;
    while (reducer_next_set(&worker->reducer, state, alive, &tried, &nodes)) {
        expand_clear(expander);
        expand(expander, state, fingerprint, nodes);
        if (reducer_may_take(expander) && add_successors(worker, state, fingerprint, 0, expander->count))
            return true;
    }
    return false;
}

/*
 * A reduced set must lead to a state that is not expanded yet. Otherwise the other events might be left out for ever.
 */
static void expand_reduced(struct worker *worker, const struct chunk *chunk, uint32_t index)
{
    struct expander *expander = &worker->expander;
    uint32_t *state = worker->base[0];
    struct fingerprint fingerprint = chunk_state(chunk, index, worker->crew->model->slots, state);
    if (expander->symmetry.count > 1)
        fingerprint = symmetry_represent(&expander->symmetry, state, fingerprint);
    const uint32_t alive = expand_alive(expander, state);
    const bool worth_trying = setting_is_stable(&worker->crew->model->setting, alive);
    worker->expanded += worth_trying;
    if (worth_trying &&
        (try_messages(worker, state, fingerprint, alive) || try_nodes(worker, state, fingerprint, alive))) {
        worker->reduced = true;
        worker->saved++;
        return;
    }
    expand_clear(expander);
    expand(expander, state, fingerprint, EVERY_NODE);
    add_successors(worker, state, fingerprint, 0, expander->count);
    if (!expander->obligations)
        judge_end_state(worker, state, fingerprint);
}

void visit(struct worker *worker, const struct chunk *chunk, uint32_t first, uint32_t count)
{
    const struct crew *crew = worker->crew;
    if (crew->gain.on)
        for (uint32_t i = 0; i < count && !crew->stop && !crew->model->out_of_memory; i++)
            expand_reduced(worker, chunk, first + i);
    else
        for (uint32_t i = 0; i < count && !crew->stop && !crew->model->out_of_memory; i += GROUP)
            expand_group(worker, chunk, first + i, count - i < GROUP ? count - i : GROUP);
}
