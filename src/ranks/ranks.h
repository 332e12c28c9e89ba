// SPDX-License-Identifier: MIT
/*
 * The ranks of a job: processes that mpirun has started together, on one machine or on many. They send each other
 * blocks of bytes. Nothing here waits but what says so. MPI is in a module that is loaded when mpirun has started this
 * process, with others; otherwise there is one rank, and no MPI.
 *
 * One thread at a time may call these functions. Blocks travel while both ends call them: a rank that computes looks
 * for blocks now and then.
 */
#ifndef CONCLAVE_RANKS_RANKS_H
#define CONCLAVE_RANKS_RANKS_H

#include <signal.h>
#include <stdbool.h>

#include "core/error.h"
#include "ranks/block.h"

struct cv_ranks;

/*
 * Meets the other ranks, and waits for them. `work` stands for what this rank has to do: all must have the same. 0,
 * CV_ENOMEM, or CV_EINPUT and a complaint: there is no MPI, it does not connect the ranks, or their work differs. Every
 * rank gets the same answer; one of them should tell (cv_launch_find()).
 */
int cv_ranks_join(struct cv_ranks **ranks, uint64_t work, struct cv_complaint *complaint);
/* One rank, whatever has started this process. NULL: no memory. */
struct cv_ranks *cv_ranks_alone(void);
/* Waits until all ranks leave. */
void cv_ranks_leave(struct cv_ranks *ranks);
/* Ends all ranks at once, with that exit code. The caller has said why. */
_Noreturn void cv_ranks_abort(struct cv_ranks *ranks, int code);

uint32_t cv_ranks_own(const struct cv_ranks *ranks);   /* the rank of this process, from 0 on */
uint32_t cv_ranks_count(const struct cv_ranks *ranks); /* how many there are */

/* An empty block with that much room, CV_MOST_BLOCK at most. NULL: no memory. */
struct cv_block *cv_block_new(struct cv_ranks *ranks, size_t room);
void cv_block_free(struct cv_ranks *ranks, struct cv_block *block);

/* Sends the block to that rank, which may be this one. The block is gone for the caller. 0 or CV_ENOMEM. */
int cv_ranks_send(struct cv_ranks *ranks, uint32_t to, uint32_t tag, struct cv_block *block);
/* How many blocks are still here that were sent. */
uint32_t cv_ranks_unsent(struct cv_ranks *ranks);

/*
 * The next block that has come, or NULL. Blocks from one rank come in the order in which it sent them. Free the block.
 * 0 or CV_ENOMEM.
 */
int cv_ranks_receive(struct cv_ranks *ranks, struct cv_block **block);

/* Has a block come from a rank of this machine? In no time: others may have come that only cv_ranks_receive() finds. */
bool cv_ranks_glance(const struct cv_ranks *ranks);

/*
 * What a rank does that waits while *flag is set: other ranks may be gone, and it would wait for ever. If nothing comes
 * for so long, it calls `give_up`, which does not return.
 */
void cv_ranks_give_up(struct cv_ranks *ranks, const volatile sig_atomic_t *flag, uint32_t after_ms,
                      void (*give_up)(void *context), void *context);

/* Lets others have the processor, longer each time; a block that comes begins it anew. For a rank that waits. */
void cv_ranks_rest(struct cv_ranks *ranks);

enum cv_reduction { CV_REDUCE_SUM, CV_REDUCE_LEAST, CV_REDUCE_MOST };

/*
 * Combines the numbers of all ranks; every rank gets the result in their place. All ranks must begin it, in the same
 * order, and one at a time. It is done when cv_ranks_reduced() says so; until then the numbers stay where they are.
 */
void cv_ranks_reduce_begin(struct cv_ranks *ranks, enum cv_reduction reduction, uint64_t *numbers, uint32_t count);
bool cv_ranks_reduced(struct cv_ranks *ranks);
/* The same, and waits. */
void cv_ranks_reduce(struct cv_ranks *ranks, enum cv_reduction reduction, uint64_t *numbers, uint32_t count);

/* Every rank gets the bytes of that one. Waits for it. */
void cv_ranks_broadcast(struct cv_ranks *ranks, uint32_t from, void *bytes, size_t size);

#endif
