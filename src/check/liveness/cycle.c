// SPDX-License-Identifier: MIT
/*
 * Strongly connected components by Tarjan's algorithm (1972), with an explicit stack instead of recursion. A run that
 * stays in a component for ever can visit all of it again and again. So it is fair, unless some action is possible in
 * every state of the component and happens nowhere inside it: that action would have to happen, and leads out.
 */
#include "check/liveness/cycle.h"

#include <stdlib.h>

#define UNSEEN 0u

struct finder {
    const struct state_graph *graph;
    bool waiting;        /* as cycle_find() takes it */
    bool cyclic;         /* there is a cycle */
    uint32_t *low;       /* 0: unseen; otherwise the lowest visit number reachable; visits count from 1 */
    uint32_t *component; /* of each finished state: the root of its component, plus 1 */
    uint32_t *stack;
    uint32_t stack_count;
    struct {
        uint32_t state;
        uint64_t edge;
    } * path;
    uint32_t path_count;
    uint32_t visits;
    uint32_t *members; /* the fair component that is reached first, if there is one */
    uint32_t member_count;
    uint32_t start; /* its first state in the graph */
};

static bool inside(const struct finder *finder, uint32_t state, uint32_t component)
{
    return finder->component[state] == component;
}

static bool has_edge(const struct state_graph *graph, uint32_t state, uint32_t action)
{
    for (uint64_t e = graph->first[state]; e < graph->first[state + 1]; e++)
        if (graph->edges[e].action == action)
            return true;
    return false;
}

/* Does that action happen inside the component, or is it impossible somewhere in it? */
static bool is_satisfied(const struct finder *finder, const uint32_t *members, uint32_t count, uint32_t action)
{
    const struct state_graph *graph = finder->graph;
    const uint32_t component = finder->component[members[0]];
    for (uint32_t i = 0; i < count; i++) {
        bool possible = false;
        for (uint64_t e = graph->first[members[i]]; e < graph->first[members[i] + 1]; e++) {
            if (graph->edges[e].action != action)
                continue;
            possible = true;
            if (inside(finder, graph->edges[e].to, component))
                return true;
        }
        if (!possible)
            return true;
    }
    return false;
}

static bool is_fair(const struct finder *finder, const uint32_t *members, uint32_t count)
{
    const struct state_graph *graph = finder->graph;
    for (uint64_t e = graph->first[members[0]]; e < graph->first[members[0] + 1]; e++)
        if (graph->edges[e].action && !is_satisfied(finder, members, count, graph->edges[e].action))
            return false;
    return true;
}

static bool is_cycle(const struct state_graph *graph, const uint32_t *members, uint32_t count)
{
    if (count > 1)
        return true;
    for (uint64_t e = graph->first[members[0]]; e < graph->first[members[0] + 1]; e++)
        if (graph->edges[e].to == members[0])
            return true;
    return false;
}

static uint32_t lowest(const uint32_t *members, uint32_t count)
{
    uint32_t least = members[0];
    for (uint32_t i = 1; i < count; i++)
        least = members[i] < least ? members[i] : least;
    return least;
}

static bool all_wait(const struct state_graph *graph, const uint32_t *members, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!graph->waits[members[i]])
            return false;
    return true;
}

/* A component is complete: the stack has it on top, from `root` on. */
static void close_component(struct finder *finder, uint32_t root)
{
    uint32_t from = finder->stack_count;
    do
        finder->component[finder->stack[--from]] = root + 1;
    while (finder->stack[from] != root);
    const uint32_t *members = finder->stack + from, count = finder->stack_count - from;
    finder->stack_count = from;
    if (!is_cycle(finder->graph, members, count))
        return;
    finder->cyclic = true;
    const uint32_t first = lowest(members, count);
    if (first >= finder->start || (finder->waiting && !all_wait(finder->graph, members, count)) ||
        !is_fair(finder, members, count))
        return;
    free(finder->members);
    finder->members = malloc(count * sizeof *finder->members);
    finder->member_count = count;
    finder->start = first;
    if (finder->members)
        memcpy(finder->members, members, count * sizeof *members);
}

static void enter(struct finder *finder, uint32_t state)
{
    finder->low[state] = ++finder->visits;
    finder->stack[finder->stack_count++] = state;
    finder->path[finder->path_count].state = state;
    finder->path[finder->path_count++].edge = finder->graph->first[state];
}

/* `order` has the visit numbers; `low` is lowered as cycles are found. */
static void visit(struct finder *finder, uint32_t *order, uint32_t start)
{
    const struct state_graph *graph = finder->graph;
    enter(finder, start);
    order[start] = finder->low[start];
    while (finder->path_count) {
        const uint32_t state = finder->path[finder->path_count - 1].state;
        if (finder->path[finder->path_count - 1].edge < graph->first[state + 1]) {
            const uint32_t to = graph->edges[finder->path[finder->path_count - 1].edge++].to;
            if (finder->low[to] == UNSEEN) {
                enter(finder, to);
                order[to] = finder->low[to];
            } else if (!finder->component[to] && order[to] < finder->low[state]) {
                finder->low[state] = order[to];
            }
            continue;
        }
        finder->path_count--;
        if (finder->low[state] == order[state])
            close_component(finder, state);
        if (finder->path_count) {
            const uint32_t above = finder->path[finder->path_count - 1].state;
            if (finder->low[state] < finder->low[above])
                finder->low[above] = finder->low[state];
        }
    }
}

/* ---- the lasso ---- */

static bool lasso_add(struct lasso *lasso, uint32_t state, uint32_t action)
{
    if (lasso->count == lasso->room) {
        const uint32_t room = lasso->room ? lasso->room * 2 : 64;
        uint32_t *states = realloc(lasso->states, room * sizeof *states);
        if (states)
            lasso->states = states;
        uint32_t *actions = states ? realloc(lasso->actions, room * sizeof *actions) : NULL;
        if (!actions)
            return false;
        lasso->actions = actions;
        lasso->room = room;
    }
    lasso->states[lasso->count] = state;
    lasso->actions[lasso->count++] = action;
    return true;
}

void lasso_free(struct lasso *lasso)
{
    free(lasso->states);
    free(lasso->actions);
    *lasso = (struct lasso){0};
}

/* What a walk inside the component looks for: a state; or an action that is taken or impossible. */
struct target {
    uint32_t component;
    uint32_t goal; /* the state; UINT32_MAX: look for the action */
    uint32_t action;
};

/* Adds the shortest path from the end of the lasso to the target. `via` and `queue` are scratch. */
static bool walk(struct finder *finder, struct lasso *lasso, const struct target *target, uint32_t *via,
                 uint32_t *queue)
{
    const struct state_graph *graph = finder->graph;
    const uint32_t start = lasso->states[lasso->count - 1];
    uint32_t head = 0, tail = 0, last = UINT32_MAX, turn = UINT32_MAX;
    for (uint32_t i = 0; i < finder->member_count; i++)
        via[finder->members[i]] = UINT32_MAX;
    queue[tail++] = start;
    via[start] = start;
    while (head < tail && last == UINT32_MAX) {
        const uint32_t state = queue[head++];
        if (target->goal == UINT32_MAX && !has_edge(graph, state, target->action)) {
            last = state;
            break;
        }
        for (uint64_t e = graph->first[state]; e < graph->first[state + 1]; e++) {
            const struct edge edge = graph->edges[e];
            if (!inside(finder, edge.to, target->component))
                continue;
            const bool done = target->goal == UINT32_MAX ? edge.action == target->action : edge.to == target->goal;
            if (done) {
                last = state;
                turn = edge.to;
                break;
            }
            if (via[edge.to] == UINT32_MAX) {
                via[edge.to] = state;
                queue[tail++] = edge.to;
            }
        }
    }
    if (last == UINT32_MAX)
        return false;
    uint32_t length = 0;
    for (uint32_t state = last; state != start; state = via[state])
        queue[length++] = state; /* the queue is no longer needed */
    while (length)
        if (!lasso_add(lasso, queue[--length], 0))
            return false;
    return turn == UINT32_MAX || lasso_add(lasso, turn, target->goal == UINT32_MAX ? target->action : 0);
}

static bool draw_lasso(struct finder *finder, struct lasso *lasso, uint32_t *via, uint32_t *queue)
{
    const struct state_graph *graph = finder->graph;
    const uint32_t start = finder->start;
    uint32_t length = 0;
    for (uint32_t state = start; state != UINT32_MAX; state = graph->parent[state])
        queue[length++] = state;
    while (length)
        if (!lasso_add(lasso, queue[--length], 0))
            return false;
    lasso->loop = lasso->count - 1;
    struct target target = {.component = finder->component[start], .goal = UINT32_MAX};
    for (uint64_t e = graph->first[start]; e < graph->first[start + 1]; e++) {
        target.action = graph->edges[e].action;
        if (target.action && !walk(finder, lasso, &target, via, queue))
            return false;
    }
    target.goal = start;
    return (lasso->count - 1 > lasso->loop && lasso->states[lasso->count - 1] == start) ||
           walk(finder, lasso, &target, via, queue);
}

int cycle_find(const struct state_graph *graph, bool waiting, struct lasso *lasso, bool *cyclic)
{
    struct finder finder = {.graph = graph, .waiting = waiting, .start = UINT32_MAX};
    const size_t count = graph->count;
    uint32_t *order = calloc(count, sizeof *order);
    int error = 0;
    *lasso = (struct lasso){0};
    finder.low = calloc(count, sizeof *finder.low);
    finder.component = calloc(count, sizeof *finder.component);
    finder.stack = malloc((count + 1) * sizeof *finder.stack);
    finder.path = malloc((count + 1) * sizeof *finder.path);
    if (!order || !finder.low || !finder.component || !finder.stack || !finder.path)
        error = CV_ENOMEM;
    if (!error)
        visit(&finder, order, 0); /* every state is reachable from there */
    if (!error && finder.member_count && (!finder.members || !draw_lasso(&finder, lasso, order, finder.stack)))
        error = CV_ENOMEM;
    *cyclic = finder.cyclic;
    free(order);
    free(finder.low);
    free(finder.component);
    free(finder.stack);
    free(finder.path);
    free(finder.members);
    return error;
}
