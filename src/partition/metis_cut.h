// SPDX-License-Identifier: MIT
/* METIS, loaded at the first graph that is cut: no other program waits for it, or needs it. */
#ifndef CONCLAVE_PARTITION_METIS_CUT_H
#define CONCLAVE_PARTITION_METIS_CUT_H

#include "partition/partition.h"

bool metis_is_there(void);

/* False: METIS is not there, its numbers are too small for these rows, or it failed. Parts may be empty. */
bool metis_cut(const struct cv_partition_rows *rows, uint32_t parts, uint16_t *part_of);

#endif
