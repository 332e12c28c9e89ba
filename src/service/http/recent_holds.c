// SPDX-License-Identifier: MIT
#include "service/http/recent_holds.h"

#include <string.h>

void recent_holds_add(struct recent_holds *recent, const struct lock_hold *hold, enum hold_change change)
{
    struct recent_hold *it = &recent->ring[++recent->number % RECENT_HOLDS];
    const struct cv_instance *instance = hold->lock->instance;
    it->number = recent->number;
    it->at_ms = cv_loop_coarse_ms(hold->lock->service->loop);
    it->change = change;
    it->election = instance->subject == CV_SUBJECT_LEADER;
    it->shared = hold->shared;
    it->node = hold->origin;
    it->session = hold->owner;
    it->fence = hold->fence;
    it->name_length = instance->name_length;
    memcpy(it->name, instance->name, instance->name_length);
}

const struct recent_hold *recent_holds_last(const struct recent_holds *recent, uint32_t n)
{
    return n < RECENT_HOLDS && n < recent->number ? &recent->ring[(recent->number - n) % RECENT_HOLDS] : NULL;
}
