// SPDX-License-Identifier: MIT
/*
 * Steps of different nodes commute: each changes its own node, takes from the front of channels to it and adds to the
 * back of channels from it. So if a set of nodes hears nothing new from outside before one of its own events happens,
 * that event may as well happen first, and orders in which others go first need not be tried. A node hears something
 * new over a channel that is empty now; over one that is not, what comes next is known. Hence the set: begin with a
 * node that has a message waiting; add everybody who could send to a member over an empty channel; go on until nobody
 * is to be added (a persistent set, in the words of Godefroid and of Valmari's stubborn sets).
 *
 * This keeps every end of a run, whatever a node goes through by itself (its invariant, its calls, whom it follows),
 * and whether some run never ends. Who is inside at the same time is kept by not reducing where somebody enters or
 * leaves. While faults are still to come nothing is left out: a crash concerns everybody.
 */
#include "check/reduce.h"

/* Who could still send that node something new. */
static uint32_t senders(const struct model *model, const uint32_t *state, uint32_t alive, cv_node node)
{
    const bool unordered = model->setting.scenario->unordered; /* then the next to come can be the first to arrive */
    uint32_t mask = 0;
    for (cv_node other = 0; other < model->setting.nodes; other++) {
        if (other == node || !(alive & 1u << other))
            continue;
        const uint32_t part = model->channels[other * model->setting.nodes + node];
        if ((unordered || !part || !state[part]) && model_may_send(model, state[other], alive, node))
            mask |= 1u << other;
    }
    return mask;
}

static uint32_t waiting(const struct model *model, const uint32_t *state)
{
    uint32_t mask = 0;
    for (uint32_t part = model->setting.nodes + 1; part < model->parts; part++)
        if (state[part])
            mask |= 1u << model->to[part];
    return mask;
}

static uint32_t closure(const uint32_t *heard, cv_node node)
{
    uint32_t set = 1u << node, before = 0;
    while (set != before) {
        const uint32_t added = set & ~before;
        before = set;
        for (uint32_t rest = added; rest; rest &= rest - 1)
            set |= heard[__builtin_ctz(rest)];
    }
    return set;
}

bool reduce_next(const struct model *model, const uint32_t *state, uint32_t *tried, uint32_t *nodes)
{
    const struct world *world = model_world(model, state[model->setting.nodes]);
    const uint32_t alive = model_alive(model, state);
    const uint32_t candidates = waiting(model, state) & ~*tried;
    uint32_t heard[CV_CHECK_MOST_NODES], best = 0, best_node = 0;
    if (world->crashes || world->suspicions || !candidates)
        return false;
    for (cv_node node = 0; node < model->setting.nodes; node++)
        heard[node] = alive & 1u << node ? senders(model, state, alive, node) : 0;
    for (uint32_t rest = candidates; rest; rest &= rest - 1) {
        const cv_node node = (cv_node)__builtin_ctz(rest);
        const uint32_t set = closure(heard, node);
        if (set != alive && (!best || __builtin_popcount(set) < __builtin_popcount(best))) {
            best = set;
            best_node = node;
        }
    }
    *tried |= 1u << best_node;
    *nodes = best;
    return best != 0;
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
