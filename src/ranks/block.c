// SPDX-License-Identifier: MIT
#include "ranks/block.h"

#include <assert.h>
#include <stdlib.h>

#define LEAST_CLASS 10u /* smaller blocks are rounded up to a kilobyte */
#define MOST_UNUSED 16u /* of a class */

static unsigned class_of(size_t room)
{
    unsigned class = LEAST_CLASS;
    while (((size_t)1 << class) < room)
        class ++;
    return class;
}

struct cv_block *block_take(struct block_pool *pool, size_t room)
{
    assert(room <= CV_MOST_BLOCK);
    const unsigned class = class_of(room);
    struct cv_block *block = pool->unused[class];
    if (block) {
        pool->unused[class] = block->next;
        pool->counts[class]--;
    } else {
        block = malloc(sizeof *block + ((size_t)1 << class));
        if (!block)
            return NULL;
        block->room = (size_t)1 << class;
    }
    block->next = NULL;
    block->size = 0;
    block->peer = block->tag = 0;
    return block;
}

void block_put(struct block_pool *pool, struct cv_block *block)
{
    if (!block)
        return;
    const unsigned class = class_of(block->room);
    if (pool->counts[class] >= MOST_UNUSED) {
        free(block);
        return;
    }
    block->next = pool->unused[class];
    pool->unused[class] = block;
    pool->counts[class]++;
}

void block_pool_free(struct block_pool *pool)
{
    for (unsigned class = 0; class < BLOCK_CLASSES; class ++) {
        while (pool->unused[class]) {
            struct cv_block *next = pool->unused[class]->next;
            free(pool->unused[class]);
            pool->unused[class] = next;
        }
        pool->counts[class] = 0;
    }
}

void block_enqueue(struct block_queue *queue, struct cv_block *block)
{
    block->next = NULL;
    if (queue->last)
        queue->last->next = block;
    else
        queue->first = block;
    queue->last = block;
}

struct cv_block *block_dequeue(struct block_queue *queue)
{
    struct cv_block *block = queue->first;
    if (!block)
        return NULL;
    queue->first = block->next;
    if (!queue->first)
        queue->last = NULL;
    block->next = NULL;
    return block;
}
