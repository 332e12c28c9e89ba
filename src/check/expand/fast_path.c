// SPDX-License-Identifier: MIT
#include "check/expand/fast_path.h"

bool may_take_fast_path(const struct expander *expander)
{
    const struct setting *setting = &expander->model->setting;
    return !setting->group.absence && !setting->without_clocks && !setting->counts && !setting->scenario->unordered &&
           expander->symmetry.count == 1;
}

static inline bool finds_all_empty(const uint32_t *state, const struct outcome *outcome)
{
    for (uint32_t i = 0; i < outcome->send_count; i++)
        if (state[outcome->sends[i].slot])
            return false;
    return true;
}

/* What sending adds to the fingerprint. Mostly there is nothing else in the channels; that sum is known. */
static inline struct print sending(struct expander *expander, const struct outcome *outcome)
{
    const struct model *model = expander->model;
    if (finds_all_empty(expander->state, outcome))
        return outcome->sent;
    struct print sum = {.half = {0}};
    for (uint32_t i = 0; i < outcome->send_count; i++) {
        const uint32_t before = expander->state[outcome->sends[i].slot];
        const uint32_t after = stepper_put(&expander->stepper, before, outcome->sends[i].message);
        sum = print_plus(sum, print_minus(model_contents(model, after)->here, model_contents(model, before)->here));
    }
    return sum;
}

static void judge(struct expander *expander, struct successor *successor)
{
    const uint32_t before = successor->budgets;
    event_judge(expander, successor);
    successor->budgets = event_budgets(expander, successor);
    if (successor->budgets != before)
        successor->print =
            print_plus(successor->print, print_minus(model_print(successor->budgets, true), model_print(before, true)));
}

void take_lightly(struct expander *expander, const struct enabled *enabled)
{
    const struct model *model = expander->model;
    const struct contents *list = enabled->list;
    const cv_node node = enabled->node;
    const struct print print = list ? print_plus(expander->print, list->gone) : expander->print;
    const uint32_t action = list                               ? must(MUST_DELIVER, enabled->slot)
                            : enabled->type == CV_DECIDE_LEAVE ? must(MUST_LEAVE, node)
                                                               : 0;
    for (const struct outcome *outcome = enabled->outcome; outcome; outcome = outcome->next) {
        if (event_waits(expander, outcome))
            continue;
        struct successor *successor = event_open(expander);
        successor->type = enabled->type;
        successor->node = (uint8_t)node;
        successor->peer = list ? model->from[enabled->slot] : UINT8_MAX;
        successor->node_state = 0;
        successor->fast_path = true;
        successor->missed = successor->visible = false;
        successor->wrong = WRONG_NOTHING;
        successor->action = action;
        successor->sent = CV_WHOLE;
        successor->outcome = outcome;
        successor->slot = enabled->slot;
        successor->rest = list ? list->rest : 0;
        successor->budgets = expander->state[model->setting.nodes];
        successor->print = print_plus(print_plus(print, outcome->change), sending(expander, outcome));
        if (outcome->flags)
            judge(expander, successor);
        successor->key = successor->print;
        expander->obliged += action != 0;
        expander->count++;
    }
}

void apply_lightly(struct expander *expander, const struct successor *successor, uint32_t *state)
{
    const struct outcome *outcome = successor->outcome;
    if (successor->slot)
        state[successor->slot] = successor->rest;
    state[successor->node] = outcome->node_state;
    state[expander->model->setting.nodes] = successor->budgets;
    for (uint32_t i = 0; i < outcome->send_count; i++) {
        uint32_t *channel = &state[outcome->sends[i].slot];
        *channel = stepper_put(&expander->stepper, *channel, outcome->sends[i].message);
    }
}
