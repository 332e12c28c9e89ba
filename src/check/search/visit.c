// SPDX-License-Identifier: MIT
#include "check/search/visit.h"

#include "check/expand/successors.h"

#define COUNT_AT_ONCE 256u
#define REDUCED_WEIGHT 4u /* a state takes as long as so many others, if the reduction is tried */

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

/* Where a state of the next level goes; NULL if there is no memory. */
static uint32_t *queue_state(struct worker *worker, struct fingerprint fingerprint)
{
    struct chunk *chunk = frontier_chunk(&worker->frontier, worker->crew->model->slots);
    if (chunk)
        return chunk_append(chunk, fingerprint);
    crew_halt(worker->crew, SEARCH_MEMORY);
    return NULL;
}

static void queue(struct worker *worker, const uint32_t *base, const struct successor *successor, uint32_t level)
{
    if (worker->crew->deep && !go_down(worker, level))
        return;
    uint32_t *state = queue_state(worker, successor->fingerprint);
    if (!state)
        return;
    memcpy(state, base, worker->frontier.out->slots * sizeof *state);
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

static void count_fresh(struct worker *worker, uint64_t fresh)
{
    worker->fresh += fresh;
    if (worker->fresh > COUNT_AT_ONCE) {
        worker->crew->search->table.count += worker->fresh;
        worker->fresh = 0;
    }
}

enum table_answer visit_add(struct worker *worker, struct fingerprint key, uint64_t parent)
{
    const uint32_t level = worker->crew->search->depth + 1;
    const enum table_answer answer = add(worker, key, parent, level);
    if (answer == TABLE_NEW) {
        count_fresh(worker, 1);
        if (worker->parents)
            log_parent(worker, key, parent, level);
    }
    worker->may_cycle |= answer == TABLE_OLD;
    return answer;
}

void visit_queue(struct worker *worker, const uint32_t *state, struct fingerprint fingerprint)
{
    uint32_t *place = queue_state(worker, fingerprint);
    if (place)
        memcpy(place, state, worker->frontier.out->slots * sizeof *place);
}

/* Finds the successors that belong to other ranks. The cache fetches what adding or sending them needs. */
static void expect_successors(struct worker *worker, const uint32_t *base, uint32_t from, uint32_t to)
{
    const struct table *table = &worker->crew->search->table;
    struct exchange *exchange = worker->crew->exchange;
    struct successor *successors = worker->expander.successors;
    if (__builtin_expect(exchange == NULL, 1)) {
        for (uint32_t i = from; i < to; i++)
            table_expect(table, successors[i].key);
        return;
    }
    struct owned_state owned;
    owner_begin(&exchange->ownership, base, &owned);
    for (uint32_t i = from; i < to; i++) {
        const uint32_t owner = owner_of_successor(&exchange->ownership, &worker->expander, &owned, &successors[i]);
        successors[i].foreign = owner != exchange->own;
        if (successors[i].foreign)
            exchange_expect(exchange, successors[i].key);
        else
            table_expect(table, successors[i].key);
    }
}

/* Sends the successors that belong to other ranks. */
static void send_successors(struct worker *worker, const uint32_t *base, uint64_t key, uint32_t from, uint32_t to,
                            uint32_t question)
{
    struct ownership *ownership = &worker->crew->exchange->ownership;
    struct owned_state owned;
    owner_begin(ownership, base, &owned);
    for (uint32_t i = from; i < to; i++) {
        const struct successor *successor = &worker->expander.successors[i];
        if (!successor->foreign)
            continue;
        if (__builtin_expect(successor->violations, 0))
            report_step(worker, key, successor);
        const uint32_t owner = owner_of_successor(ownership, &worker->expander, &owned, successor);
        exchange_send(worker, owner, base, successor, key, question);
    }
}

/* Is at least one of the successors still to be expanded? ASKED: other ranks know. */
enum openness { CLOSED, OPEN, ASKED };

/*
 * Adds some of the successors, which were expected, to the table and queues the new ones. In a depth-first search it is
 * known only of new ones that they are still to be expanded. `asks`: if no state of this rank decides it, the owners of
 * the others do.
 */
static enum openness add_successors(struct worker *worker, const uint32_t *base, struct fingerprint fingerprint,
                                    uint32_t from, uint32_t to, bool asks)
{
    const struct exchange *exchange = worker->crew->exchange;
    const uint64_t key = key_of(worker, base, fingerprint);
    const uint32_t level = level_of(worker, key) + 1;
    uint64_t fresh = 0;
    bool open = false, back = false, foreign = false;
    for (uint32_t i = from; i < to; i++) {
        const struct successor *successor = &worker->expander.successors[i];
        if (__builtin_expect(exchange != NULL, 0) && successor->foreign) {
            foreign = true;
            continue;
        }
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
    count_fresh(worker, fresh);
    if (__builtin_expect(!foreign, 1))
        return open ? OPEN : CLOSED;
    const bool question = asks && !open;
    send_successors(worker, base, key, from, to, question ? (uint32_t)exchange->next.count : NO_QUESTION);
    return open ? OPEN : question ? ASKED : CLOSED;
}

static void expand_group(struct worker *worker, const struct chunk *chunk, uint32_t first, uint32_t count)
{
    struct expander *expander = &worker->expander;
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
        expect_successors(worker, worker->base[i], from, expander->count);
    }
    for (uint32_t i = 0, from = 0; i < count; from = worker->successor_ends[i++]) {
        add_successors(worker, worker->base[i], worker->fingerprints[i], from, worker->successor_ends[i], false);
        if (!worker->obligations[i])
            judge_end_state(worker, worker->base[i], worker->fingerprints[i]);
    }
}

/* The next candidate: a message that may arrive before all other events, then a persistent set of nodes. */
static bool expand_candidate(struct worker *worker, uint32_t *state, struct fingerprint fingerprint, uint32_t alive,
                             struct attempt *attempt)
{
    struct expander *expander = &worker->expander;
    uint32_t nodes = EVERY_NODE;
    if (attempt->phase == ATTEMPT_MESSAGES) {
        const uint32_t slot = reducer_next_message(&worker->reducer, state, alive, attempt->slot);
        if (slot) {
            attempt->slot = slot;
            expand_clear(expander);
            expand_delivery(expander, state, fingerprint, slot);
            return true;
        }
        attempt->phase = ATTEMPT_NODES;
    }
    while (reducer_next_set(&worker->reducer, state, alive, &attempt->tried, &nodes)) {
        expand_clear(expander);
        expand(expander, state, fingerprint, nodes);
        if (reducer_may_take(expander))
            return true;
    }
    attempt->phase = ATTEMPT_ALL;
    return false;
}

static void note_reduced(struct worker *worker, const uint32_t *state, uint32_t alive, const struct attempt *attempt)
{
    if (attempt->phase == ATTEMPT_MESSAGES)
        reducer_note_message(&worker->reducer, state, alive, attempt->slot);
    worker->reduced = true;
    worker->saved++;
}

/*
 * A reduced set must lead to a state that is not expanded yet. Otherwise the other events might be left out for ever.
 * Tries one candidate after the other; if other ranks must say whether it does, the state waits.
 */
static void try_candidates(struct worker *worker, uint32_t *state, struct fingerprint fingerprint, uint32_t alive,
                           struct attempt *attempt)
{
    struct expander *expander = &worker->expander;
    while (attempt->phase != ATTEMPT_ALL && expand_candidate(worker, state, fingerprint, alive, attempt)) {
        expect_successors(worker, state, 0, expander->count);
        const enum openness openness = add_successors(worker, state, fingerprint, 0, expander->count, true);
        if (openness == OPEN)
            note_reduced(worker, state, alive, attempt);
        else if (openness == ASKED)
            exchange_keep(worker->crew->exchange, state, fingerprint, attempt);
        if (openness != CLOSED)
            return;
    }
    expand_clear(expander);
    expand(expander, state, fingerprint, EVERY_NODE);
    expect_successors(worker, state, 0, expander->count);
    add_successors(worker, state, fingerprint, 0, expander->count, false);
    if (!expander->obligations)
        judge_end_state(worker, state, fingerprint);
}

static void expand_reduced(struct worker *worker, const struct chunk *chunk, uint32_t index)
{
    struct expander *expander = &worker->expander;
    uint32_t *state = worker->base[0];
    struct fingerprint fingerprint = chunk_state(chunk, index, worker->crew->model->slots, state);
    if (expander->symmetry.count > 1)
        fingerprint = symmetry_represent(&expander->symmetry, state, fingerprint);
    const uint32_t alive = expand_alive(expander, state);
    const bool worth_trying = setting_is_stable(&worker->crew->model->setting, alive);
    struct attempt attempt = {.phase = worth_trying ? ATTEMPT_MESSAGES : ATTEMPT_ALL};
    worker->expanded += worth_trying;
    try_candidates(worker, state, fingerprint, alive, &attempt);
}

void visit_decided(struct worker *worker)
{
    struct crew *crew = worker->crew;
    const struct undecided_list *list = &crew->exchange->now;
    for (size_t i = 0; i < list->count && !crew->stop && !crew->model->out_of_memory; i++) {
        struct undecided *it = &list->states[i];
        uint32_t *state = worker->base[0];
        memset(state, 0, MOST_SLOTS * sizeof *state);
        memcpy(state, list->words.words + it->at, it->slots * sizeof *state);
        const uint32_t alive = expand_alive(&worker->expander, state);
        if (it->open)
            note_reduced(worker, state, alive, &it->attempt);
        else
            try_candidates(worker, state, it->fingerprint, alive, &it->attempt);
        exchange_look(worker, REDUCED_WEIGHT);
    }
}

void visit(struct worker *worker, const struct chunk *chunk, uint32_t first, uint32_t count)
{
    const struct crew *crew = worker->crew;
    if (crew->gain.on)
        for (uint32_t i = 0; i < count && !crew->stop && !crew->model->out_of_memory; i++) {
            expand_reduced(worker, chunk, first + i);
            if (crew->exchange)
                exchange_look(worker, REDUCED_WEIGHT);
        }
    else
        for (uint32_t i = 0; i < count && !crew->stop && !crew->model->out_of_memory; i += GROUP) {
            expand_group(worker, chunk, first + i, count - i < GROUP ? count - i : GROUP);
            if (crew->exchange)
                exchange_look(worker, GROUP);
        }
}
