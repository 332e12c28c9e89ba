// SPDX-License-Identifier: MIT
#include "check/liveness/state_graph.h"

#include <stdlib.h>

#include "check/expand/successors.h"
#include "check/reduce/reducer.h"
#include "check/state/chunk.h"
#include "check/step/initial_state.h"

#define FIRST_ROOM 4096u
#define LOOK_AROUND 1024u

struct builder {
    struct state_graph *graph;
    struct model *model;
    struct expander expander;
    struct reducer reducer;
    struct chunk *head; /* the states that wait to be expanded, in order */
    struct chunk *tail;
    uint64_t chunk_bytes;
    uint32_t next_level; /* the number of the first state of the next level */
};

void state_graph_free(struct state_graph *graph)
{
    free(graph->first);
    free(graph->edges);
    free(graph->parent);
    free(graph->waits);
    free(graph->fingerprints);
    free(graph->slots);
    *graph = (struct state_graph){0};
}

static uint64_t slot_of(const struct state_graph *graph, struct fingerprint fingerprint)
{
    uint64_t at = fingerprint.half[0] & graph->slot_mask;
    while (graph->slots[at]) {
        const struct fingerprint *held = &graph->fingerprints[graph->slots[at] - 1];
        if (held->half[0] == fingerprint.half[0] && held->half[1] == fingerprint.half[1])
            break;
        at = (at + 1) & graph->slot_mask;
    }
    return at;
}

uint32_t state_graph_find(const struct state_graph *graph, struct fingerprint fingerprint)
{
    const uint64_t at = slot_of(graph, fingerprint);
    return graph->slots[at] ? graph->slots[at] - 1 : UINT32_MAX;
}

/* ---- room ---- */

static bool resize(void *array, size_t count, size_t size)
{
    void *larger = realloc(*(void **)array, count * size);
    if (larger)
        *(void **)array = larger;
    return larger;
}

static bool grow_states(struct state_graph *graph)
{
    const uint64_t room = graph->room ? graph->room * 2 : FIRST_ROOM;
    uint32_t *slots = calloc(room * 2, sizeof *slots);
    if (!slots || !resize(&graph->first, room + 1, sizeof *graph->first) ||
        !resize(&graph->parent, room, sizeof *graph->parent) || !resize(&graph->waits, room, sizeof *graph->waits) ||
        !resize(&graph->fingerprints, room, sizeof *graph->fingerprints)) {
        free(slots);
        return false;
    }
    free(graph->slots);
    graph->slots = slots;
    graph->slot_mask = room * 2 - 1;
    graph->room = room;
    for (uint32_t i = 0; i < graph->count; i++)
        graph->slots[slot_of(graph, graph->fingerprints[i])] = i + 1;
    return true;
}

static bool grow_edges(struct state_graph *graph)
{
    const uint64_t room = graph->edge_room ? graph->edge_room * 2 : FIRST_ROOM * 4;
    if (!resize(&graph->edges, room, sizeof *graph->edges))
        return false;
    graph->edge_room = room;
    return true;
}

static uint64_t held(const struct builder *builder)
{
    const struct state_graph *graph = builder->graph;
    const uint64_t later = 32; /* bytes that cycle_find() will take */
    const uint64_t per_state = 2 * sizeof *graph->slots + sizeof *graph->first + sizeof *graph->parent +
                               sizeof *graph->waits + sizeof *graph->fingerprints + later;
    return graph->room * per_state + graph->edge_room * sizeof *graph->edges + builder->chunk_bytes +
           model_bytes(builder->model) + builder->expander.stepper.outcomes.bytes;
}

/* Growing copies the arrays, so there must be memory for twice as much. */
static bool has_room(struct builder *builder)
{
    const struct state_graph *graph = builder->graph;
    const bool grows = graph->count + 1 >= graph->room;
    const uint64_t bytes = held(builder);
    if (bytes > builder->graph->bytes)
        builder->graph->bytes = bytes;
    return bytes * (grows ? 2 : 1) < builder->model->setting.options.memory && graph->count < UINT32_MAX - 1 &&
           !builder->model->out_of_memory;
}

/* ---- building ---- */

static bool queue(struct builder *builder, const uint32_t *base, const struct successor *successor)
{
    const uint32_t slots = builder->model->slots;
    struct chunk *tail = builder->tail;
    if (!tail || !chunk_takes(tail, slots)) {
        struct chunk *chunk = malloc(CHUNK_BYTES);
        if (!chunk)
            return false;
        chunk_begin(chunk, slots);
        builder->chunk_bytes += CHUNK_BYTES;
        if (tail)
            tail->next = chunk;
        else
            builder->head = chunk;
        builder->tail = chunk;
    }
    uint32_t *state = chunk_append(builder->tail, successor->fingerprint);
    memcpy(state, base, builder->tail->slots * sizeof *state);
    expand_apply(&builder->expander, successor, state);
    return true;
}

static bool somebody_waits(const struct model *model, const uint32_t *state)
{
    for (cv_node node = 0; node < model->setting.nodes; node++) {
        const uint32_t flags = model_node_state(model, state[node])->flags;
        if (setting_is_mutex(&model->setting) ? flags & NODE_WAITING
                                              : (flags & (NODE_ALIVE | NODE_KNOWS)) == NODE_ALIVE)
            return true;
    }
    return false;
}

/* The number of a successor; a new one is queued. UINT32_MAX if there is no memory. */
static uint32_t number(struct builder *builder, const uint32_t *base, const struct successor *successor,
                       uint32_t parent)
{
    struct state_graph *graph = builder->graph;
    if (graph->count == graph->room && !grow_states(graph))
        return UINT32_MAX;
    const uint64_t at = slot_of(graph, successor->fingerprint);
    if (graph->slots[at])
        return graph->slots[at] - 1;
    if (!queue(builder, base, successor))
        return UINT32_MAX;
    graph->fingerprints[graph->count] = successor->fingerprint;
    graph->parent[graph->count] = parent;
    graph->slots[at] = ++graph->count;
    return graph->count - 1;
}

/* The cache fetches what looking for the successors needs, for all of them at once: it is seldom there. */
static void expect_successors(const struct builder *builder)
{
    const struct state_graph *graph = builder->graph;
    const struct expander *expander = &builder->expander;
    for (uint32_t i = 0; i < expander->count; i++)
        __builtin_prefetch(&graph->slots[expander->successors[i].fingerprint.half[0] & graph->slot_mask], 1);
    for (uint32_t i = 0; i < expander->count; i++)
        __builtin_prefetch(
            &graph->fingerprints[graph->slots[expander->successors[i].fingerprint.half[0] & graph->slot_mask]]);
}

/* Adds the edges of a state. `open`: one of them leads to a state of the next level, which is not expanded yet. */
static bool connect(struct builder *builder, const uint32_t *state, uint32_t from, bool *open)
{
    struct state_graph *graph = builder->graph;
    *open = false;
    expect_successors(builder);
    for (uint32_t i = 0; i < builder->expander.count; i++) {
        const struct successor *successor = &builder->expander.successors[i];
        const uint32_t to = number(builder, state, successor, from);
        const uint64_t at = graph->first[from + 1];
        if (to == UINT32_MAX || (at == graph->edge_room && !grow_edges(graph)))
            return false;
        graph->edges[at] = (struct edge){to, successor->action};
        graph->first[from + 1] = at + 1;
        *open |= to >= builder->next_level;
    }
    return true;
}

static bool expand_state(struct builder *builder, uint32_t *state, struct fingerprint fingerprint, uint32_t from,
                         bool reduction)
{
    struct expander *expander = &builder->expander;
    struct state_graph *graph = builder->graph;
    uint32_t nodes, tried = 0, slot = 0;
    const uint32_t alive = expand_alive(expander, state);
    bool open;
    graph->waits[from] = somebody_waits(builder->model, state);
    graph->first[from + 1] = graph->first[from];
    while (reduction && (slot = reducer_next_message(&builder->reducer, state, alive, slot))) {
        expand_clear(expander);
        expand_delivery(expander, state, fingerprint, slot);
        graph->first[from + 1] = graph->first[from];
        if (!connect(builder, state, from, &open))
            return false;
        if (open)
            return true;
    }
    while (reduction && reducer_next_set(&builder->reducer, state, alive, &tried, &nodes)) {
        expand_clear(expander);
        expand(expander, state, fingerprint, nodes);
        graph->first[from + 1] = graph->first[from];
        if (!reducer_may_take(expander))
            continue;
        if (!connect(builder, state, from, &open))
            return false;
        if (open)
            return true;
    }
    graph->first[from + 1] = graph->first[from];
    expand_clear(expander);
    expand(expander, state, fingerprint, EVERY_NODE);
    return connect(builder, state, from, &open);
}

static bool look_around(const struct builder *builder)
{
    const struct cv_check_options *options = &builder->model->setting.options;
    if (options->progress)
        options->progress(options->progress_context,
                          &(struct cv_check_progress){.states = builder->graph->count,
                                                      .queue = builder->graph->count - builder->next_level,
                                                      .bytes = builder->graph->bytes,
                                                      .depth = builder->graph->depth,
                                                      .phase = "looking for cycles"});
    return !(options->interrupted && *options->interrupted);
}

static void drop_head(struct builder *builder)
{
    struct chunk *head = builder->head;
    builder->head = head->next;
    if (!builder->head)
        builder->tail = NULL;
    builder->chunk_bytes -= CHUNK_BYTES;
    free(head);
}

static void build(struct builder *builder, bool reduction)
{
    struct state_graph *graph = builder->graph;
    uint32_t state[MOST_SLOTS] = {0}, at = 0;
    for (uint32_t from = 0; from < graph->count; from++) {
        if (from == builder->next_level) {
            builder->next_level = graph->count;
            graph->depth++;
        }
        const struct fingerprint fingerprint = chunk_state(builder->head, at, builder->model->slots, state);
        const bool room = has_room(builder) && expand_state(builder, state, fingerprint, from, reduction);
        if (!room || (from % LOOK_AROUND == 0 && !look_around(builder))) {
            graph->too_large = true;
            return;
        }
        if (++at == builder->head->count) {
            drop_head(builder);
            at = 0;
        }
    }
}

int state_graph_build(struct state_graph *graph, struct model *model, bool reduction)
{
    uint32_t state[MOST_SLOTS];
    struct builder builder = {.graph = graph, .model = model, .next_level = 1};
    *graph = (struct state_graph){0};
    int error = expander_init(&builder.expander, model, NULL);
    if (!error)
        error = reducer_init(&builder.reducer, model);
    if (!error)
        error = initial_state(model, state);
    if (!error && !(grow_states(graph) && grow_edges(graph)))
        error = CV_ENOMEM;
    if (!error) {
        const struct successor first = {.fingerprint = model_fingerprint(model, state)};
        graph->first[0] = 0;
        error = number(&builder, state, &first, UINT32_MAX) == UINT32_MAX ? CV_ENOMEM : 0;
    }
    if (!error)
        build(&builder, reduction);
    while (builder.head)
        drop_head(&builder);
    expander_free(&builder.expander);
    reducer_free(&builder.reducer);
    return error;
}
