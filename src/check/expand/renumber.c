// SPDX-License-Identifier: MIT
/*
 * Numbers that grow for ever make every state a new one. Where only their order matters an algorithm shows them
 * (`counters` in its table), and they are counted anew from 1 in every state: then what goes round comes round.
 *
 * Lamport clocks tell states apart as well. Once nobody will ask any more, and if only requests look at them, they no
 * longer matter and are dropped; or they go no further than what is later than all requests, if that is all they are
 * for.
 */
#include <stdlib.h>

#include "check/expand/successors.h"

struct recounting {
    struct cv_counting counting; /* first, so that the one is the other */
    bool lowers;                 /* first the least of each family is found, then all are lowered */
    uint64_t least[CV_CHECK_MOST_NODES];
};

static void look_at(struct cv_counting *counting, uint32_t family, uint64_t *number)
{
    struct recounting *recounting = (struct recounting *)(void *)counting;
    uint64_t *least = &recounting->least[family];
    if (!*number)
        return;
    if (recounting->lowers)
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

/* The contents with every message's counters looked at, or lowered: for looking the result is the same contents. */
static uint32_t visit_contents(struct model *model, struct recounting *recounting, uint32_t contents)
{
    if (!contents)
        return 0;
    const struct contents *list = model_contents(model, contents);
    struct cv_message *message = copy(model, &model->messages, list->first);
    if (!message)
        return contents;
    model->setting.algorithm->counters(&recounting->counting, message->from, NULL, message);
    const uint32_t first = model_add_message(model, message, 0);
    free(message);
    const uint32_t rest = visit_contents(model, recounting, list->rest);
    return first == list->first && rest == list->rest ? contents : model_put_back(model, first, rest);
}

static uint32_t visit_node_state(struct model *model, struct recounting *recounting, uint32_t number)
{
    struct node_state *node_state = copy(model, &model->node_states, number);
    if (!node_state)
        return number;
    if (node_state->flags & NODE_ALIVE)
        model->setting.algorithm->counters(&recounting->counting, node_state->node, node_state->state, NULL);
    const uint32_t result = model_add_node_state(model, node_state);
    free(node_state);
    return result;
}

/* Are there numbers of these families in the state as it was before it was changed? */
static bool were_there(const struct expander *expander, uint32_t families)
{
    struct model *model = expander->model;
    struct recounting recounting = {.counting.count = look_at};
    uint32_t old[MOST_PARTS];
    memcpy(old, expander->state, model->slots * sizeof *old);
    for (uint32_t i = 0; i < expander->touch_count; i++)
        old[expander->touched[i]] = expander->old[i];
    for (uint32_t slot = 0; slot < model->slots; slot++)
        if (slot < model->setting.nodes)
            visit_node_state(model, &recounting, old[slot]);
        else if (slot > model->setting.nodes)
            visit_contents(model, &recounting, old[slot]);
    for (uint32_t rest = families; rest; rest &= rest - 1)
        if (recounting.least[__builtin_ctz(rest)])
            return true;
    return false;
}

void recount(struct expander *expander, struct successor *successor)
{
    struct model *model = expander->model;
    struct recounting recounting = {.counting.count = look_at};
    const uint32_t begun = successor->outcome ? successor->outcome->detail->begun : 0;
    bool high = false;
    if (begun && !model->miscounted && were_there(expander, begun)) {
        model->miscounted = true;
        model_break_promise(model, false, "`counters` cannot be confirmed: numbers of one family begin twice");
    }
    if (model->miscounted)
        return; /* the search begins again without */
    for (int round = 0; round < 2; round++) {
        for (uint32_t slot = 0; slot < model->slots; slot++) {
            const uint32_t before = expander->state[slot];
            if (slot == model->setting.nodes)
                continue;
            const uint32_t after = slot < model->setting.nodes ? visit_node_state(model, &recounting, before)
                                                               : visit_contents(model, &recounting, before);
            if (after != before)
                expand_set(expander, successor, slot, after);
        }
        for (uint32_t family = 0; family < CV_CHECK_MOST_NODES; family++)
            high |= recounting.least[family] > 1;
        if (!high)
            return;
        recounting.lowers = true;
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
    node_state->clock = clock_of(&model->setting, alive, node_state->clock);
    const uint32_t result = model_add_node_state(model, node_state);
    free(node_state);
    return result;
}

/* A node, or the contents of a channel, as before but remembered. */
static uint32_t clockless_slot(struct expander *expander, bool is_node_state, uint32_t number, uint32_t alive)
{
    struct model *model = expander->model;
    const uint64_t key = (uint64_t)is_node_state << 32 | number, known = memo_find(&expander->quiet, key, alive);
    if (known)
        return (uint32_t)(known - 1);
    const uint32_t result =
        is_node_state ? clockless_node_state(model, number, alive) : clockless_contents(model, number, alive);
    if (!memo_add(&expander->quiet, key, alive, (uint64_t)result + 1))
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
            expand_set(expander, successor, slot, after);
    }
}
