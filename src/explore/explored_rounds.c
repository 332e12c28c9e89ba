// SPDX-License-Identifier: MIT
/*
 * Counts what is sent to a node in a round, and sees whether it has all of it when it begins the next: as
 * sim/rounds.c, whose counts are those of a run that cannot be taken back.
 */
#include "explore/explored_rounds.h"

static void slip(struct explored *world, struct cv_slip *slip, cv_node node, cv_node other)
{
    if (!slip->count++)
        *slip = (struct cv_slip){.count = 1,
                                 .time = explored_time(world),
                                 .round = explored_node(world, node)->round,
                                 .node = node,
                                 .other = other};
}

/* Messages of the app that begin their way now; one to a node that is further on comes too late. */
static void count_sent(struct explored *world)
{
    const struct cv_self *me = &world->self;
    for (size_t at = 0; at < me->used;) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        struct explored_node *to = explored_node(world, message->to);
        at += cv_message_bytes(message);
        if (message->kind != 0)
            continue;
        if (to->round > me->round) {
            slip(world, &world->present.hasty, message->to, CV_NOBODY);
            continue;
        }
        explored_save(world, to->sent_to, sizeof to->sent_to);
        to->sent_to[me->round & 1]++;
    }
}

/* A step may go through two rounds: if nothing was sent in the first, and what ends it had overtaken what began it. */
void explored_pulse(struct explored *world)
{
    const struct cv_self *me = &world->self;
    struct explored_node *it = explored_node(world, me->node);
    const uint32_t last = (me->round - 1) & 1;
    const uint32_t before = me->round > it->round + UINT64_C(1) ? it->sent_to[!last] : 0;
    const bool hasty = me->received < (uint64_t)it->sent_to[last] + before;
    it->sent_to[last] = 0;
    it->sent_to[!last] -= before;
    it->round = (uint32_t)me->round;
    if (hasty)
        slip(world, &world->present.hasty, me->node, CV_NOBODY);
    for (uint32_t i = 0; i < cv_degree(me); i++) {
        const cv_node neighbour = cv_neighbour(me, i);
        const uint64_t theirs = explored_node(world, neighbour)->round;
        if (theirs + 1 < me->round || theirs > me->round + 1)
            slip(world, &world->present.apart, me->node, neighbour);
    }
    count_sent(world);
}
