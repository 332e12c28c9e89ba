// SPDX-License-Identifier: MIT
/*
 * Searching requests in a given order is sound only if the algorithm does nothing with times but compare them. The
 * stepper tests this for every step that it computes.
 *
 * Equal times. Orders with equal times need not be searched if the algorithm breaks ties by ids. Take the order in
 * which requests of the same time follow each other by their ids. Everything that happens with equal times happens in
 * it, too: no node must request earlier. And it has the same results, if every step does the same whether times differ
 * or are equal, except for the times themselves.
 *
 * Other times. The times of requests are far apart here, and round numbers; in a run they are small and close together.
 * Every step must do the same with such numbers, except for the numbers themselves.
 *
 * Times are recognized by their values: a word of a node's state or of a message that looks like one. Few other words
 * do. If one does, a step may seem to differ; then the checker searches equal times as well, or uses clocks.
 */
#include "check/step/equal_times.h"

#include <stdlib.h>
#include <xxhash.h>

/* How a trial changes times: some ranks get the time of the rank before, or all times become other numbers. */
struct change_of_times {
    const struct order *order;
    uint32_t merged;
    struct retiming retiming;
};

static uint64_t changed(const struct change_of_times *change, uint64_t time)
{
    return change->retiming.gap ? order_retime(change->order, change->retiming, time)
                                : order_merge(change->order, change->merged, time);
}

static void change_words(const struct change_of_times *change, void *bytes, size_t length)
{
    uint32_t *words = bytes;
    for (size_t i = 0; i < length / sizeof *words; i++)
        words[i] = (uint32_t)changed(change, words[i]);
}

/* Undoes the change after a step, so that the results can be compared. */
static void restore_words(const struct change_of_times *change, void *bytes, size_t length)
{
    uint32_t *words = bytes;
    for (size_t i = 0; i < length / sizeof *words; i++)
        words[i] = (uint32_t)(change->retiming.gap ? order_retime_back(change->order, change->retiming, words[i])
                                                   : order_merge(change->order, change->merged, words[i]));
}

/* A hash of the result of a step, without the fence. */
static uint64_t digest(const struct trial *trial, const struct change_of_times *change, const char *broken)
{
    const struct cv_self *me = &trial->runner->self;
    restore_words(change, trial->scratch->state, trial->length - sizeof *trial->scratch);
    trial->scratch->clock = 0;
    uint64_t digest = XXH3_64bits(trial->scratch, trial->length) + me->effects * 3 + (broken != NULL);
    for (size_t at = 0; at < me->used;) {
        struct cv_message *message = (void *)(me->outbox + at);
        at += cv_message_bytes(message);
        restore_words(change, message->body, (size_t)message->words * sizeof(uint32_t));
        message->clock = 0;
        digest = digest * 31 + XXH3_64bits(message, cv_message_bytes(message));
    }
    return digest;
}

/* Takes the step as it is, or with other times. */
static uint64_t try_step(const struct trial *trial, const struct change_of_times *change, bool other)
{
    struct runner *runner = trial->runner;
    struct cv_message *copy = trial->message ? malloc(cv_message_bytes(trial->message)) : NULL;
    if (trial->message && !copy) {
        runner->out_of_memory = true;
        return 0;
    }
    memcpy(trial->scratch, trial->before, trial->length);
    if (copy)
        memcpy(copy, trial->message, cv_message_bytes(trial->message));
    if (other)
        change_words(change, trial->scratch->state, trial->length - sizeof *trial->scratch);
    if (other && copy)
        change_words(change, copy->body, (size_t)copy->words * sizeof(uint32_t));
    runner->script_length = 0;
    runner->clock_ahead = 0;
    runner->merged = other ? change->merged : 0;
    runner->retiming = other ? change->retiming : (struct retiming){0};
    const char *broken = runner_step(runner, trial->scratch, trial->alive, trial->type, trial->argument, copy);
    runner->merged = 0;
    runner->retiming = (struct retiming){0};
    free(copy);
    return digest(trial, change, broken);
}

/* Are the fences equal, or do they differ just as the times of the requests that they contain? */
static bool is_fence_equal(const struct trial *trial, const struct change_of_times *change, uint64_t other,
                           uint64_t fence)
{
    const struct setting *setting = trial->runner->setting;
    const uint64_t time = order_time(&setting->order, trial->before->node, trial->before->requests_left + 1);
    return fence == other || fence - other == (time - changed(change, time)) * setting->nodes;
}

static bool differs(const struct trial *trial, const struct change_of_times *change)
{
    const struct cv_self *me = &trial->runner->self;
    const uint64_t other = try_step(trial, change, true);
    const uint64_t fence = me->effects & CV_DID_ENTER ? me->fence : 0;
    return other != try_step(trial, change, false) || (fence && !is_fence_equal(trial, change, fence, me->fence));
}

/* ---- equal times ---- */

/* A bit for each rank that may get the time of the rank before. */
static uint32_t mergeable(const struct setting *setting)
{
    const struct order *order = &setting->order;
    uint32_t ranks = 0;
    for (uint32_t rank = 1; rank < order->ranks; rank++) {
        const uint32_t one = (uint32_t)__builtin_ctz(order->masks[rank - 1]);
        const uint32_t other = (uint32_t)__builtin_ctz(order->masks[rank]);
        if (setting->group.ids[one] < setting->group.ids[other])
            ranks |= 1u << rank;
    }
    return ranks;
}

static uint32_t ranks_in(const struct order *order, const void *bytes, size_t length)
{
    const uint32_t *words = bytes;
    uint32_t ranks = 0;
    for (size_t i = 0; i < length / sizeof *words; i++)
        if (words[i] && words[i] % ORDER_STEP == 0 && words[i] / ORDER_STEP <= order->ranks)
            ranks |= 1u << (words[i] / ORDER_STEP - 1);
    return ranks;
}

/* A bit for each rank whose time the step can see. */
static uint32_t ranks_seen(const struct trial *trial)
{
    const struct order *order = &trial->runner->setting->order;
    uint32_t ranks = ranks_in(order, trial->before->state, trial->length - sizeof *trial->before);
    if (trial->message)
        ranks |= ranks_in(order, trial->message->body, (size_t)trial->message->words * sizeof(uint32_t));
    if (trial->type == CV_DECIDE_REQUEST)
        ranks |= 1u << (order_time(order, trial->before->node, trial->before->requests_left) / ORDER_STEP - 1);
    return ranks;
}

/* The ranks to merge so that two times become equal; 0 if they may not. */
static uint32_t between(uint32_t low, uint32_t high, uint32_t all)
{
    const uint32_t ranks = ((1u << high) - (1u << low)) << 1;
    return (ranks & all) == ranks ? ranks : 0;
}

bool equal_times_matter(const struct trial *trial)
{
    const uint32_t all = mergeable(trial->runner->setting);
    uint32_t seen = ranks_seen(trial), joints[MOST_REQUESTS], count = 0;
    for (; seen & (seen - 1); seen &= seen - 1) {
        const uint32_t joint = between((uint32_t)__builtin_ctz(seen), (uint32_t)__builtin_ctz(seen & (seen - 1)), all);
        if (joint)
            joints[count++] = joint;
    }
    for (uint32_t subset = 1; subset < 1u << count; subset++) {
        struct change_of_times change = {.order = &trial->runner->setting->order};
        for (uint32_t i = 0; i < count; i++)
            change.merged |= subset >> i & 1 ? joints[i] : 0;
        if (differs(trial, &change))
            return true;
    }
    return false;
}

/* ---- other times ---- */

#define FAR_OFF 0x5a000000u
#define OFFSETS 64u

/* The first time differs from step to step, to catch a handler that reads single bits of a time or rounds it. */
bool times_matter(const struct trial *trial)
{
    const struct setting *setting = trial->runner->setting;
    const uint64_t hash = XXH3_64bits(trial->before, trial->length) +
                          (trial->message ? XXH3_64bits(trial->message, cv_message_bytes(trial->message)) : 0);
    const uint32_t least = setting->forgets_clocks ? 1 : 3; /* events after a request need times of their own */
    for (uint32_t i = 0; i < 2; i++) {
        const struct change_of_times change = {
            .order = &setting->order,
            .retiming = {.gap = least + i, .base = FAR_OFF + (uint32_t)(hash >> (8 * i)) % OFFSETS}};
        if (differs(trial, &change))
            return true;
    }
    return false;
}
