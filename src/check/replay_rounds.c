// SPDX-License-Identifier: MIT
/*
 * Counts the messages of the app that are sent to each node, as the simulator does (sim/rounds.c). The search looks at
 * the messages that are on their way instead, so each confirms the other.
 */
#include "check/replay_rounds.h"

static void slip(const struct replay_rounds *rounds, struct cv_slip *slip, cv_node node, cv_node other, uint64_t now)
{
    if (slip->count++ == 0)
        *slip = (struct cv_slip){.count = 1, .time = now, .round = rounds->round[node], .node = node, .other = other};
}

/* The first kind carries the messages of the app. A message may be too late when it is sent. */
static void count_sent(struct replay_rounds *rounds, const struct cv_self *me, uint64_t now)
{
    for (size_t at = 0; at < me->used;) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        at += cv_message_bytes(message);
        if (message->kind == 0 && rounds->round[message->to] > me->round)
            slip(rounds, &rounds->hasty, message->to, CV_NOBODY, now);
        else
            rounds->sent_to[message->to][me->round & 1] += message->kind == 0;
    }
}

/* A step may begin two rounds if the first sends nothing. */
void replay_rounds_pulse(struct replay_rounds *rounds, const struct cv_self *me, uint32_t alive, uint64_t now)
{
    uint32_t *sent = rounds->sent_to[me->node];
    const uint32_t last = (me->round - 1) & 1;
    const uint32_t before = me->round > rounds->round[me->node] + 1 ? sent[!last] : 0;
    const bool hasty = me->received < (uint64_t)sent[last] + before;
    sent[last] = 0;
    sent[!last] -= before;
    rounds->round[me->node] = me->round;
    if (hasty)
        slip(rounds, &rounds->hasty, me->node, CV_NOBODY, now);
    for (uint32_t i = 0; i < cv_degree(me); i++) {
        const cv_node neighbour = cv_neighbour(me, i);
        const uint64_t theirs = rounds->round[neighbour];
        if (alive & 1u << neighbour && (theirs + 1 < me->round || theirs > me->round + 1))
            slip(rounds, &rounds->apart, me->node, neighbour, now);
    }
    count_sent(rounds, me, now);
}
