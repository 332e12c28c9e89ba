// SPDX-License-Identifier: MIT
#include "show/clocks.h"

#include <stdlib.h>

#include "core/error.h"

/* The knowledge of one atomic event, shared by the messages of a multicast. */
struct cv_clocks_stamp {
    struct cv_clocks_stamp *next; /* of the spare ones */
    uint32_t holders;             /* messages under way, plus one for the sender while it may send more */
    uint32_t vector[];
};

/* The atomic event a node is in. */
struct cv_clocks_node {
    uint64_t clock;                /* Lamport's */
    bool open;                     /* more pieces may follow */
    struct cv_clocks_stamp *stamp; /* for a send; NULL in other events */
};

int cv_clocks_init(struct cv_clocks *clocks, uint32_t nodes)
{
    *clocks = (struct cv_clocks){0};
    if (nodes > CV_LARGEST_CLOCKED_GROUP)
        return 0;
    clocks->nodes = nodes;
    clocks->vectors = calloc((size_t)nodes * nodes, sizeof *clocks->vectors);
    clocks->now = calloc(nodes, sizeof *clocks->now);
    clocks->out_of_memory = !clocks->vectors || !clocks->now;
    return clocks->out_of_memory ? CV_ENOMEM : 0;
}

static void release(struct cv_clocks *clocks, struct cv_clocks_stamp *stamp)
{
    if (!stamp || --stamp->holders)
        return;
    stamp->next = clocks->spare;
    clocks->spare = stamp;
}

void cv_clocks_free(struct cv_clocks *clocks)
{
    for (size_t i = 0; i < clocks->sent.room; i++)
        if (clocks->sent.entries[i].key)
            release(clocks, clocks->sent.entries[i].pointer);
    for (uint32_t node = 0; clocks->now && node < clocks->nodes; node++)
        release(clocks, clocks->now[node].stamp);
    for (struct cv_clocks_stamp *stamp = clocks->spare, *next; stamp; stamp = next) {
        next = stamp->next;
        free(stamp);
    }
    cv_hash_map_free(&clocks->sent);
    free(clocks->now);
    free(clocks->vectors);
    *clocks = (struct cv_clocks){0};
}

const uint32_t *cv_clocks_vector(const struct cv_clocks *clocks, cv_node node)
{
    return node < clocks->nodes ? clocks->vectors + (size_t)node * clocks->nodes : NULL;
}

/* ---- the clocks ---- */

static struct cv_clocks_stamp *make_stamp(struct cv_clocks *clocks, cv_node node)
{
    const size_t bytes = clocks->nodes * sizeof *clocks->vectors;
    struct cv_clocks_stamp *stamp = clocks->spare;
    if (stamp)
        clocks->spare = stamp->next;
    else
        stamp = malloc(sizeof *stamp + bytes);
    if (!stamp)
        return NULL;
    stamp->holders = 1;
    memcpy(stamp->vector, cv_clocks_vector(clocks, node), bytes);
    return stamp;
}

static void send(struct cv_clocks *clocks, const struct cv_event *event)
{
    struct cv_clocks_node *node = &clocks->now[event->node];
    if (!node->stamp)
        node->stamp = make_stamp(clocks, event->node);
    if (node->stamp && !event->message)
        return; /* in a recording, a message that could not be sent has no number */
    struct cv_hash_entry *entry = node->stamp ? cv_hash_map_add(&clocks->sent, event->message) : NULL;
    if (!entry) {
        clocks->out_of_memory = true;
        return;
    }
    if (entry->pointer)
        return; /* reported twice */
    entry->pointer = node->stamp;
    node->stamp->holders++;
}

static void hear(struct cv_clocks *clocks, const struct cv_event *event)
{
    struct cv_hash_entry *entry = cv_hash_map_find(&clocks->sent, event->message);
    if (!entry)
        return;
    struct cv_clocks_stamp *stamp = entry->pointer;
    uint32_t *mine = clocks->vectors + (size_t)event->node * clocks->nodes;
    for (uint32_t i = 0; event->type == CV_EVENT_RECEIVE && i < clocks->nodes; i++)
        mine[i] = stamp->vector[i] > mine[i] ? stamp->vector[i] : mine[i];
    cv_hash_map_remove(&clocks->sent, entry);
    release(clocks, stamp);
}

static bool is_effect(enum cv_event_type type)
{
    return type == CV_EVENT_CALL || type == CV_EVENT_YIELD || type == CV_EVENT_ELECTED || type == CV_EVENT_FORGET ||
           type == CV_EVENT_ENTER || type == CV_EVENT_PULSE || type == CV_EVENT_RESULT || type == CV_EVENT_NOTE;
}

bool cv_clocks_event(struct cv_clocks *clocks, const struct cv_event *event)
{
    if (event->node >= clocks->nodes || clocks->out_of_memory)
        return false;
    if (event->type == CV_EVENT_LOST) {
        hear(clocks, event);
        return false;
    }
    struct cv_clocks_node *node = &clocks->now[event->node];
    const bool sends = event->type == CV_EVENT_SEND;
    const bool alike = sends ? node->stamp != NULL : is_effect(event->type);
    const bool goes_on = alike && node->open && node->clock == event->clock;
    if (!goes_on) {
        release(clocks, node->stamp);
        *node = (struct cv_clocks_node){.clock = event->clock, .open = event->type != CV_EVENT_CRASH};
        clocks->vectors[(size_t)event->node * (clocks->nodes + 1)]++;
    }
    if (sends)
        send(clocks, event);
    else if (event->type == CV_EVENT_RECEIVE)
        hear(clocks, event);
    return !goes_on;
}
