// SPDX-License-Identifier: MIT
/*
 * Steps of different nodes commute: each changes its own node, takes from the front of channels to it and adds to the
 * back of channels from it. So if a set of nodes hears nothing new from outside before one of its own events happens,
 * that event may as well happen first, and orders in which others go first need not be tried. A node hears something
 * new over a channel that is empty now; over one that is not, what comes next is known. Hence the set: begin with a
 * node that has a message waiting; add everybody who could send to a member over an empty channel; go on until nobody
 * is to be added (a persistent set, in the words of Godefroid and of Valmari's stubborn sets). Often a single message
 * is such a set: see commute.h. Who could send is judged by what was seen (habit.h), until a search shows nothing new.
 *
 * This keeps every end of a run, how each step of a node is judged (its invariant, its calls, whom it follows), and
 * whether some run never ends. Who is inside at the same time is kept by not reducing where somebody enters or
 * leaves. While faults are still to come nothing is left out: a crash concerns everybody.
 */
#include "check/reduce/persistent_set.h"

/* The channel between two nodes is empty. */
static bool is_empty(const struct model *model, const uint32_t *state, cv_node from, cv_node to)
{
    const uint32_t slot = model->channels[from * model->setting.nodes + to];
    return !slot || !state[slot];
}

/* To whom may that node still send, as long as those of a set do nothing? Timers wait for what is under way to them. */
static uint32_t receivers(const struct model *model, struct foresight *foresight, const uint32_t *state, cv_node node,
                          uint32_t set, uint32_t alive)
{
    uint32_t causes = 1u << OBSERVED_ALWAYS | (uint32_t)model->setting.options.any_time << OBSERVED_TIMER;
    if (!learns_now(&model->setting, alive))
        return UINT32_MAX;
    for (cv_node other = 0; other < model->setting.nodes; other++)
        if (!(set & 1u << other) || !is_empty(model, state, other, node))
            causes |= 1u << other;
    return foresee(foresight, state[node], causes);
}

/*
 * Could that node send something new to one of the set? Without order the next to be sent can be the first to arrive.
 */
static bool concerns(const struct model *model, struct foresight *foresight, const uint32_t *state, cv_node node,
                     uint32_t set, uint32_t alive)
{
    uint32_t open = 0;
    for (uint32_t rest = set; rest; rest &= rest - 1) {
        const cv_node to = (cv_node)__builtin_ctz(rest);
        if ((model->setting.scenario->unordered || is_empty(model, state, node, to)) &&
            model_may_send(model, state[node], alive & LIVES, to))
            open |= 1u << to;
    }
    return open && receivers(model, foresight, state, node, set, alive) & open;
}

static uint32_t waiting(const struct model *model, const uint32_t *state)
{
    uint32_t mask = 0;
    for (uint32_t slot = model->setting.nodes + 1; slot < model->slots; slot++)
        if (state[slot])
            mask |= 1u << model->to[slot];
    return mask;
}

static uint32_t closure(const struct model *model, struct foresight *foresight, const uint32_t *state, cv_node node,
                        uint32_t alive)
{
    uint32_t set = 1u << node;
    for (bool grows = true; grows;) {
        grows = false;
        for (uint32_t rest = alive & LIVES & ~set; rest; rest &= rest - 1) {
            const cv_node other = (cv_node)__builtin_ctz(rest);
            if (concerns(model, foresight, state, other, set, alive)) {
                set |= 1u << other;
                grows = true;
            }
        }
    }
    return set;
}

bool reduce_next(const struct model *model, struct foresight *foresight, const uint32_t *state, uint32_t alive,
                 uint32_t *tried, uint32_t *nodes)
{
    const struct budgets *budgets = model_budgets(model, state[model->setting.nodes]);
    const uint32_t candidates = waiting(model, state) & ~*tried;
    uint32_t best = 0, best_node = 0;
    if (!model_is_calm(model, budgets, alive) || !candidates)
        return false;
    for (uint32_t rest = candidates; rest; rest &= rest - 1) {
        const cv_node node = (cv_node)__builtin_ctz(rest);
        const uint32_t set = closure(model, foresight, state, node, alive);
        if (set != (alive & LIVES) && (!best || __builtin_popcount(set) < __builtin_popcount(best))) {
            best = set;
            best_node = node;
        }
    }
    *tried |= 1u << best_node;
    *nodes = best;
    return best != 0;
}

uint32_t reduce_next_message(const struct model *model, struct commuting *commuting, const uint32_t *state,
                             uint32_t alive, uint32_t slot)
{
    const struct budgets *budgets = model_budgets(model, state[model->setting.nodes]);
    if (!learns_now(&model->setting, alive) || model->setting.scenario->unordered ||
        !model_is_calm(model, budgets, alive))
        return 0;
    for (slot = slot ? slot + 1 : model->setting.nodes + 1; slot < model->slots; slot++)
        if (state[slot] &&
            commutes(commuting, state[model->to[slot]], model_contents(model, state[slot])->first, alive))
            return slot;
    return 0;
}

bool reduce_is_invisible(const struct expander *expander)
{
    for (uint32_t i = 0; i < expander->count; i++)
        if (expander->successors[i].visible)
            return false;
    return expander->obliged > 0;
}

/* ---- does it pay? ---- */

#define SAMPLE 20000u
#define WORTH 4u /* it is, if at least one state in so many was spared something */

void thrift_look(struct thrift *thrift, uint64_t expanded, uint64_t saved)
{
    if (!thrift->on || expanded - thrift->expanded < SAMPLE)
        return;
    thrift->on = (saved - thrift->saved) * WORTH >= expanded - thrift->expanded;
    thrift->expanded = expanded;
    thrift->saved = saved;
}
