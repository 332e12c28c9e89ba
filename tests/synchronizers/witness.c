// SPDX-License-Identifier: MIT
#include "witness.h"

#include <conclave/synchronizer.h>

static uint32_t round_of(const struct cv_message *message)
{
    return ((const struct cv_envelope *)cv_body(message))->round;
}

static void see_round(struct witness *witness, uint32_t node, uint64_t round)
{
    for (uint64_t over = witness->round[node]; over < round; over++)
        witness->hasty += witness->arrived[node][over] < witness->addressed[node][over];
    witness->round[node] = round;
    for (uint32_t i = 0; i < witness->story->nodes; i++) {
        const uint64_t theirs = witness->round[i];
        if (story_joined(witness->story, node, i) && (theirs > round + 1 || theirs + 1 < round))
            witness->apart++;
    }
}

void witness_see(void *context, const struct cv_event *event)
{
    struct witness *witness = context;
    const bool app = witness->story->app && event->content && event->content->kind == 0;
    switch (event->type) {
    case CV_EVENT_SEND:
        assert(event->content);
        witness->sent[event->content->kind] += event->peer != event->node;
        if (app) {
            witness->addressed[event->peer][round_of(event->content)]++;
            witness->hasty += witness->round[event->peer] > round_of(event->content);
        }
        break;
    case CV_EVENT_RECEIVE:
        if (app)
            witness->arrived[event->node][round_of(event->content)]++;
        break;
    case CV_EVENT_PULSE:
        see_round(witness, event->node, event->detail);
        break;
    default:
        break;
    }
}
