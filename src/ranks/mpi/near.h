// SPDX-License-Identifier: MIT
/*
 * Short blocks between ranks of one machine go by lanes, in memory that MPI lets them share: MPI takes longer to match
 * a message than two processors take to hand it over, and ranks that wait for each other's answer wait for nothing
 * else. All other blocks go by MPI.
 */
#ifndef CONCLAVE_RANKS_MPI_NEAR_H
#define CONCLAVE_RANKS_MPI_NEAR_H

#include <stdbool.h>

#include "ranks/block.h"

/* All ranks call it. False: MPI does not work. Where there is no memory to share, all blocks go by MPI. */
bool near_join(int rank, int size);
void near_leave(void);

/* Copies the block to its rank, which may look at it at once. False: it must go by MPI, marked by near_mark(). */
bool near_send(const struct cv_block *block);
void near_mark(struct cv_block *block);

/* Is it this block's turn, which came by MPI? Then it counts as taken. */
bool near_takes(const struct cv_block *block);

/* Is a block there? */
bool near_look(void);
/* The size of the next block that is there, and the block itself, in one with so much room. */
bool near_find(size_t *size);
void near_receive(struct cv_block *block);

#endif
