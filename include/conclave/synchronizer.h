// SPDX-License-Identifier: MIT
/*
 * For authors of synchronizers: how a synchronizer hosts a synchronous algorithm, its app.
 *
 * The app is written for a network that works in rounds: in `pulse` a node sends at most one message to each neighbour,
 * and the neighbours receive them before the next round begins. A synchronizer decides when a round is over. This file
 * has the part that all synchronizers share. A node's state is
 *
 *     | the synchronizer's own | round | the app's | messages of even rounds | messages of odd rounds |
 *                              ^ group->hosted_at    a slot for each neighbour
 *
 * A neighbour may be one round ahead, never two. So a message waits in its slot until its round is over. Then the app
 * receives the messages, neighbour by neighbour, and cannot tell the network from a synchronous one.
 *
 * The first message kind of every synchronizer carries the messages of the app: cv_round_kinds().
 */
#ifndef CONCLAVE_SYNCHRONIZER_H
#define CONCLAVE_SYNCHRONIZER_H

#include <conclave/algorithm.h>

#define CV_MAX_APP_BYTES 256u /* the longest message of an app */

/*
 * The header of an app's message, on its way and in its slot. A slot of round 0 is empty. A message names the link by
 * which it reaches its receiver, as a real link would, so the receiver need not search for the slot.
 */
struct cv_envelope {
    uint32_t round;
    uint32_t kind : 6;  /* in the app's table of kinds */
    uint32_t link : 26; /* the index of the sender among the receiver's neighbours */
};

#define CV_MAX_LINKS (1u << 26)

static inline size_t cv_app_bytes(const struct cv_group *group, cv_node node)
{
    const struct cv_algorithm *app = group->app;
    return ((app->state_size ? app->state_size(group->app_group, node) : app->state_bytes) + 7) / 8 * 8;
}

/* Adds to a synchronizer's own bytes those of the round, the app's state and the slots. */
static inline size_t cv_hosted_bytes(const struct cv_group *group, cv_node node)
{
    const size_t degree = (size_t)(group->edges[node + 1] - group->edges[node]);
    return sizeof(uint64_t) + cv_app_bytes(group, node) + 2 * degree * group->slot_bytes;
}

static inline uint64_t *cv_hosted(const struct cv_self *me)
{
    return (uint64_t *)(void *)((unsigned char *)me->state + me->group->hosted_at);
}

/* The round that a node is in: 0 before the first round; after the last, the number of rounds plus one. */
static inline uint64_t cv_round(const struct cv_self *me)
{
    return *cv_hosted(me);
}

static inline bool cv_round_done(const struct cv_self *me)
{
    return cv_round(me) > cv_rounds(me);
}

static inline struct cv_envelope *cv_slot(const struct cv_self *me, uint32_t neighbour, uint64_t round)
{
    const size_t place = (round & 1) * cv_degree(me) + neighbour;
    unsigned char *slots = (unsigned char *)(cv_hosted(me) + 1) + cv_app_bytes(me->group, me->node);
    return (struct cv_envelope *)(void *)(slots + place * me->group->slot_bytes);
}

/* The index of this node among the neighbours of its neighbour. */
static inline uint32_t cv_my_link(const struct cv_self *me, uint32_t neighbour)
{
    return me->group->ends[me->group->edges[me->node] + neighbour];
}

/* ---- the app takes a step --------------------------------------------------------------------------- */

/* Between cv_app_enter() and cv_app_leave(), `me` has the app's state and parameters. */
struct cv_host {
    void *state;
    const struct cv_group *group;
};

static inline struct cv_host cv_app_enter(struct cv_self *me)
{
    const struct cv_host host = {me->state, me->group};
    me->state = cv_hosted(me) + 1;
    me->group = host.group->app_group;
    return host;
}

static inline void cv_app_leave(struct cv_self *me, struct cv_host host)
{
    me->state = host.state;
    me->group = host.group;
}

/* A synchronizer's `init` calls this. */
static inline void cv_round_init(struct cv_self *me)
{
    const struct cv_algorithm *app = me->group->app;
    const struct cv_host host = cv_app_enter(me);
    if (app->init)
        app->init(me);
    cv_app_leave(me, host);
}

/* ---- messages --------------------------------------------------------------------------------------- */

/* Keeps a message of the app until its round is over. False: it came too late, its round was over. */
static inline bool cv_round_keep(struct cv_self *me, const struct cv_message *message)
{
    const struct cv_envelope *envelope = cv_body(message);
    if (envelope->round < cv_round(me))
        return false;
    assert(envelope->link < cv_degree(me) && message->words * 4 <= me->group->slot_bytes);
    memcpy(cv_slot(me, envelope->link, envelope->round), envelope, message->words * 4);
    return true;
}

/* For `valid`: is it a message of the app, of a round that is not over, and does it name the link by which it came? */
static inline bool cv_envelope_valid(const struct cv_self *me, const struct cv_message *message)
{
    const struct cv_envelope *envelope = cv_body(message);
    const struct cv_kind *kinds = me->group->app->kinds;
    uint32_t kind = 0;
    while (kind < envelope->kind && kinds[kind].name)
        kind++;
    return kinds[kind].name && envelope->round >= 1 && envelope->round <= cv_rounds(me) &&
           envelope->link < cv_degree(me) && cv_neighbour(me, envelope->link) == message->from &&
           message->words * 4 == sizeof *envelope + kinds[kind].bytes && message->words * 4 <= me->group->slot_bytes;
}

/* The round is over: the app receives its messages, neighbour by neighbour. Returns their number. */
static inline uint32_t cv_round_hand_over(struct cv_self *me, uint64_t round)
{
    const struct cv_algorithm *app = me->group->app;
    const size_t slot_bytes = me->group->slot_bytes;
    const uint32_t degree = cv_degree(me);
    const unsigned char *at = degree ? (const unsigned char *)cv_slot(me, 0, round) : NULL;
    uint64_t room[(sizeof(struct cv_message) + CV_MAX_APP_BYTES) / 8];
    struct cv_message *message = (struct cv_message *)(void *)room;
    uint32_t count = 0, kind = CV_MAX_KINDS;
    size_t bytes = 0;
    const struct cv_host host = cv_app_enter(me);
    for (uint32_t neighbour = 0; neighbour < degree; neighbour++, at += slot_bytes) {
        const struct cv_envelope *slot = (const struct cv_envelope *)(const void *)at;
        if (slot->round != round)
            continue;
        if (slot->kind != kind) {
            kind = slot->kind;
            bytes = app->kinds[kind].bytes;
            *message = (struct cv_message){
                .to = me->node, .kind = kind & (CV_MAX_KINDS - 1), .words = (bytes / 4) & CV_MAX_WORDS};
        }
        message->from = cv_neighbour(me, neighbour);
        memcpy(message->body, slot + 1, bytes);
        app->kinds[kind].receive(me, message);
        count++;
    }
    cv_app_leave(me, host);
    return count;
}

/* Puts the app's messages, from `bare` on in the outbox, into envelopes, from `begin` on. Returns their number. */
static inline uint32_t cv_round_wrap(struct cv_self *me, size_t begin, size_t bare, uint64_t round)
{
    const size_t end = me->used;
    uint32_t count = 0, neighbour = 0;
    me->used = begin;
    for (size_t at = bare; at < end; count++) {
        const struct cv_message *inner = (const struct cv_message *)(const void *)(me->outbox + at);
        if (neighbour >= cv_degree(me) || cv_neighbour(me, neighbour) != inner->to)
            neighbour = cv_neighbour_index(me, inner->to); /* most apps send to their neighbours in order */
        assert(neighbour < cv_degree(me));                 /* an app sends to neighbours, */
        assert(count < cv_degree(me));                     /* and once to each */
        const struct cv_envelope envelope = {
            .round = (uint32_t)round, .kind = inner->kind, .link = cv_my_link(me, neighbour++) & (CV_MAX_LINKS - 1)};
        struct cv_message *outer = cv_post(me, inner->to, 0, sizeof envelope + inner->words * 4);
        outer->clock = inner->clock;
        memcpy(outer->body, &envelope, sizeof envelope);
        at += cv_message_bytes(inner);
        for (uint32_t word = 0; word < (inner->words + 1u) / 2; word++)
            outer->body[1 + word] = inner->body[word];
    }
    return count;
}

/* ---- the next round --------------------------------------------------------------------------------- */

/*
 * Ends this node's round and begins the next: the app receives, then sends. Returns the number of messages that it
 * sent, 0 after the last round.
 */
static inline uint32_t cv_round_next(struct cv_self *me)
{
    const struct cv_algorithm *app = me->group->app;
    const uint64_t round = cv_round(me) + 1;
    const size_t message = sizeof(struct cv_message) + me->group->slot_bytes;
    assert(round <= cv_rounds(me) + 1);
    me->received = me->effects & CV_DID_PULSE ? me->received : 0; /* a step may begin two rounds */
    me->received += round > 1 ? cv_round_hand_over(me, round - 1) : 0;
    *cv_hosted(me) = me->round = round;
    me->effects |= CV_DID_PULSE;

    /* Room for all messages that the app may send, in envelopes and then bare, so that the outbox does not move. */
    const size_t room = 2 * cv_degree(me) * message;
    if (me->room - me->used < room)
        me->runtime->grow(me, room);
    const size_t begin = me->used, bare = begin + room / 2;
    me->used = bare;
    const struct cv_host host = cv_app_enter(me);
    if (round <= host.group->rounds)
        app->pulse(me, round);
    else if (app->finish)
        app->finish(me);
    cv_app_leave(me, host);
    assert(me->used - bare <= room / 2); /* at most one message to each neighbour */
    return cv_round_wrap(me, begin, bare, round);
}

#endif
