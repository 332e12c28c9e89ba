// SPDX-License-Identifier: MIT
/*
 * Steps of different nodes commute: each changes its own node, takes from the front of channels to it and adds to the
 * back of channels from it. So if a set of nodes hears nothing new from outside before one of its own events happens,
 * that event may happen first, and orders in which others go first need not be tried. A node can hear something new
 * only over a channel that is empty now; otherwise the next message is known. Hence the set: begin with a node that has
 * a message waiting; add every node that could send to a member over an empty channel; repeat until nothing is added.
 * This is a persistent set in the words of Godefroid, and one of Valmari's stubborn sets. Often a single message is
 * such a set: see commute.h. Who could send is predicted from what nodes were observed to do (observed.h); the search
 * repeats until it observes nothing new.
 *
 * The reduction keeps every end of a run, the judgement of every step of a node (its invariant, its calls, its leader),
 * and whether some run never ends. To keep who is inside at the same time, nothing is left out where a node enters or
 * leaves. Nothing is left out while faults are still possible, either: a crash concerns every node.
 */
#include "check/reduce/reducer.h"

int reducer_init(struct reducer *reducer, struct model *model)
{
    *reducer = (struct reducer){.model = model};
    return possible_sends_init(&reducer->sends, &model->observations) || commuting_init(&reducer->commuting, model)
               ? CV_ENOMEM
               : 0;
}

void reducer_free(struct reducer *reducer)
{
    possible_sends_free(&reducer->sends);
    commuting_free(&reducer->commuting);
}

uint64_t reducer_bytes(const struct reducer *reducer)
{
    return memo_bytes(&reducer->sends.known) + stepper_bytes(&reducer->commuting.stepper) +
           memo_bytes(&reducer->commuting.known);
}

void reducer_tidy(struct reducer *reducer)
{
    memo_tidy(&reducer->sends.known);
    stepper_tidy(&reducer->commuting.stepper);
    memo_tidy(&reducer->commuting.known);
}

/* ---- persistent sets ---- */

static bool is_empty(const struct model *model, const uint32_t *state, cv_node from, cv_node to)
{
    const uint32_t slot = model->channels[from * model->setting.nodes + to];
    return !slot || !state[slot];
}

/* The nodes that this one can send to before the nodes of a set do anything. Timers wait for messages under way. */
static uint32_t receivers(struct reducer *reducer, const uint32_t *state, cv_node node, uint32_t set, uint32_t alive)
{
    const struct model *model = reducer->model;
    uint32_t causes = 1u << OBSERVED_ALWAYS | (uint32_t)model->setting.options.any_time << OBSERVED_TIMER;
    if (!setting_predicts(&model->setting, alive))
        return UINT32_MAX;
    for (cv_node other = 0; other < model->setting.nodes; other++)
        if (!(set & 1u << other) || !is_empty(model, state, other, node))
            causes |= 1u << other;
    return possible_receivers(&reducer->sends, state[node], causes);
}

/* Could that node send something new to one of the set? Without order, the next message sent can arrive first. */
static bool concerns(struct reducer *reducer, const uint32_t *state, cv_node node, uint32_t set, uint32_t alive)
{
    const struct model *model = reducer->model;
    uint32_t open = 0;
    for (uint32_t rest = set; rest; rest &= rest - 1) {
        const cv_node to = (cv_node)__builtin_ctz(rest);
        if ((model->setting.scenario->unordered || is_empty(model, state, node, to)) &&
            model_may_send(model, state[node], alive & ALIVE_MASK, to))
            open |= 1u << to;
    }
    return open && receivers(reducer, state, node, set, alive) & open;
}

/* A bit for each node that has a message waiting. */
static uint32_t waiting(const struct model *model, const uint32_t *state)
{
    uint32_t mask = 0;
    for (uint32_t slot = model->setting.nodes + 1; slot < model->slots; slot++)
        if (state[slot])
            mask |= 1u << model->to[slot];
    return mask;
}

static uint32_t closure(struct reducer *reducer, const uint32_t *state, cv_node node, uint32_t alive)
{
    uint32_t set = 1u << node;
    for (bool grows = true; grows;) {
        grows = false;
        for (uint32_t rest = alive & ALIVE_MASK & ~set; rest; rest &= rest - 1) {
            const cv_node other = (cv_node)__builtin_ctz(rest);
            if (concerns(reducer, state, other, set, alive)) {
                set |= 1u << other;
                grows = true;
            }
        }
    }
    return set;
}

bool reducer_next_set(struct reducer *reducer, const uint32_t *state, uint32_t alive, uint32_t *tried, uint32_t *nodes)
{
    const struct model *model = reducer->model;
    const struct budgets *budgets = model_budgets(model, state[model->setting.nodes]);
    const uint32_t candidates = waiting(model, state) & ~*tried;
    uint32_t best = 0, best_node = 0;
    if (!model_is_calm(model, budgets, alive) || !candidates)
        return false;
    for (uint32_t rest = candidates; rest; rest &= rest - 1) {
        const cv_node node = (cv_node)__builtin_ctz(rest);
        const uint32_t set = closure(reducer, state, node, alive);
        if (set != (alive & ALIVE_MASK) && (!best || __builtin_popcount(set) < __builtin_popcount(best))) {
            best = set;
            best_node = node;
        }
    }
    *tried |= 1u << best_node;
    *nodes = best;
    return best != 0;
}

uint32_t reducer_next_message(struct reducer *reducer, const uint32_t *state, uint32_t alive, uint32_t slot)
{
    const struct model *model = reducer->model;
    const struct budgets *budgets = model_budgets(model, state[model->setting.nodes]);
    if (!setting_predicts(&model->setting, alive) || model->setting.scenario->unordered ||
        !model_is_calm(model, budgets, alive))
        return 0;
    const uint32_t nodes = model->setting.nodes;
    for (uint32_t pair = slot ? model->from[slot] * nodes + model->to[slot] + 1 : 0; pair < nodes * nodes; pair++) {
        slot = model->channels[pair];
        if (slot && state[slot] &&
            commuting_may_arrive(&reducer->commuting, state[model->to[slot]], model_contents(model, state[slot])->first,
                                 alive))
            return slot;
    }
    return 0;
}

void reducer_note_message(struct reducer *reducer, const uint32_t *state, uint32_t alive, uint32_t slot)
{
    const struct model *model = reducer->model;
    commuting_note(&reducer->commuting, state[model->to[slot]], model_contents(model, state[slot])->first, alive);
}

bool reducer_may_take(const struct expander *expander)
{
    for (uint32_t i = 0; i < expander->count; i++)
        if (expander->successors[i].visible)
            return false;
    return expander->obligations > 0;
}

/* ---- does it pay? ---- */

#define SAMPLE 20000u /* states between two decisions */
#define WORTH 4u      /* reduction pays if it leaves out events in one of this many states */

void reduction_gain_update(struct reduction_gain *gain, uint64_t expanded, uint64_t saved)
{
    if (!gain->on || expanded - gain->expanded < SAMPLE)
        return;
    gain->on = (saved - gain->saved) * WORTH >= expanded - gain->expanded;
    gain->expanded = expanded;
    gain->saved = saved;
}
