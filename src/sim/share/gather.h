// SPDX-License-Identifier: MIT
/* After a shared run: the first rank gets what the judges and the report need of the nodes of the others. */
#ifndef CONCLAVE_SIM_SHARE_GATHER_H
#define CONCLAVE_SIM_SHARE_GATHER_H

#include "sim/share/share.h"
#include "sim/world.h"

/* Adds up the counts of all ranks, and brings the nodes and entries to the first. 0 or CV_ENOMEM. */
int gather_run(struct cv_sim *world, struct cv_ranks *ranks, struct cv_share_report *report);

#endif
