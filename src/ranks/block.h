// SPDX-License-Identifier: MIT
/* A block of bytes that one rank sends to another. */
#ifndef CONCLAVE_RANKS_BLOCK_H
#define CONCLAVE_RANKS_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#define CV_MOST_BLOCK ((size_t)1 << 30) /* bytes of one block */
#define CV_MOST_TAG 32767u              /* what every MPI library takes */

struct cv_block {
    struct cv_block *next; /* in a list of whoever has it */
    size_t room;           /* bytes that fit */
    size_t size;           /* bytes that are there */
    uint32_t peer;         /* the rank that gets it, or that has sent it */
    uint32_t tag;          /* what it is about: the sender's word to the receiver */
    uint64_t after;        /* the module's word, which travels with the bytes */
    unsigned char bytes[]; /* aligned for any number */
};

#define BLOCK_CLASSES 31u

/* Blocks that were used and will be used again, by the logarithm of their room. */
struct block_pool {
    struct cv_block *unused[BLOCK_CLASSES];
    uint32_t counts[BLOCK_CLASSES];
};

/* A block with that much room, empty. NULL: no memory. */
struct cv_block *block_take(struct block_pool *pool, size_t room);
void block_put(struct block_pool *pool, struct cv_block *block);
void block_pool_free(struct block_pool *pool);

/* A queue of blocks. */
struct block_queue {
    struct cv_block *first, *last;
};

void block_enqueue(struct block_queue *queue, struct cv_block *block);
/* NULL: there is none. */
struct cv_block *block_dequeue(struct block_queue *queue);

#endif
