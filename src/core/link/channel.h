// SPDX-License-Identifier: MIT
/*
 * A channel from one node to another over a network that loses, doubles and reorders packets: everything pushed at
 * one end is taken at the other, once and in order. Two state machines, the sender and the receiver, without I/O
 * and without a clock: the caller carries packets and acknowledgements between them and says what time it is, in any
 * unit, as long as it never goes back.
 *
 *     sender                                                      receiver
 *     cv_channel_push, then while cv_channel_next: send packet -> cv_channel_arrive, while cv_channel_take: deliver
 *     cv_channel_acknowledged, again cv_channel_next          <-  send cv_channel_acknowledgement, for doubles too
 *     at cv_channel_deadline, again cv_channel_next
 *
 * Packets are numbered one by one; an acknowledgement is the number of the next packet to take and covers all
 * before it. At most `window` packets from the oldest unacknowledged one on are under way; the receiver keeps those
 * that arrive early. When the oldest is not acknowledged in time, the window is sent again from there, and the time
 * allowed doubles, up to CV_CHANNEL_PATIENCE times, until there is progress.
 *
 *         oldest           cursor            sent              next
 *     ------+----------------+-----------------+-----------------+------
 *      done | sent           | to be resent    | never yet sent  |
 *
 * Numbers are compared by their distance from `oldest`, so they may wrap around. Memory is used again: after the first
 * messages none is allocated, unless messages get longer or more of them are under way.
 */
#ifndef CONCLAVE_CORE_LINK_CHANNEL_H
#define CONCLAVE_CORE_LINK_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CV_CHANNEL_PATIENCE 16u

struct cv_channel_slot {
    unsigned char *bytes;
    size_t size, room;
    bool held; /* receiver: the packet has arrived and is not taken yet */
};

/* The packet of a number is in slots[number modulo capacity]; the capacity is a power of two, or 0. */
struct cv_channel_ring {
    struct cv_channel_slot *slots;
    uint64_t capacity;
};

/* ---- sender ----------------------------------------------------------------------------------------- */

struct cv_channel_sender {
    struct cv_channel_ring ring;
    uint64_t oldest; /* unacknowledged; the four numbers of the drawing */
    uint64_t cursor;
    uint64_t sent;
    uint64_t next;
    uint64_t window;
    uint64_t timeout;
    uint64_t patience; /* the timeout, doubled by each expiry since there was progress */
    uint64_t started;  /* when the oldest packet was sent, or became the oldest */
};

/* A packet for the network. The bytes stay where they are until the packet is acknowledged. */
struct cv_channel_packet {
    const void *bytes;
    size_t size;
    uint64_t sequence;
};

/* Both ends agree on the first number and on the window, at least 1; the timeout is at least 1. Allocates nothing. */
void cv_channel_sender_init(struct cv_channel_sender *sender, uint64_t first, uint32_t window, uint64_t timeout);
void cv_channel_sender_free(struct cv_channel_sender *sender);

/* Queues a copy. 0 or CV_ENOMEM, which changes nothing. `sequence`, unless NULL, gets its number. */
int cv_channel_push(struct cv_channel_sender *sender, const void *bytes, size_t size, uint64_t *sequence);

/* The next packet to send now, new or again; false when there is none before the deadline. */
bool cv_channel_next(struct cv_channel_sender *sender, uint64_t now, struct cv_channel_packet *packet);

/*
 * The time at which cv_channel_next will have a packet, if nothing happens before: 0 means at once, UINT64_MAX never.
 */
uint64_t cv_channel_deadline(const struct cv_channel_sender *sender);

/* An acknowledgement arrived. An old one changes nothing, nor does one of packets that were never sent. */
void cv_channel_acknowledged(struct cv_channel_sender *sender, uint64_t up_to, uint64_t now);

/* The number of messages that are not acknowledged yet, sent or not. */
static inline uint64_t cv_channel_pending(const struct cv_channel_sender *sender)
{
    return sender->next - sender->oldest;
}

/* ---- receiver --------------------------------------------------------------------------------------- */

struct cv_channel_receiver {
    struct cv_channel_ring ring;
    uint64_t next; /* the number of the next message to take */
    uint64_t window;
};

void cv_channel_receiver_init(struct cv_channel_receiver *receiver, uint64_t first, uint32_t window);
void cv_channel_receiver_free(struct cv_channel_receiver *receiver);

/* A packet arrived: keeps a copy, unless it is known or outside the window. 0 or CV_ENOMEM: as if it were lost. */
int cv_channel_arrive(struct cv_channel_receiver *receiver, uint64_t sequence, const void *bytes, size_t size);

/* The next message in order, valid until the next arrival; NULL when it has not arrived. */
const void *cv_channel_take(struct cv_channel_receiver *receiver, size_t *size);

/* The acknowledgement for the sender: the number of the next message to take. */
static inline uint64_t cv_channel_acknowledgement(const struct cv_channel_receiver *receiver)
{
    return receiver->next;
}

#endif
