// SPDX-License-Identifier: MIT
/*
 * Keeps channels in order under random delays: a message is never due before the one sent earlier on the same
 * channel. Remembers only channels with something under way, so it is as large as the traffic, not n x n.
 */
#ifndef CONCLAVE_SIM_FIFO_H
#define CONCLAVE_SIM_FIFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fifo_entry {
    uint64_t channel; /* sender and receiver, plus one: 0 marks a free place */
    uint64_t due;
};

struct fifo {
    uint64_t *onward; /* on rings: when the last message to the next node is due, by sender */
    struct fifo_entry *table;
    size_t capacity, used;
    uint32_t nodes;
};

int fifo_init(struct fifo *fifo, uint32_t nodes, bool ring);
void fifo_free(struct fifo *fifo);
int fifo_order_table(struct fifo *fifo, uint32_t from, uint32_t to, uint64_t now, uint64_t *due);

/* Moves `due` to a time that keeps the channel in order. 0 or CV_ENOMEM. */
static inline int fifo_order(struct fifo *fifo, uint32_t from, uint32_t to, uint64_t now, uint64_t *due)
{
    if (fifo->onward && to == (from + 1 < fifo->nodes ? from + 1 : 0)) {
        if (*due < fifo->onward[from])
            *due = fifo->onward[from];
        fifo->onward[from] = *due;
        return 0;
    }
    return fifo_order_table(fifo, from, to, now, due);
}

#endif
