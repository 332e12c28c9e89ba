// SPDX-License-Identifier: MIT
/* Alternate links: messages across a partition are relayed over links that it does not cut. */
#ifndef CONCLAVE_CORE_SCENARIO_RELAY_H
#define CONCLAVE_CORE_SCENARIO_RELAY_H

#include "core/scenario/scenario.h"

/* A network as a runtime knows it. */
struct cv_relay {
    const struct cv_scenario *scenario; /* which has the alternate links */
    bool (*cut)(const void *world, cv_node one, cv_node other);
    bool (*alive)(const void *world, cv_node node);
    const void *world;
};

/* Over how many links a message goes from one node to another that is cut off from it; 0: it cannot get there. */
uint32_t cv_relay_hops(const struct cv_relay *relay, cv_node from, cv_node to);

#endif
