// SPDX-License-Identifier: MIT
#include "explore/state_key.h"

#include <stdlib.h>
#include <string.h>

#include "explore/explored_events.h"
#include "explore/explored_network.h"

/* ---- the key ---- */

#define SEED 0x243f6a8885a308d3u

/* The hash must be mixed already: of two plain numbers, others with the same difference would have the same hash. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93u;
    return hash ^ hash >> 29;
}

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        hash = mix(hash, word);
    }
    uint64_t rest = size;
    for (size_t i = 0; i < size; i++)
        rest = rest << 8 | at[i];
    return mix(hash, rest);
}

/* The earliest time that a timer of a live node is due, plus 1; 0: none is armed. */
static uint64_t least_due(const struct explored *world)
{
    uint64_t least = 0;
    for (cv_node node = 0; node < world->nodes; node++)
        for (uint32_t timer = 0; timer < world->timers; timer++) {
            const uint64_t due = explored_node(world, node)->timers[timer];
            if (due && (!least || due < least))
                least = due;
        }
    return least;
}

/* Who called does not matter where the result does not depend on it; that a node was dead, for times alone. */
static uint32_t flags_of(const struct explored *world, const struct explored_node *it)
{
    const bool any = world->any_caller && world->algorithm->problem == CV_ELECTION;
    return it->flags & ~(EXPLORED_RETURNED | (any ? (uint32_t)(EXPLORED_STARTED | EXPLORED_CALLER) : 0));
}

/* If a dead node comes back, it begins anew. */
static uint64_t node_key(const struct explored *world, cv_node node)
{
    const struct explored_node *it = explored_node(world, node);
    const size_t head = sizeof *it, bytes = world->places[node + 1] - world->places[node];
    const bool alive = it->flags & EXPLORED_ALIVE;
    uint64_t hash = mix(mix(SEED, node), (uint64_t)(alive ? it->leader : 0) << 32 | flags_of(world, it));
    hash = mix(hash, it->requests << 32 | it->round);
    if (world->mutex)
        hash = mix(hash, it->lost << 32 ^ it->stuck << 1 ^ (it->request_due == CV_NEVER));
    if (!alive && !world->scenario->app)
        return world->algorithm->hints.clocked ? mix(hash, it->clock) : hash;
    hash = mix(mix(hash, it->result), it->via);
    hash = mix(hash, (uint64_t)it->sent_to[0] << 32 | it->sent_to[1]);
    if (world->algorithm->hints.clocked)
        hash = mix(hash, it->clock);
    return mix_bytes(hash, (const unsigned char *)it + head, bytes - head);
}

void state_node_keys(const struct explored *world, uint64_t *keys)
{
    for (cv_node node = 0; node < world->nodes; node++)
        keys[node] = node_key(world, node);
}

static uint64_t timers_key(const struct explored *world, bool any_time)
{
    const uint64_t least = any_time || !world->timers ? 0 : least_due(world);
    uint64_t hash = SEED;
    for (cv_node node = 0; world->timers && node < world->nodes; node++)
        for (uint32_t timer = 0; timer < world->timers; timer++) {
            const uint64_t due = explored_node(world, node)->timers[timer];
            hash = mix(hash, !due ? 0 : any_time ? 1 : due - least + 1);
        }
    return hash;
}

#define FEW_NODES 16u

/* Messages on different links have no order, so the sum counts; on one link their places make the difference. */
static uint64_t messages_key(const struct explored *world)
{
    uint32_t places[FEW_NODES * FEW_NODES] = {0};
    const bool few = world->nodes <= FEW_NODES;
    uint64_t sum = 0;
    for (const struct explored_message *it = world->present.first; it; it = it->after) {
        const struct cv_message *content = &it->content;
        uint64_t hash = mix(mix(SEED, (uint64_t)content->from << 32 | content->to), content->kind);
        if (!world->scenario->unordered)
            hash = mix(hash, few ? places[content->from * FEW_NODES + content->to]++ : explored_place(it));
        if (world->algorithm->hints.clocked)
            hash = mix(hash, content->clock);
        sum += mix_bytes(hash, content->body, content->words * 4);
    }
    return sum;
}

uint64_t state_key(const struct explored *world, bool any_time, const uint64_t *node_keys, cv_node changed)
{
    const struct explored_present *now = &world->present;
    const size_t nodes = world->nodes;
    uint64_t hash = mix(SEED, now->crashes << 32 | now->recoveries);
    hash = mix(hash, now->mistakes << 32 | now->losses);
    hash = mix(hash, now->cuts << 32 | now->planned_done);
    hash = mix(hash, world->mutex ? now->highest_fence << 1 | now->unstarted : 0);
    if (world->views)
        hash = mix(hash, now->epoch << 33 ^ (uint64_t)now->coordinator << 1 ^ now->change_count);
    if (now->cuts)
        hash = mix_bytes(hash, world->cut, (nodes * nodes + 31) / 32 * sizeof *world->cut);
    for (uint32_t i = 0; i < world->scenario->partition_count; i++)
        hash = mix(hash, world->partitioned[i]);
    for (cv_node node = 0; node < nodes; node++)
        hash = mix(hash, node_keys && node != changed ? node_keys[node] : node_key(world, node));
    return mix(mix(hash, timers_key(world, any_time)), messages_key(world));
}

/* ---- copies ---- */

/* The parts of a world that have a fixed place. */
struct part {
    void *at;
    size_t bytes;
};

enum { PARTS = 5 };

/* What counts messages does not decide what can happen. But rounds are judged by it. */
static size_t present_bytes(const struct explored *world)
{
    return world->scenario->app ? sizeof world->present : offsetof(struct explored_present, total);
}

static void list_parts(const struct explored *world, struct part parts[PARTS])
{
    const size_t nodes = world->nodes;
    parts[0] = (struct part){(void *)(uintptr_t)&world->present, present_bytes(world)};
    parts[1] = (struct part){world->node_bytes, world->places[nodes]};
    parts[2] = (struct part){world->cut, world->present.cuts ? (nodes * nodes + 31) / 32 * sizeof *world->cut : 0};
    parts[3] = (struct part){world->partitioned, world->scenario->partition_count * sizeof *world->partitioned};
    parts[4] = (struct part){world->crash_done, world->scenario->crash_count * sizeof *world->crash_done};
}

static size_t whole_words(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

size_t state_copy_bytes(const struct explored *world)
{
    struct part parts[PARTS];
    size_t bytes = 0;
    list_parts(world, parts);
    for (int i = 0; i < PARTS; i++)
        bytes += whole_words(parts[i].bytes);
    for (const struct explored_message *it = world->present.first; it; it = it->after)
        bytes += sizeof it->due + cv_message_bytes(&it->content);
    return bytes;
}

void state_copy_take(const struct explored *world, unsigned char *copy)
{
    struct part parts[PARTS];
    list_parts(world, parts);
    for (int i = 0; i < PARTS; copy += whole_words(parts[i].bytes), i++)
        if (parts[i].bytes)
            memcpy(copy, parts[i].at, parts[i].bytes);
    for (const struct explored_message *it = world->present.first; it; it = it->after) {
        memcpy(copy, &it->due, sizeof it->due);
        memcpy(copy + sizeof it->due, &it->content, cv_message_bytes(&it->content));
        copy += sizeof it->due + cv_message_bytes(&it->content);
    }
}

int state_copy_put(const unsigned char *copy, size_t bytes, struct explored *world)
{
    const unsigned char *at = copy, *end = copy + bytes;
    const size_t nodes = world->nodes;
    struct part parts[PARTS];
    explored_undo(world, 0);
    while (world->message_count)
        free(world->messages[--world->message_count]);
    if (world->present.cuts)
        memset(world->cut, 0, (nodes * nodes + 31) / 32 * sizeof *world->cut);
    memcpy(&world->present, at, present_bytes(world));
    list_parts(world, parts);
    for (int i = 0; i < PARTS; at += whole_words(parts[i].bytes), i++)
        if (parts[i].bytes)
            memcpy(parts[i].at, at, parts[i].bytes);
    world->present.first = world->present.last = NULL;
    world->present.under_way = 0;
    while (at < end) {
        struct explored_message *message = explored_new_message(world, (const void *)(at + sizeof message->due));
        if (!message)
            return CV_ENOMEM;
        memcpy(&message->due, at, sizeof message->due);
        at += sizeof message->due + cv_message_bytes(&message->content);
        explored_link(world, message, NULL);
    }
    world->undo_used = 0;
    explored_network_changed(world);
    return 0;
}
