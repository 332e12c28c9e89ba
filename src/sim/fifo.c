// SPDX-License-Identifier: MIT
#include "sim/fifo.h"

#include <stdlib.h>

#include "core/error.h"

#define SMALLEST_TABLE 64u
#define SPARSE_DEGREE 64u /* up to this average degree, a field for each link takes less memory than the hash table */

int fifo_init(struct fifo *fifo, uint32_t nodes, bool ring)
{
    *fifo = (struct fifo){.nodes = nodes, .capacity = SMALLEST_TABLE};
    fifo->table = calloc(fifo->capacity, sizeof *fifo->table);
    fifo->onward = ring ? calloc(nodes, sizeof *fifo->onward) : NULL;
    if (fifo->table && (!ring || fifo->onward))
        return 0;
    fifo_free(fifo);
    return CV_ENOMEM;
}

int fifo_use_graph(struct fifo *fifo, const uint64_t *edges, const uint32_t *neighbours)
{
    if (edges[fifo->nodes] > (uint64_t)fifo->nodes * SPARSE_DEGREE)
        return 0;
    fifo->edges = edges;
    fifo->neighbours = neighbours;
    fifo->links = calloc(edges[fifo->nodes] + 1, sizeof *fifo->links);
    return fifo->links ? 0 : CV_ENOMEM;
}

void fifo_free(struct fifo *fifo)
{
    free(fifo->onward);
    free(fifo->links);
    free(fifo->table);
    *fifo = (struct fifo){0};
}

static struct fifo_entry *find(struct fifo_entry *table, size_t capacity, uint64_t channel)
{
    uint64_t hash = channel * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
    size_t at = hash & (capacity - 1);
    while (table[at].channel && table[at].channel != channel)
        at = (at + 1) & (capacity - 1);
    return &table[at];
}

/* Forgets channels without messages under way; doubles the table only if it is still too full. */
static int make_room(struct fifo *fifo, uint64_t now)
{
    size_t busy = 0;
    for (size_t i = 0; i < fifo->capacity; i++)
        busy += fifo->table[i].channel && fifo->table[i].due > now;
    const size_t capacity = busy * 4 > fifo->capacity ? fifo->capacity * 2 : fifo->capacity;
    struct fifo_entry *table = calloc(capacity, sizeof *table);
    if (!table)
        return CV_ENOMEM;
    for (size_t i = 0; i < fifo->capacity; i++) {
        const struct fifo_entry *entry = &fifo->table[i];
        if (entry->channel && entry->due > now)
            *find(table, capacity, entry->channel) = *entry;
    }
    free(fifo->table);
    fifo->table = table;
    fifo->capacity = capacity;
    fifo->used = busy;
    return 0;
}

int fifo_order_table(struct fifo *fifo, uint32_t from, uint32_t to, uint64_t now, uint64_t *due)
{
    const uint64_t channel = ((uint64_t)from << 32 | to) + 1;
    struct fifo_entry *entry = find(fifo->table, fifo->capacity, channel);
    if (entry->channel) {
        if (*due < entry->due)
            *due = entry->due;
        entry->due = *due;
        return 0;
    }
    if ((fifo->used + 1) * 2 > fifo->capacity) {
        if (make_room(fifo, now))
            return CV_ENOMEM;
        entry = find(fifo->table, fifo->capacity, channel);
    }
    *entry = (struct fifo_entry){channel, *due};
    fifo->used++;
    return 0;
}
