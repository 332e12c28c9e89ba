// SPDX-License-Identifier: MIT
/*
 * Vector clocks, computed by watching: who could have known what. A node's own count rises by one with each of
 * its atomic events; hearing a message brings what its sender knew when it sent it.
 *
 * One atomic event is told in several pieces: what a step began with and what it did besides sending (called,
 * elected, ...), all with one Lamport clock; and a multicast message by message, again with one. A crash counts
 * too, though it has no Lamport time of its own. What is lost happens to nobody.
 */
#ifndef CONCLAVE_SHOW_CLOCKS_H
#define CONCLAVE_SHOW_CLOCKS_H

#include "core/event.h"
#include "core/hash_map.h"

#define CV_LARGEST_CLOCKED_GROUP 256u

struct cv_clocks {
    uint32_t nodes;    /* 0: the group is too large for vectors, and none are kept */
    uint32_t *vectors; /* one per node, end to end */
    struct cv_clocks_node *now;

    struct cv_hash_map sent; /* by message under way: the knowledge of its sender */
    struct cv_clocks_stamp *spare;
    bool out_of_memory; /* the clocks are wrong from then on */
};

/* 0 or CV_ENOMEM; to be freed in both cases. */
int cv_clocks_init(struct cv_clocks *clocks, uint32_t nodes);
void cv_clocks_free(struct cv_clocks *clocks);

/* Takes the next piece. True: it begins a new atomic event; false: it continues the last one. */
bool cv_clocks_event(struct cv_clocks *clocks, const struct cv_event *event);

/* The node's vector after the last piece, a count per node; NULL if none are kept. */
const uint32_t *cv_clocks_vector(const struct cv_clocks *clocks, cv_node node);

#endif
