// SPDX-License-Identifier: MIT
/* How this process was started: by mpirun, with others, or alone. The environment tells, before MPI is there. */
#ifndef CONCLAVE_RANKS_LAUNCH_H
#define CONCLAVE_RANKS_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

enum cv_launcher { CV_LAUNCHED_ALONE, CV_LAUNCHED_BY_OPENMPI, CV_LAUNCHED_BY_MPICH };

struct cv_launch {
    enum cv_launcher launcher;
    uint32_t rank, size; /* 0 of 1 if it is alone, also under mpirun */
    uint32_t here;       /* among the ranks of this machine, from 0 on; 0 if the launcher does not tell */
};

/* True: mpirun has started this process, with others. */
bool cv_launch_find(struct cv_launch *launch);

/* Is what this process writes to standard error shown on a terminal? Under mpirun that is for mpirun to say. */
bool cv_launch_shows(void);

#endif
