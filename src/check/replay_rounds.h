// SPDX-License-Identifier: MIT
/* What a replay sees of the rounds of a synchronizer. */
#ifndef CONCLAVE_CHECK_REPLAY_ROUNDS_H
#define CONCLAVE_CHECK_REPLAY_ROUNDS_H

#include "check/setting/link_set.h"
#include "property/run.h"

struct replay_rounds {
    uint64_t round[CV_CHECK_MOST_NODES];      /* that each node has begun */
    uint32_t sent_to[CV_CHECK_MOST_NODES][2]; /* messages of the app to each node, in even and in odd rounds */
    struct cv_slip hasty;                     /* as in struct cv_run */
    struct cv_slip apart;                     /* as in struct cv_run */
};

/* A node has begun a round in the step that it has just taken. `alive` has a bit for each live node. */
void replay_rounds_pulse(struct replay_rounds *rounds, const struct cv_self *me, uint32_t alive, uint64_t now);

#endif
