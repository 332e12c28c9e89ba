// SPDX-License-Identifier: MIT
#include "check/reduce/possible_sends.h"

#define KNOWN (1ull << 32)
#define ALL_NODES 0xffffu

int possible_sends_init(struct possible_sends *sends, const struct observations *observations)
{
    sends->observations = observations;
    return memo_init(&sends->known);
}

void possible_sends_free(struct possible_sends *sends)
{
    memo_free(&sends->known);
}

/* While the answer for a state is being computed, the memo holds "all nodes": the safe answer for a cycle. */
uint32_t possible_receivers(struct possible_sends *sends, uint32_t node_state, uint32_t causes)
{
    const uint64_t known = memo_find(&sends->known, node_state, causes);
    uint32_t receivers = 0;
    if (known)
        return (uint32_t)known;
    if (!memo_add(&sends->known, node_state, causes, KNOWN | ALL_NODES))
        return ALL_NODES;
    for (const struct observed *it = observed_of(sends->observations, node_state); it; it = it->next)
        if (causes & 1u << it->cause) {
            receivers |= it->receivers;
            if (it->after != node_state && receivers != ALL_NODES)
                receivers |= possible_receivers(sends, it->after, causes);
        }
    memo_change(&sends->known, node_state, causes, KNOWN | receivers);
    return receivers;
}
