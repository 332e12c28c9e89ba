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

/* Messages that are due then begin here. */
static struct elsewhere_due *begin_due(struct elsewhere *elsewhere, struct elsewhere_bytes *to, uint64_t due)
{
    const size_t at = to->used;
    struct elsewhere_due *fresh = (void *)elsewhere_append(elsewhere, to, sizeof *fresh);
    if (!fresh)
        return NULL;
    *fresh = (struct elsewhere_due){due, 0};
    to->due = at;
    to->row = 0;
    return fresh;
}

/* The mail to the worker of a node. Messages to many nodes go to one worker after the other. */
static struct elsewhere_mail *find_mail(struct elsewhere *elsewhere, cv_node node)
{
    if (elsewhere->owners)
        return &elsewhere->mail[elsewhere->owners[node]];
    if (node - elsewhere->recent_first >= elsewhere->recent_count) {
        const uint32_t owner = elsewhere_owner(elsewhere, node);
        elsewhere->recent = owner;
        elsewhere->recent_first = elsewhere_block_begin(elsewhere, owner);
        elsewhere->recent_count = elsewhere_block_begin(elsewhere, (uint64_t)owner + 1) - elsewhere->recent_first;
    }
    return &elsewhere->mail[elsewhere->recent];
}

/* The first message of some that arrive at one time. */
static void note_due(struct elsewhere *elsewhere, struct elsewhere_mail *mail, uint64_t due)
{
    elsewhere->early |= !mail->linked;
    if (due < mail->earliest) {
        const uint64_t ticks = mail->answer_ticks < MOST_TICKS ? mail->answer_ticks : MOST_TICKS;
        mail->earliest = due;
        if (due + ticks < elsewhere->horizon)
            elsewhere->horizon = due + ticks;
    }
}

/* Is this the next message of the row? */
static bool continues(struct elsewhere_row *row, const struct cv_message *message)
{
    const struct cv_message *first = (const void *)(row + 1);
    const uint32_t place = row->further + 1;
    const uint64_t ticks = (message->clock - first->clock) & CV_CLOCK_MASK;
    if (message->to != first->to + place || message->from != first->from || message->kind != first->kind ||
        message->words != first->words)
        return false;
    if (!row->further && ticks <= 1)
        row->ticks = (uint32_t)ticks;
    if (ticks != (uint64_t)place * row->ticks)
        return false;
    const size_t words = cv_message_bytes(message) / sizeof(uint64_t) - 2;
    for (size_t i = 0; i < words; i++)
        if (message->body[i] != first->body[i])
            return false;
    return true;
}

_Static_assert(sizeof(struct cv_message) == 2 * sizeof(uint64_t), "the body begins after two words");

void elsewhere_send(struct elsewhere *elsewhere, const struct cv_message *message, uint64_t due)
{
    struct elsewhere_mail *mail = find_mail(elsewhere, message->to);
    struct elsewhere_bytes *to = &mail->messages;
    struct elsewhere_due *head = to->used ? (void *)(elsewhere_bytes(elsewhere, to) + to->due) : NULL;
    if (!head || head->due != due) {
        note_due(elsewhere, mail, due);
        if (!begin_due(elsewhere, to, due))
            return;
    }
    struct elsewhere_row *row = to->row ? (void *)(elsewhere_bytes(elsewhere, to) + to->row) : NULL;
    if (row && continues(row, message)) {
        row->further++;
        return;
    }
    const size_t bytes = sizeof *row + cv_message_bytes(message), at = to->used;
    row = (void *)elsewhere_append(elsewhere, to, bytes);
    if (!row)
        return;
    to->row = at;
    head = (void *)(elsewhere_bytes(elsewhere, to) + to->due);
    head->bytes += bytes;
    *row = (struct elsewhere_row){0};
    memcpy(row + 1, message, bytes - sizeof *row);
}

void elsewhere_tell(struct elsewhere *elsewhere, uint32_t worker, struct elsewhere_pulse pulse)
{
    unsigned char *at = elsewhere_append(elsewhere, &elsewhere->mail[worker].pulses, sizeof pulse);
    if (at)
        memcpy(at, &pulse, sizeof pulse);
}
