// SPDX-License-Identifier: MIT
/*
 * Orders with equal times need not be tried if equal times are told apart by ids. Take the order in which those of the
 * same time follow each other by their ids: whatever happens with equal times happens there too, for in it a node need
 * not ask any earlier; and with the same results, if every step does the same whether times differ or are equal, but
 * for the times themselves. That is tried with every step that is worked out: all that can happen is made of these.
 *
 * Times are found by their values: a word of a node's state, or of a message, that looks like one. What is no time
 * seldom does; if it does, a step may seem to be another, and then equal times are tried as well.
 */
#include "check/tie.h"

#include <stdlib.h>
#include <xxhash.h>

/* A bit for each rank that may be made equal to the one before it. */
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

/* Makes times equal; whether there were any to be made so. */
static bool merge(const struct setting *setting, uint32_t merged, void *bytes, size_t length)
{
    uint32_t *words = bytes;
    bool any = false;
    for (size_t i = 0; i < length / sizeof *words; i++) {
        const uint64_t time = order_merge(&setting->order, merged, words[i]);
        any |= time != words[i];
        words[i] = (uint32_t)time;
    }
    return any;
}

/* What a step leads to, but for its fence, with equal times where there will be. */
static uint64_t digest(struct stepper *stepper, uint32_t merged, size_t length, const char *broken)
{
    const struct setting *setting = &stepper->model->setting;
    const struct cv_self *me = &stepper->host.self;
    merge(setting, merged, stepper->scratch->state, length - sizeof *stepper->scratch);
    uint64_t digest = XXH3_64bits(stepper->scratch, length) + me->effects * 3 + (broken != NULL);
    for (size_t at = 0; at < me->used;) {
        struct cv_message *message = (void *)(me->outbox + at);
        at += cv_message_bytes(message);
        merge(setting, merged, message->body, (size_t)message->words * sizeof(uint32_t));
        message->clock = 0;
        digest = digest * 31 + XXH3_64bits(message, cv_message_bytes(message));
    }
    return digest;
}

/* The step with equal times, or with those that it has; 0 if there are none that could be equal. */
static uint64_t try_step(struct stepper *stepper, uint32_t place, enum cv_decision_type type, uint32_t argument,
                         uint32_t alive, uint32_t merged, bool equal)
{
    const struct model *model = stepper->model;
    const size_t length = intern_record(&model->places, place)->length;
    const struct cv_message *message = type == CV_DECIDE_DELIVER ? model_message(model, argument) : NULL;
    struct cv_message *copy = message ? malloc(cv_message_bytes(message)) : NULL;
    bool any = !equal || type == CV_DECIDE_REQUEST;
    if (message && !copy) {
        stepper->model->out_of_memory = true;
        return 0;
    }
    memcpy(stepper->scratch, model_place(model, place), length);
    if (copy)
        memcpy(copy, message, cv_message_bytes(message));
    if (equal)
        any |= merge(&model->setting, merged, stepper->scratch->state, length - sizeof *stepper->scratch);
    if (equal && copy)
        any |= merge(&model->setting, merged, copy->body, (size_t)copy->words * sizeof(uint32_t));
    stepper->host.script_length = 0;
    stepper->host.merged = equal ? merged : 0;
    const char *broken = any ? host_step(&stepper->host, stepper->scratch, alive, type, argument, copy) : NULL;
    stepper->host.merged = 0;
    free(copy);
    return any ? digest(stepper, merged, length, broken) | 1 : 0;
}

/* Fences that are made of times differ by what the times of the requests do. */
static bool is_fence_alike(const struct setting *setting, const struct place *place, uint32_t merged, uint64_t equal,
                           uint64_t fence)
{
    const uint64_t time = order_time(&setting->order, place->node, place->left + 1);
    return fence == equal || fence - equal == (time - order_merge(&setting->order, merged, time)) * setting->nodes;
}

bool tie_matters(struct stepper *stepper, uint32_t place, enum cv_decision_type type, uint32_t argument, uint32_t alive)
{
    const struct setting *setting = &stepper->model->setting;
    const uint32_t all = mergeable(setting);
    for (uint32_t merged = all; merged; merged = (merged - 1) & all) {
        const uint64_t equal = try_step(stepper, place, type, argument, alive, merged, true);
        const uint64_t fence = stepper->host.self.effects & CV_DID_ENTER ? stepper->host.self.fence : 0;
        if (!equal)
            continue;
        if (equal != try_step(stepper, place, type, argument, alive, merged, false) ||
            (fence &&
             !is_fence_alike(setting, model_place(stepper->model, place), merged, fence, stepper->host.self.fence)))
            return true;
    }
    return false;
}
