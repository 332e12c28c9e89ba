// SPDX-License-Identifier: MIT
#include "sim/share/gather.h"

#include <stdlib.h>
#include <string.h>

#include "sim/rounds.h"
#include "sim/workload.h"

#define TAG_NODES 2u
#define TAG_ENTRIES 3u
#define TAG_END 4u
#define BLOCK_BYTES ((size_t)1 << 20)
#define MOST_UNSENT 16u

/* ---- numbers ---- */

static void add_up(struct cv_sim *world, struct cv_ranks *ranks, struct cv_share_report *report)
{
    struct cv_run *run = &world->run;
    uint64_t most[] = {run->time, run->decided, run->last_exit, world->now, world->chose};
    cv_ranks_reduce(ranks, CV_REDUCE_SUM, run->count, CV_MAX_KINDS);
    cv_ranks_reduce(ranks, CV_REDUCE_SUM, &run->calls, 1);
    cv_ranks_reduce(ranks, CV_REDUCE_MOST, most, sizeof most / sizeof *most);
    run->time = most[0];
    run->decided = most[1];
    run->last_exit = most[2];
    world->now = most[3];
    world->chose = most[4];
    cv_ranks_reduce(ranks, CV_REDUCE_SUM, &report->parts->nodes,
                    (uint32_t)(report->workers * (sizeof *report->parts / sizeof(uint64_t))));
}

/* ---- nodes ---- */

/* A node as it travels: number, leader, flags; round and result if it has them; the state if the app's is asked for. */
static size_t node_bytes(const struct cv_sim *world, cv_node node)
{
    const size_t stride = world->places ? world->places[node + 1] - world->places[node] : world->stride;
    return sizeof(cv_node) + sizeof(cv_id) + sizeof(uint32_t) + (world->rounds ? ROUNDS_NODE_BYTES : 0) +
           (world->scenario->app ? stride - sizeof(struct node) : 0);
}

static void pack_node(const struct cv_sim *world, cv_node node, unsigned char *at)
{
    const struct node *it = world_first_node(world, node);
    const uint32_t flags = it->flags;
    const size_t bytes = node_bytes(world, node);
    const unsigned char *end = at + bytes;
    memcpy(at, &node, sizeof node);
    memcpy(at + 4, &world->leaders[node], sizeof(cv_id));
    memcpy(at + 8, &flags, sizeof flags);
    at += 12;
    if (world->rounds) {
        rounds_pack(world, node, at);
        at += ROUNDS_NODE_BYTES;
    }
    memcpy(at, it + 1, (size_t)(end - at));
}

/* Unless somebody wants to see states, the flags of nodes are enough, and take a fraction of the memory. */
static int keep_flags(struct cv_sim *world)
{
    if (world->scenario->app || world->part)
        return 0;
    world->last_flags = malloc(world->group.nodes);
    if (!world->last_flags)
        return CV_ENOMEM;
    for (cv_node node = 0; node < world->group.nodes; node++)
        if (world_has(world, node))
            world->last_flags[node] = (unsigned char)world_first_node(world, node)->flags;
    free(world->nodes);
    world->nodes = NULL;
    return 0;
}

static const unsigned char *unpack_node(struct cv_sim *world, const unsigned char *at)
{
    cv_node node;
    uint32_t flags;
    memcpy(&node, at, sizeof node);
    const unsigned char *end = at + node_bytes(world, node);
    memcpy(&world->leaders[node], at + 4, sizeof(cv_id));
    memcpy(&flags, at + 8, sizeof flags);
    at += 12;
    if (world->rounds) {
        rounds_unpack(world, node, at);
        at += ROUNDS_NODE_BYTES;
    }
    if (world->last_flags) {
        world->last_flags[node] = (unsigned char)flags;
        return end;
    }
    struct node *it = world_first_node(world, node);
    it->flags = flags & ((1u << 24) - 1);
    memcpy(it + 1, at, (size_t)(end - at));
    return end;
}

_Static_assert(sizeof(cv_node) == 4 && sizeof(cv_id) == 4, "nodes travel as they are packed");

static int send_nodes(struct cv_sim *world, struct cv_ranks *ranks)
{
    struct cv_block *block = NULL;
    for (cv_node node = 0; node < world->group.nodes; node++) {
        if (!world_has(world, node))
            continue;
        const size_t bytes = node_bytes(world, node);
        if (block && block->room - block->size < bytes) {
            if (cv_ranks_send(ranks, 0, TAG_NODES, block))
                return CV_ENOMEM;
            block = NULL;
            while (cv_ranks_unsent(ranks) > MOST_UNSENT)
                cv_ranks_rest(ranks);
        }
        if (!block && !(block = cv_block_new(ranks, bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES)))
            return CV_ENOMEM;
        pack_node(world, node, block->bytes + block->size);
        block->size += bytes;
    }
    return block ? cv_ranks_send(ranks, 0, TAG_NODES, block) : 0;
}

/* ---- entries ---- */

static int send_entries(struct cv_sim *world, struct cv_ranks *ranks)
{
    const struct load *load = world->load;
    const uint64_t most = BLOCK_BYTES / (sizeof *load->entries + sizeof *load->turns);
    for (uint64_t from = 0; load && from < load->entry_count; from += most) {
        const uint64_t count = load->entry_count - from < most ? load->entry_count - from : most;
        struct cv_block *block = cv_block_new(ranks, BLOCK_BYTES);
        if (!block)
            return CV_ENOMEM;
        memcpy(block->bytes, load->entries + from, count * sizeof *load->entries);
        memcpy(block->bytes + count * sizeof *load->entries, load->turns + from, count * sizeof *load->turns);
        block->size = count * (sizeof *load->entries + sizeof *load->turns);
        if (cv_ranks_send(ranks, 0, TAG_ENTRIES, block))
            return CV_ENOMEM;
    }
    return 0;
}

static int take_entries(struct cv_sim *world, const struct cv_block *block)
{
    const uint64_t count = block->size / (sizeof *world->load->entries + sizeof *world->load->turns);
    const void *entries = block->bytes, *turns = block->bytes + count * sizeof *world->load->entries;
    return load_add_entries(world, entries, turns, count);
}

/* ---- all of it ---- */

static int receive_all(struct cv_sim *world, struct cv_ranks *ranks)
{
    uint32_t ended = 1;
    int error = 0;
    while (!error && ended < cv_ranks_count(ranks)) {
        struct cv_block *block;
        if (cv_ranks_receive(ranks, &block))
            return CV_ENOMEM;
        if (!block) {
            cv_ranks_rest(ranks);
            continue;
        }
        if (block->tag == TAG_ENTRIES)
            error = take_entries(world, block);
        for (const unsigned char *at = block->bytes; block->tag == TAG_NODES && at < block->bytes + block->size;)
            at = unpack_node(world, at);
        ended += block->tag == TAG_END;
        cv_block_free(ranks, block);
    }
    return error;
}

int gather_run(struct cv_sim *world, struct cv_ranks *ranks, struct cv_share_report *report)
{
    if (cv_ranks_count(ranks) == 1)
        return 0;
    add_up(world, ranks, report);
    if (!cv_ranks_own(ranks))
        return keep_flags(world) ? CV_ENOMEM : receive_all(world, ranks);
    if (send_nodes(world, ranks) || send_entries(world, ranks))
        return CV_ENOMEM;
    struct cv_block *end = cv_block_new(ranks, 1);
    return end ? cv_ranks_send(ranks, 0, TAG_END, end) : CV_ENOMEM;
}
