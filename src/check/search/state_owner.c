// SPDX-License-Identifier: MIT
#include "check/search/state_owner.h"

#include <stdlib.h>

/*
 * Neighbours without a common node, of which both request. A reduced search may let one of two go first every time.
 * Ranks of an odd number have no half.
 */
static uint32_t pairs_of(const struct setting *setting, uint32_t ranks)
{
    uint32_t pairs = 0;
    if (!setting_is_mutex(setting) || setting->options.reduction || ranks % 2)
        return 0;
    for (uint32_t one = 0; one + 1 < setting->nodes; one += 2)
        if ((setting->options.callers >> one & 3) == 3)
            pairs |= 1u << one;
    return pairs;
}

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
    ownership->pairs = pairs_of(&model->setting, ranks);
}

void ownership_free(struct ownership *ownership)
{
    free(ownership->traits);
}

/* A mutex's node waits, is inside, and has made its request when it leaves: it never goes back. */
static uint32_t requests_left(const struct node_state *node_state)
{
    const uint32_t flags = node_state->flags;
    return 4 * node_state->requests_left + (flags & NODE_WAITING ? 2 : flags & NODE_INSIDE ? 1 : 0);
}

/* Without memory it is found anew each time. */
struct node_trait owner_find_trait(struct ownership *ownership, uint32_t number)
{
    const struct model *model = ownership->model;
    const struct node_trait trait = {.weight = (uint32_t)slot_fingerprint(model, number, false).half[0] | 1,
                                     .left = requests_left(model_node_state(model, number))};
    if (number >= ownership->room) {
        const uint32_t room = 2 * number + 1024;
        struct node_trait *larger = realloc(ownership->traits, room * sizeof *larger);
        if (!larger)
            return trait;
        memset(larger + ownership->room, 0, (room - ownership->room) * sizeof *larger);
        ownership->traits = larger;
        ownership->room = room;
    }
    ownership->traits[number] = trait;
    return trait;
}

/* A list may change a slot twice: the last change counts. */
uint32_t owner_of_changed(struct ownership *ownership, const struct expander *expander, const struct owned_state *owned,
                          const struct successor *successor)
{
    uint32_t nodes[CV_CHECK_MOST_NODES], deciding;
    memcpy(nodes, owned->nodes, ownership->model->setting.nodes * sizeof *nodes);
    for (uint32_t i = 0; i < successor->count; i++) {
        const struct change *change = &expander->changes[successor->first + i];
        if (change->slot < ownership->model->setting.nodes)
            nodes[change->slot] = change->number;
    }
    return owner_by_nodes(ownership, nodes, &deciding);
}
