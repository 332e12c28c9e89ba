// SPDX-License-Identifier: MIT
/*
 * An experiment under mpirun: every rank is a place, and the first also runs the experiment. The ranks talk over TCP;
 * MPI only tells them where the first one listens, and a secret by which it knows them. A child process does that, with
 * the MPI library of the machine, which is loaded then: nothing is linked against it, and nothing of it stays.
 */
#ifndef CONCLAVE_RUN_RANKS_H
#define CONCLAVE_RUN_RANKS_H

#include <sys/types.h>

#include "run/experiment.h"

struct cv_ranks {
    uint32_t rank, size;
    int connection;          /* to the first rank; -1: this is the first */
    struct cv_place *places; /* the first rank: all of them */
    pid_t own;               /* the first rank: the process of its own place */
};

/* Was this process started by mpirun, with others? */
bool cv_ranks_find(struct cv_ranks *ranks);
/*
 * Connects the ranks. In the child that is the first rank's own place, too, it returns with a connection. 0, CV_ENOMEM,
 * or CV_EINPUT and a complaint. Leave in any case.
 */
int cv_ranks_join(struct cv_ranks *ranks, struct cv_complaint *complaint);
void cv_ranks_leave(struct cv_ranks *ranks);

#endif
