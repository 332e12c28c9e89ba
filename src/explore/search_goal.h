// SPDX-License-Identifier: MIT
/* What a search looks for, what it may do, and how it stands. */
#ifndef CONCLAVE_EXPLORE_SEARCH_GOAL_H
#define CONCLAVE_EXPLORE_SEARCH_GOAL_H

#include "explore/explored.h"
#include "explore/json_reader.h"

/* Which faults a search may add to the story, and how far it goes. */
struct search_limits {
    uint64_t crashes, misses, suspicions, cuts, recoveries, drops, duplicates;
    uint64_t states, depth;
    bool any_time;
    bool full; /* with full states, whether or not the checker's search would do */
};

struct search_goal {
    uint32_t properties;        /* a bit for each whose violation is wanted */
    bool state;                 /* a state is wanted, with */
    uint64_t leaders;           /* so many live nodes that lead, */
    uint64_t different;         /* so many different leaders of live nodes, */
    uint64_t inside;            /* so many nodes inside, */
    uint64_t waiting;           /* so many that wait, */
    uint64_t know;              /* so many that know a leader, */
    uint64_t leader, leader_of; /* that node following that one; UINT64_MAX: any */
};

/* How a search stands. */
struct search_progress {
    bool done, found;
    bool complete; /* done: nothing was left out */
    uint64_t states, transitions, depth;
};

/* Reads {"goal":…,"limits":…}: see explore.h. 0, or CV_EINPUT with a complaint. */
int search_goal_read(struct search_goal *goal, const struct json_value *from, struct cv_complaint *complaint);
void search_limits_read(struct search_limits *limits, const struct json_value *from);

/* A node as a goal sees it. */
struct goal_node {
    uint32_t flags; /* EXPLORED_ALIVE, EXPLORED_KNOWS, EXPLORED_INSIDE, EXPLORED_WAITING */
    cv_id leader;
};

/* Is that the state that is wanted? The nodes are in order. */
bool search_goal_is_met(const struct search_goal *goal, const struct cv_group *group, const struct goal_node *nodes);

/* Of these violations, those of what the algorithm claims; but a request that is never served makes any run bad. */
uint32_t search_goal_claimed(uint32_t violations, uint32_t claims);

#endif
