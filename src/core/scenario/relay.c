// SPDX-License-Identifier: MIT
#include "core/scenario/relay.h"

/*
 * Distances from `from` over the ends of the alternate links, by relaxation, because there are few links. A message
 * reaches an end directly from the same side of the cut, or across the alternate link.
 */
uint32_t cv_relay_hops(const struct cv_relay *relay, cv_node from, cv_node to)
{
    const struct cv_pair *links = relay->scenario->alternates;
    const uint32_t count = relay->scenario->alternate_count;
    uint32_t distance[2 * CV_MAX_ALTERNATES];
    cv_node end[2 * CV_MAX_ALTERNATES];
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < 2 * count; i++) {
        end[i] = i % 2 ? links[i / 2].other : links[i / 2].one;
        distance[i] = end[i] == from ? 0 : relay->cut(relay->world, from, end[i]) ? UINT32_MAX : 1;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < 2 * count; i++) {
            if (distance[i] == UINT32_MAX || !relay->alive(relay->world, end[i]))
                continue;
            for (uint32_t j = 0; j < 2 * count; j++) {
                const bool linked = (i ^ 1u) == j || !relay->cut(relay->world, end[i], end[j]);
                const uint32_t hops = distance[i] + (end[i] != end[j]);
                if (linked && relay->alive(relay->world, end[j]) && hops < distance[j]) {
                    distance[j] = hops;
                    changed = true;
                }
            }
        }
    }
    for (uint32_t i = 0; i < 2 * count; i++) {
        if (distance[i] == UINT32_MAX || relay->cut(relay->world, end[i], to))
            continue;
        const uint32_t hops = distance[i] + (end[i] != to);
        best = hops < best ? hops : best;
    }
    return best == UINT32_MAX ? 0 : best;
}
