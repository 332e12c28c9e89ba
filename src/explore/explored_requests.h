// SPDX-License-Identifier: MIT
/* The clients of a mutual exclusion algorithm: when each requests, and how long it stays inside. */
#ifndef CONCLAVE_EXPLORE_EXPLORED_REQUESTS_H
#define CONCLAVE_EXPLORE_EXPLORED_REQUESTS_H

#include "explore/explored.h"

/* The next request of a client. */
struct explored_request {
    uint64_t due;   /* in the simulator's time; CV_NEVER: it makes none by itself */
    uint64_t order; /* of alarms due at once; 0: it comes before everything else */
    uint64_t hold;
};

struct explored_request explored_next_request(const struct explored *world, cv_node node);

/* Before the first step. */
void explored_clients_open(struct explored *world);

/* The node requests, enters, leaves, crashes, comes back, or is in a view again. */
void explored_client_requests(struct explored *world, cv_node node);
void explored_client_enters(struct explored *world, cv_node node);
void explored_client_leaves(struct explored *world, cv_node node);
void explored_client_crashes(struct explored *world, cv_node node);
void explored_client_returns(struct explored *world, cv_node node);
void explored_client_joins(struct explored *world, cv_node node);

/*
 * Messages that go round for ever do so in the simulator until this time: nobody waits, is inside or will want to
 * enter, and nothing is planned any more. CV_NEVER: somebody does, or the messages end by themselves.
 */
uint64_t explored_end(struct explored *world);

#endif
