// SPDX-License-Identifier: MIT
#include "core/link/channel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

/* ---- slots ------------------------------------------------------------------------------------------ */

static struct cv_channel_slot *slot_of(const struct cv_channel_ring *ring, uint64_t sequence)
{
    return &ring->slots[sequence & (ring->capacity - 1)];
}

/* Makes room for `count` packets from `first` on, where those already there stay. */
static int reserve(struct cv_channel_ring *ring, uint64_t first, uint64_t count)
{
    if (count <= ring->capacity)
        return 0;
    struct cv_channel_ring larger = {.capacity = ring->capacity ? ring->capacity : 4};
    while (larger.capacity < count)
        larger.capacity *= 2;
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return CV_ENOMEM;
    for (uint64_t i = 0; i < ring->capacity; i++)
        *slot_of(&larger, first + i) = *slot_of(ring, first + i);
    free(ring->slots);
    *ring = larger;
    return 0;
}

static int fill(struct cv_channel_slot *slot, const void *bytes, size_t size)
{
    if (size > slot->room || !slot->bytes) {
        const size_t room = size > 64 ? size : 64;
        unsigned char *larger = realloc(slot->bytes, room);
        if (!larger)
            return CV_ENOMEM;
        slot->bytes = larger;
        slot->room = room;
    }
    if (size)
        memcpy(slot->bytes, bytes, size);
    slot->size = size;
    return 0;
}

static void free_ring(struct cv_channel_ring *ring)
{
    for (uint64_t i = 0; i < ring->capacity; i++)
        free(ring->slots[i].bytes);
    free(ring->slots);
    *ring = (struct cv_channel_ring){0};
}

/* ---- sender ----------------------------------------------------------------------------------------- */

void cv_channel_sender_init(struct cv_channel_sender *sender, uint64_t first, uint32_t window, uint64_t timeout)
{
    assert(window >= 1 && timeout >= 1 && timeout <= UINT64_MAX / CV_CHANNEL_PATIENCE);
    *sender = (struct cv_channel_sender){.oldest = first, .cursor = first, .sent = first, .next = first};
    sender->window = window;
    sender->timeout = sender->patience = timeout;
}

void cv_channel_sender_free(struct cv_channel_sender *sender)
{
    free_ring(&sender->ring);
}

int cv_channel_push(struct cv_channel_sender *sender, const void *bytes, size_t size, uint64_t *sequence)
{
    int error = reserve(&sender->ring, sender->oldest, cv_channel_pending(sender) + 1);
    if (!error)
        error = fill(slot_of(&sender->ring, sender->next), bytes, size);
    if (error)
        return error;
    if (sequence)
        *sequence = sender->next;
    sender->next++;
    return 0;
}

static bool may_send(const struct cv_channel_sender *sender)
{
    return sender->cursor != sender->next && sender->cursor - sender->oldest < sender->window;
}

uint64_t cv_channel_deadline(const struct cv_channel_sender *sender)
{
    if (may_send(sender))
        return 0;
    if (sender->oldest == sender->next || sender->started > UINT64_MAX - sender->patience)
        return UINT64_MAX;
    return sender->started + sender->patience;
}

/* Goes back to the oldest packet if it has waited too long. */
static void expire(struct cv_channel_sender *sender, uint64_t now)
{
    if (sender->cursor == sender->oldest || now - sender->started < sender->patience)
        return;
    sender->cursor = sender->oldest;
    if (sender->patience / sender->timeout < CV_CHANNEL_PATIENCE)
        sender->patience *= 2;
}

bool cv_channel_next(struct cv_channel_sender *sender, uint64_t now, struct cv_channel_packet *packet)
{
    expire(sender, now);
    if (!may_send(sender))
        return false;
    if (sender->cursor == sender->oldest)
        sender->started = now;
    const struct cv_channel_slot *slot = slot_of(&sender->ring, sender->cursor);
    *packet = (struct cv_channel_packet){slot->bytes, slot->size, sender->cursor};
    if (sender->cursor == sender->sent)
        sender->sent++;
    sender->cursor++;
    return true;
}

void cv_channel_acknowledged(struct cv_channel_sender *sender, uint64_t up_to, uint64_t now)
{
    const uint64_t covered = up_to - sender->oldest;
    if (covered == 0 || covered > sender->sent - sender->oldest)
        return;
    if (covered > sender->cursor - sender->oldest)
        sender->cursor = up_to;
    sender->oldest = up_to;
    sender->started = now;
    sender->patience = sender->timeout;
}

/* ---- receiver --------------------------------------------------------------------------------------- */

void cv_channel_receiver_init(struct cv_channel_receiver *receiver, uint64_t first, uint32_t window)
{
    assert(window >= 1);
    *receiver = (struct cv_channel_receiver){.next = first, .window = window};
}

void cv_channel_receiver_free(struct cv_channel_receiver *receiver)
{
    free_ring(&receiver->ring);
}

int cv_channel_arrive(struct cv_channel_receiver *receiver, uint64_t sequence, const void *bytes, size_t size)
{
    const uint64_t ahead = sequence - receiver->next;
    if (ahead >= receiver->window)
        return 0;
    int error = reserve(&receiver->ring, receiver->next, ahead + 1);
    if (error)
        return error;
    struct cv_channel_slot *slot = slot_of(&receiver->ring, sequence);
    if (!slot->held)
        error = fill(slot, bytes, size);
    slot->held = error == 0;
    return error;
}

const void *cv_channel_take(struct cv_channel_receiver *receiver, size_t *size)
{
    if (receiver->ring.capacity == 0)
        return NULL;
    struct cv_channel_slot *slot = slot_of(&receiver->ring, receiver->next);
    if (!slot->held)
        return NULL;
    slot->held = false;
    receiver->next++;
    *size = slot->size;
    return slot->bytes;
}
