// SPDX-License-Identifier: MIT
#include "sim/elsewhere.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TICKS 16u /* a worker does not keep messages longer than that */

static bool make_room(struct elsewhere *elsewhere, struct elsewhere_bytes *to, size_t bytes)
{
    const size_t needed = to->used + bytes, room = to->memory || to->room < needed ? needed * 2 : to->room;
    unsigned char *memory = realloc(to->memory, elsewhere->headroom + room);
    if (!memory) {
        elsewhere->out_of_memory = true;
        return false;
    }
    to->memory = memory;
    to->room = room;
    return true;
}

unsigned char *elsewhere_append(struct elsewhere *elsewhere, struct elsewhere_bytes *to, size_t bytes)
{
    if ((!to->memory || to->room - to->used < bytes) && !make_room(elsewhere, to, bytes))
        return NULL;
    unsigned char *at = elsewhere_bytes(elsewhere, to) + to->used;
    to->used += bytes;
    return at;
}

/* Where messages that are due then begin. */
static struct elsewhere_due *find_due(struct elsewhere *elsewhere, struct elsewhere_bytes *to, uint64_t due)
{
    struct elsewhere_due *last = to->used ? (void *)(elsewhere_bytes(elsewhere, to) + to->last) : NULL;
    if (last && last->due == due)
        return last;
    const size_t at = to->used;
    struct elsewhere_due *fresh = (void *)elsewhere_append(elsewhere, to, sizeof *fresh);
    if (!fresh)
        return NULL;
    *fresh = (struct elsewhere_due){due, 0};
    to->last = at;
    return fresh;
}

void elsewhere_send(struct elsewhere *elsewhere, const struct cv_message *message, uint64_t due)
{
    struct elsewhere_mail *mail = &elsewhere->mail[elsewhere_owner(elsewhere, message->to)];
    const size_t bytes = cv_message_bytes(message);
    struct elsewhere_due *head = find_due(elsewhere, &mail->messages, due);
    if (!head)
        return;
    head->bytes += bytes;
    unsigned char *at = elsewhere_append(elsewhere, &mail->messages, bytes);
    if (!at)
        return;
    memcpy(at, message, bytes);
    elsewhere->early |= !mail->linked;
    if (due < mail->earliest) {
        const uint64_t ticks = mail->answer_ticks < MOST_TICKS ? mail->answer_ticks : MOST_TICKS;
        mail->earliest = due;
        if (due + ticks < elsewhere->horizon)
            elsewhere->horizon = due + ticks;
    }
}

void elsewhere_tell(struct elsewhere *elsewhere, uint32_t worker, struct elsewhere_pulse pulse)
{
    unsigned char *at = elsewhere_append(elsewhere, &elsewhere->mail[worker].pulses, sizeof pulse);
    if (at)
        memcpy(at, &pulse, sizeof pulse);
}
