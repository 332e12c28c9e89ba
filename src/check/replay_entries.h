// SPDX-License-Identifier: MIT
/* The entries into the critical section in a replay. */
#ifndef CONCLAVE_CHECK_REPLAY_ENTRIES_H
#define CONCLAVE_CHECK_REPLAY_ENTRIES_H

#include "check/setting/link_set.h"
#include "property/run.h"

struct replay_entries {
    struct cv_entry *entries; /* in the order of the requests */
    uint64_t count, room;
    uint64_t open[CV_CHECK_MOST_NODES]; /* by node: the entry that it waits for or is in, plus 1; 0: none */
    uint64_t last_exit;                 /* when a node last left */
};

void replay_entries_free(struct replay_entries *entries);

/* A node requests. With `entered` it is inside from then on; otherwise CV_NEVER. NULL if there is no memory. */
struct cv_entry *replay_entries_request(struct replay_entries *entries, cv_node node, uint64_t now, uint64_t entered);
/* A node enters, though it may not have requested. False if there is no memory. */
bool replay_entries_enter(struct replay_entries *entries, cv_node node, uint64_t now, uint64_t fence);
/* A node leaves or dies. It may not be inside. */
void replay_entries_end(struct replay_entries *entries, cv_node node, uint64_t now, bool died);

#endif
