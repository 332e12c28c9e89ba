// SPDX-License-Identifier: MIT
/*
 * Keeps channels in order under random delays: a message is never due before one that was sent earlier on the same
 * channel. It remembers only channels with messages under way, so its size is that of the traffic, not n x n; on sparse
 * graphs it is that of the graph.
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
    uint64_t *links;  /* on sparse graphs: the same for each entry of `neighbours` */
    const uint64_t *edges;
    const uint32_t *neighbours;
    uint64_t next; /* the entry after the last one used: a node often sends to its neighbours in turn */
    struct fifo_entry *table;
    size_t capacity, used;
    uint32_t nodes;
};

int fifo_init(struct fifo *fifo, uint32_t nodes, bool ring);
/* The nodes send along these rows (see struct cv_group); after fifo_init. */
int fifo_use_graph(struct fifo *fifo, const uint64_t *edges, const uint32_t *neighbours);
void fifo_free(struct fifo *fifo);
int fifo_order_table(struct fifo *fifo, uint32_t from, uint32_t to, uint64_t now, uint64_t *due);

/* Where the last due time of a link is kept; NULL if the nodes are no neighbours. */
static inline uint64_t *fifo_link(struct fifo *fifo, uint32_t from, uint32_t to)
{
    uint64_t low = fifo->edges[from], high = fifo->edges[from + 1];
    const uint64_t end = high;
    if (fifo->next >= low && fifo->next < end && fifo->neighbours[fifo->next] == to)
        return &fifo->links[fifo->next++];
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (fifo->neighbours[middle] < to)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == end || fifo->neighbours[low] != to)
        return NULL;
    fifo->next = low + 1;
    return &fifo->links[low];
}

/* Moves `due` to a time that keeps the channel in order. 0 or CV_ENOMEM. */
static inline int fifo_order(struct fifo *fifo, uint32_t from, uint32_t to, uint64_t now, uint64_t *due)
{
    if (fifo->onward && to == (from + 1 < fifo->nodes ? from + 1 : 0)) {
        if (*due < fifo->onward[from])
            *due = fifo->onward[from];
        fifo->onward[from] = *due;
        return 0;
    }
    uint64_t *last = fifo->links ? fifo_link(fifo, from, to) : NULL;
    if (last) {
        if (*due < *last)
            *due = *last;
        *last = *due;
        return 0;
    }
    return fifo_order_table(fifo, from, to, now, due);
}

#endif
