// SPDX-License-Identifier: MIT
#include "check/light.h"

bool may_be_light(const struct expander *expander)
{
    const struct setting *setting = &expander->model->setting;
    return !setting->group.absence && !setting->hushes && !setting->algorithm->counters &&
           !setting->scenario->unordered && expander->symmetry.count == 1;
}

/* What sending adds to the fingerprint. Mostly there is nothing else in the channels; that sum is known. */
static inline struct print sending(struct expander *expander, const struct outcome *outcome)
{
    const struct model *model = expander->model;
    uint32_t busy = 0;
    for (uint32_t i = 0; i < outcome->send_count; i++)
        busy |= expander->state[outcome->sends[i].part];
    if (!busy)
        return outcome->sent;
    struct print sum = {.half = {0}};
    for (uint32_t i = 0; i < outcome->send_count; i++) {
        const uint32_t before = expander->state[outcome->sends[i].part];
        const uint32_t after = stepper_put(&expander->stepper, before, outcome->sends[i].message);
        sum = print_plus(sum, print_minus(model_contents(model, after)->here, model_contents(model, before)->here));
    }
    return sum;
}

static void judge(struct expander *expander, struct successor *successor)
{
    const uint32_t before = successor->world;
    event_judge(expander, successor);
    successor->world = event_world(expander, successor);
    if (successor->world != before)
        successor->print =
            print_plus(successor->print, print_minus(model_print(successor->world, true), model_print(before, true)));
}

/* `print`: of the state without the message that is taken. */
static inline void lead_to(struct expander *expander, const struct event *event, const struct outcome *outcome,
                           struct print print)
{
    for (; outcome; outcome = outcome->next) {
        struct successor *successor = event_open(expander);
        successor->type = event->type;
        successor->node = event->node;
        successor->peer = event->peer;
        successor->place = event->place;
        successor->light = true;
        successor->missed = successor->visible = false;
        successor->wrong = WRONG_NOTHING;
        successor->action = event->action;
        successor->sent = CV_WHOLE;
        successor->outcome = outcome;
        successor->part = event->part;
        successor->rest = event->rest;
        successor->world = expander->state[expander->model->setting.nodes];
        successor->print = print_plus(print_plus(print, outcome->change), sending(expander, outcome));
        if (outcome->flags)
            judge(expander, successor);
        successor->key = successor->print;
        expander->obliged += event->action != 0;
        expander->count++;
    }
}

void take_lightly(struct expander *expander, const struct event *event, const struct outcome *outcome)
{
    struct print print = expander->print;
    if (event->part)
        print = print_plus(print, model_contents(expander->model, expander->state[event->part])->gone);
    lead_to(expander, event, outcome, print);
}

static const struct outcome *look_up(struct expander *expander, const struct event *event)
{
    if (expander->expected_at < expander->expected_count) {
        const struct outcome *expected = expander->expected[expander->expected_at++].outcome;
        if (expected)
            return expected;
    }
    return stepper_step(&expander->stepper, expander->state[event->node], CV_DECIDE_DELIVER, event->argument,
                        expander->alive);
}

void deliver_lightly(struct expander *expander)
{
    const struct model *model = expander->model;
    const uint32_t parts = model->parts;
    for (uint32_t part = model->setting.nodes + 1; part < parts; part++) {
        if (!expander->state[part])
            continue;
        const struct contents *list = model_contents(model, expander->state[part]);
        struct event event = event_delivery(model, part, list);
        const struct outcome *outcome = look_up(expander, &event);
        if (!outcome)
            return; /* there is no memory */
        if (outcome->light) {
            lead_to(expander, &event, outcome, print_plus(expander->print, list->gone));
        } else {
            event.expected = outcome;
            event_take(expander, &event);
        }
    }
}

void apply_lightly(struct expander *expander, const struct successor *successor, uint32_t *state)
{
    const struct outcome *outcome = successor->outcome;
    if (successor->part)
        state[successor->part] = successor->rest;
    state[successor->node] = outcome->place;
    state[expander->model->setting.nodes] = successor->world;
    for (uint32_t i = 0; i < outcome->send_count; i++) {
        uint32_t *channel = &state[outcome->sends[i].part];
        *channel = stepper_put(&expander->stepper, *channel, outcome->sends[i].message);
    }
}
