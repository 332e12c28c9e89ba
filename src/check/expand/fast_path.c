// SPDX-License-Identifier: MIT
#include "check/expand/fast_path.h"

#include "check/expand/transition.h"

static inline bool are_channels_empty(const uint32_t *state, const struct outcome *outcome)
{
    for (uint32_t i = 0; i < outcome->send_count; i++)
        if (state[outcome->sends[i].slot])
            return false;
    return true;
}

/* What sending adds to the fingerprint. If the channels are empty, as mostly, the outcome has the sum. */
static inline struct fingerprint sending(struct expander *expander, const struct outcome *outcome)
{
    const struct model *model = expander->model;
    if (are_channels_empty(expander->state, outcome))
        return outcome->sent;
    struct fingerprint sum = {.half = {0}};
    for (uint32_t i = 0; i < outcome->send_count; i++) {
        const uint32_t before = expander->state[outcome->sends[i].slot];
        const uint32_t after = stepper_put(&expander->stepper, before, outcome->sends[i].message);
        sum = fingerprint_add(
            sum, fingerprint_subtract(model_contents(model, after)->here, model_contents(model, before)->here));
    }
    return sum;
}

static void judge(struct expander *expander, struct successor *successor)
{
    const uint32_t before = successor->budgets;
    transition_judge(expander, successor);
    successor->budgets = transition_budgets(expander, successor);
    if (successor->budgets != before)
        successor->fingerprint = fingerprint_add(
            successor->fingerprint, fingerprint_subtract(slot_fingerprint(expander->model, successor->budgets, true),
                                                         slot_fingerprint(expander->model, before, true)));
}

void fast_path_take(struct expander *expander, const struct enabled *enabled)
{
    const struct model *model = expander->model;
    const struct contents *list = enabled->list;
    const cv_node node = enabled->node;
    const struct fingerprint fingerprint =
        list ? fingerprint_add(expander->fingerprint, list->gone) : expander->fingerprint;
    const uint32_t action =
        list ? action_of(ACTION_DELIVER, enabled->slot) : transition_own_action(&model->setting, enabled->type, node);
    for (const struct outcome *outcome = enabled->outcome; outcome; outcome = outcome->next) {
        if (transition_waits(expander, outcome))
            continue;
        struct successor *successor = expander_next(expander);
        successor->type = enabled->type;
        successor->node = (uint8_t)node;
        successor->peer = list ? model->from[enabled->slot] : UINT8_MAX;
        successor->which = 0;
        successor->fast_path = true;
        successor->missed = successor->visible = false;
        successor->violations = 0;
        successor->action = action;
        successor->sent = CV_WHOLE;
        successor->outcome = outcome;
        successor->slot = enabled->slot;
        successor->rest = list ? list->rest : 0;
        successor->budgets = expander->state[model->setting.nodes];
        successor->fingerprint =
            fingerprint_add(fingerprint_add(fingerprint, outcome->change), sending(expander, outcome));
        if (outcome->flags)
            judge(expander, successor);
        successor->key = successor->fingerprint;
        expander->obligations += action != 0;
        expander->count++;
    }
}

void fast_path_apply(struct expander *expander, const struct successor *successor, uint32_t *state)
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
