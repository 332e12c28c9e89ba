// SPDX-License-Identifier: MIT
#include "check/state/node_state.h"

size_t node_state_bytes(const struct setting *setting, cv_node node)
{
    return sizeof(struct node_state) + setting_state_bytes(setting, node);
}

size_t node_state_most_bytes(const struct setting *setting)
{
    size_t most = 0;
    for (cv_node node = 0; node < setting->nodes; node++) {
        const size_t bytes = node_state_bytes(setting, node);
        most = bytes > most ? bytes : most;
    }
    return most;
}

void node_state_regain(const struct setting *setting, struct node_state *node_state, uint32_t again, uint32_t untold)
{
    const uint32_t told = again & node_state->suspects;
    node_state->back |= told;
    if (!setting->may_partition) /* a node that comes back makes itself known */
        node_state->suspects &= ~told;
    node_state->unheard |= again & ~told & ~untold;
}
