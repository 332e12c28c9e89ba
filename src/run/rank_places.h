// SPDX-License-Identifier: MIT
/*
 * An experiment under mpirun: every rank is a place, and the first also runs the experiment. The ranks talk over TCP;
 * MPI only tells them where the first one listens, and a secret by which it knows them. A child process does that, so
 * that nothing of MPI stays: processes are forked here.
 */
#ifndef CONCLAVE_RUN_RANK_PLACES_H
#define CONCLAVE_RUN_RANK_PLACES_H

#include <sys/types.h>

#include "ranks/launch.h"
#include "run/experiment.h"

struct cv_rank_places {
    struct cv_launch launch;
    int connection;          /* to the first rank; -1: this is the first */
    struct cv_place *places; /* the first rank: all of them */
    pid_t own;               /* the first rank: the process of its own place */
};

/* Was this process started by mpirun, with others? */
bool cv_rank_places_find(struct cv_rank_places *ranks);
/*
 * Connects the ranks. In the child that is the first rank's own place, too, it returns with a connection. 0, CV_ENOMEM,
 * or CV_EINPUT and a complaint. Leave in any case. `work` as in cv_ranks_join().
 */
int cv_rank_places_join(struct cv_rank_places *ranks, uint64_t work, struct cv_complaint *complaint);
void cv_rank_places_leave(struct cv_rank_places *ranks);

#endif
