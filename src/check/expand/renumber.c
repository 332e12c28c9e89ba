// SPDX-License-Identifier: MIT
/*
 * Counters that grow for ever make every state a new one. If only their order matters, an algorithm shows them
 * (`counters` in its table), and every state is renumbered: each family counts from 1. Then cycles become visible.
 *
 * Lamport clocks make states different as well. If only requests read them, they are dropped after the last request. If
 * nodes compare them with requests, they are capped at a time that is later than all requests.
 */
#include "check/expand/renumber.h"

#include <stdlib.h>

struct renumbering {
    struct cv_counting counting;         /* first, so that one pointer is the other */
    bool lowers;                         /* the second pass lowers all counters; the first one finds the least */
    uint64_t least[CV_CHECK_MOST_NODES]; /* by family */
};

static void visit_counter(struct cv_counting *counting, uint32_t family, uint64_t *number)
{
    struct renumbering *renumbering = (struct renumbering *)(void *)counting;
    uint64_t *least = &renumbering->least[family];
    if (!*number)
        return;
    if (renumbering->lowers)
        *number -= *least - 1;
    else if (!*least || *number < *least)
        *least = *number;
}

/* A copy of the bytes that belong to a number; NULL if there is no memory. */
static void *copy(struct model *model, const struct intern *intern, uint32_t number)
{
    const struct intern_record *record = intern_record(intern, number);
    void *bytes = malloc(record->length);
    if (bytes)
        memcpy(bytes, record->bytes, record->length);
    else
        model->out_of_memory = true;
    return bytes;
}

/* Visits the counters of all messages. Returns the contents with lowered counters, in the first pass the same. */
static uint32_t visit_contents(struct model *model, struct renumbering *renumbering, uint32_t contents)
{
    if (!contents)
        return 0;
    const struct contents *list = model_contents(model, contents);
    struct cv_message *message = copy(model, &model->messages, list->first);
    if (!message)
        return contents;
    model->setting.algorithm->hints.counters(&renumbering->counting, message->from, NULL, message);
    const uint32_t first = model_add_message(model, message, 0);
    free(message);
    const uint32_t rest = visit_contents(model, renumbering, list->rest);
    return first == list->first && rest == list->rest ? contents : model_put_back(model, first, rest);
}

static uint32_t visit_node_state(struct model *model, struct renumbering *renumbering, uint32_t number)
{
    struct node_state *node_state = copy(model, &model->node_states, number);
    if (!node_state)
        return number;
    if (node_state->flags & NODE_ALIVE)
        model->setting.algorithm->hints.counters(&renumbering->counting, node_state->node, node_state->state, NULL);
    const uint32_t result = model_add_node_state(model, node_state);
    free(node_state);
    return result;
}

/* Did the state before the step have counters of these families? */
static bool existed_before(const struct expander *expander, uint32_t families)
{
    struct model *model = expander->model;
    struct renumbering renumbering = {.counting.count = visit_counter};
    uint32_t old[MOST_SLOTS];
    memcpy(old, expander->state, model->slots * sizeof *old);
    for (uint32_t i = 0; i < expander->touch_count; i++)
        old[expander->touched[i]] = expander->old[i];
    for (uint32_t slot = 0; slot < model->slots; slot++)
        if (slot < model->setting.nodes)
            visit_node_state(model, &renumbering, old[slot]);
        else if (slot > model->setting.nodes)
            visit_contents(model, &renumbering, old[slot]);
    for (uint32_t rest = families; rest; rest &= rest - 1)
        if (renumbering.least[__builtin_ctz(rest)])
            return true;
    return false;
}

static void set_slot(struct expander *expander, struct successor *successor, uint32_t slot, uint32_t number)
{
    if (slot < expander->model->setting.nodes)
        expander_set_node_state(expander, successor, slot, number);
    else
        expander_set_contents(expander, successor, slot, number);
}

void renumber(struct expander *expander, struct successor *successor)
{
    struct model *model = expander->model;
    struct renumbering renumbering = {.counting.count = visit_counter};
    const uint32_t begun = successor->outcome ? successor->outcome->detail->begun : 0;
    bool high = false;
    if (begun && !model->counters_fail && existed_before(expander, begun)) {
        model->counters_fail = true;
        model_doubt_promise(model, false, "`counters` cannot be confirmed: numbers of one family begin twice");
    }
    if (model->counters_fail)
        return; /* the search starts again without renumbering */
    for (int round = 0; round < 2; round++) {
        for (uint32_t slot = 0; slot < model->slots; slot++) {
            const uint32_t before = expander->state[slot];
            if (slot == model->setting.nodes)
                continue;
            const uint32_t after = slot < model->setting.nodes ? visit_node_state(model, &renumbering, before)
                                                               : visit_contents(model, &renumbering, before);
            if (after != before)
                set_slot(expander, successor, slot, after);
        }
        for (uint32_t family = 0; family < CV_CHECK_MOST_NODES; family++)
            high |= renumbering.least[family] > 1;
        if (!high)
            return;
        renumbering.lowers = true;
    }
}

/* ---- clocks ---- */

static uint32_t clockless_contents(struct model *model, uint32_t contents, uint32_t alive)
{
    if (!contents)
        return 0;
    const struct contents *list = model_contents(model, contents);
    const uint32_t first = model_add_message(model, model_message(model, list->first), alive);
    const uint32_t rest = clockless_contents(model, list->rest, alive);
    return first == list->first && rest == list->rest ? contents : model_put_back(model, first, rest);
}

static uint32_t clockless_node_state(struct model *model, uint32_t number, uint32_t alive)
{
    struct node_state *node_state = copy(model, &model->node_states, number);
    if (!node_state)
        return number;
    node_state->clock = setting_clock(&model->setting, alive, node_state->clock);
    const uint32_t result = model_add_node_state(model, node_state);
    free(node_state);
    return result;
}

/* The same for a node or a channel, remembered. */
static uint32_t clockless_slot(struct expander *expander, bool is_node_state, uint32_t number, uint32_t alive)
{
    struct model *model = expander->model;
    const uint64_t key = (uint64_t)is_node_state << 32 | number, known = memo_find(&expander->clockless, key, alive);
    if (known)
        return (uint32_t)(known - 1);
    const uint32_t result =
        is_node_state ? clockless_node_state(model, number, alive) : clockless_contents(model, number, alive);
    if (!memo_add(&expander->clockless, key, alive, (uint64_t)result + 1))
        model->out_of_memory = true;
    return result;
}

void drop_clocks(struct expander *expander, struct successor *successor, uint32_t alive)
{
    const struct model *model = expander->model;
    for (uint32_t slot = 0; slot < model->slots; slot++) {
        if (slot == model->setting.nodes)
            continue;
        const uint32_t before = expander->state[slot];
        const uint32_t after = clockless_slot(expander, slot < model->setting.nodes, before, alive);
        if (after != before)
            set_slot(expander, successor, slot, after);
    }
}

uint32_t stopped_clocks(const struct expander *expander)
{
    const struct setting *setting = &expander->model->setting;
    uint64_t latest = 0;
    for (cv_node node = 0; node < setting->nodes; node++) {
        const struct node_state *node_state = model_node_state(expander->model, expander->state[node]);
        if (node_state->requests_left)
            return 0;
        if (node_state->flags & NODE_WAITING && setting->caps_clocks && node_state->request_clock + 1ull > latest)
            latest = node_state->request_clock + 1ull;
    }
    return latest > CLOCK_CAP_MOST ? 0 : CLOCKS_STOPPED | (uint32_t)latest << CLOCK_CAP_SHIFT;
}
