// SPDX-License-Identifier: MIT
#include "check/search/state_owner.h"

#include <stdlib.h>

/*
 * Half of the nodes, and one more for each fourfold number of ranks. With few of them some frequent states of nodes can
 * give one rank a fifth more to do than the other. Where the reduction makes states expensive, one node more pays: to
 * send a state takes less than to wait. Every second node comes first: neighbours have more in common.
 */
void ownership_init(struct ownership *ownership, const struct model *model, uint32_t ranks, bool symmetric)
{
    *ownership = (struct ownership){.model = model, .ranks = ranks};
    const uint32_t nodes = model->setting.nodes;
    uint32_t wanted = nodes + (model->setting.options.reduction ? 2 : 0);
    for (uint32_t rest = ranks; rest > 2; rest = (rest + 1) / 2)
        wanted++;
    wanted = wanted / 2 < nodes ? wanted / 2 : nodes;
    for (uint32_t i = 0; i < wanted && !symmetric; i++)
        ownership->nodes |= 1u << (2 * i < nodes ? 2 * i : 2 * (i - (nodes + 1) / 2) + 1);
}

void ownership_free(struct ownership *ownership)
{
    free(ownership->weights);
}

/* Without memory it is found anew each time. */
uint32_t owner_find_weight(struct ownership *ownership, uint32_t number)
{
    const uint32_t weight = (uint32_t)slot_fingerprint(ownership->model, number, false).half[0] | 1;
    if (number >= ownership->room) {
        const uint32_t room = 2 * number + 1024;
        uint32_t *larger = realloc(ownership->weights, room * sizeof *larger);
        if (!larger)
            return weight;
        memset(larger + ownership->room, 0, (room - ownership->room) * sizeof *larger);
        ownership->weights = larger;
        ownership->room = room;
    }
    ownership->weights[number] = weight;
    return weight;
}

/* A list may change a slot twice: the last change counts. */
uint32_t owner_sum_changed(struct ownership *ownership, const struct expander *expander, const uint32_t *state,
                           const struct successor *successor)
{
    uint32_t nodes[CV_CHECK_MOST_NODES];
    memcpy(nodes, state, ownership->model->setting.nodes * sizeof *nodes);
    for (uint32_t i = 0; i < successor->count; i++) {
        const struct change *change = &expander->changes[successor->first + i];
        if (change->slot < ownership->model->setting.nodes)
            nodes[change->slot] = change->number;
    }
    return owner_sum(ownership, nodes);
}
