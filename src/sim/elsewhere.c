// SPDX-License-Identifier: MIT
#include "sim/elsewhere.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TICKS 16u /* a worker does not keep messages longer than that */
#define MOST_SPARE 64u

void elsewhere_recycle(struct elsewhere *elsewhere, void *memory, size_t room)
{
    if (room != ELSEWHERE_FEW || elsewhere->spare_count == MOST_SPARE) {
        free(memory);
        return;
    }
    *(void **)memory = elsewhere->spare;
    elsewhere->spare = memory;
    elsewhere->spare_count++;
}

void *elsewhere_take_spare(struct elsewhere *elsewhere)
{
    void *memory = elsewhere->spare;
    if (!memory)
        return malloc(elsewhere->headroom + ELSEWHERE_FEW);
    elsewhere->spare = *(void **)memory;
    elsewhere->spare_count--;
    return memory;
}

void elsewhere_free_spare(struct elsewhere *elsewhere)
{
    while (elsewhere->spare)
        free(elsewhere_take_spare(elsewhere));
}

static bool make_room(struct elsewhere *elsewhere, struct elsewhere_bytes *to, size_t bytes)
{
    const size_t needed = to->used + bytes, wanted = to->memory || to->room < needed ? needed * 2 : to->room;
    const bool few = !to->memory && wanted <= ELSEWHERE_FEW;
    const size_t room = few ? ELSEWHERE_FEW : wanted;
    unsigned char *memory = few ? elsewhere_take_spare(elsewhere) : realloc(to->memory, elsewhere->headroom + room);
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

_Static_assert(sizeof(struct cv_message) == 2 * sizeof(uint64_t), "the body begins after two words");

static size_t body_words(const struct cv_message *message)
{
    return (cv_message_bytes(message) - sizeof *message) / sizeof(uint64_t);
}

/* Messages are a few words long: a loop is faster than a call. */
static inline bool has_body(const struct cv_message *message, const uint64_t *body, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if (message->body[i] != body[i])
            return false;
    return true;
}

/* Is this the next message of the row? */
static bool continues(struct cv_row *row, const struct cv_message *message)
{
    const struct cv_message *first = (const void *)(row + 1);
    const uint32_t place = row->further + 1;
    const uint64_t ticks = (message->clock - first->clock) & CV_CLOCK_MASK;
    if (message->to != first->to + place || message->from != first->from || message->kind != first->kind ||
        message->words != first->words)
        return false;
    if (!row->further && ticks <= 1)
        row->ticks = (uint32_t)ticks;
    return ticks == (uint64_t)place * row->ticks && has_body(message, first->body, body_words(first));
}

/* Finds or begins what is due then in the mail for that worker. False: no memory. */
static bool find_due(struct elsewhere *elsewhere, struct elsewhere_mail *mail, uint64_t due)
{
    struct elsewhere_bytes *to = &mail->messages;
    if (to->used >= ELSEWHERE_MANY && elsewhere->send_part)
        elsewhere->send_part(elsewhere, mail);
    const struct elsewhere_due *head = to->used ? (void *)(elsewhere_bytes(elsewhere, to) + to->due) : NULL;
    if (head && head->due == due)
        return true;
    note_due(elsewhere, mail, due);
    return begin_due(elsewhere, to, due) != NULL;
}

/* Begins a row with this message; NULL: no memory. */
static struct cv_row *begin_row(struct elsewhere *elsewhere, struct elsewhere_bytes *to,
                                const struct cv_message *message)
{
    const size_t at = to->used, bytes = sizeof(struct cv_row) + cv_message_bytes(message);
    struct cv_row *row = (void *)elsewhere_append(elsewhere, to, bytes);
    if (!row)
        return NULL;
    struct elsewhere_due *head = (void *)(elsewhere_bytes(elsewhere, to) + to->due);
    head->bytes += bytes;
    to->row = at;
    *row = (struct cv_row){0};
    memcpy(row + 1, message, bytes - sizeof *row);
    return row;
}

void elsewhere_send(struct elsewhere *elsewhere, const struct cv_message *message, uint64_t due)
{
    struct elsewhere_mail *mail = find_mail(elsewhere, message->to);
    struct elsewhere_bytes *to = &mail->messages;
    if (!find_due(elsewhere, mail, due))
        return;
    struct cv_row *row = to->row ? (void *)(elsewhere_bytes(elsewhere, to) + to->row) : NULL;
    if (row && continues(row, message))
        row->further++;
    else
        begin_row(elsewhere, to, message);
}

const unsigned char *elsewhere_send_row(struct elsewhere *elsewhere, const unsigned char *at, const unsigned char *end,
                                        uint64_t due)
{
    const struct cv_message *first = (const void *)at;
    const size_t bytes = cv_message_bytes(first), words = body_words(first);
    struct elsewhere_mail *mail = find_mail(elsewhere, first->to);
    const cv_node beyond = elsewhere->recent_first + elsewhere->recent_count;
    struct cv_row *row = find_due(elsewhere, mail, due) ? begin_row(elsewhere, &mail->messages, first) : NULL;
    at += bytes;
    if (!row || at == end)
        return at;
    const uint32_t ticks = ((const struct cv_message *)(const void *)at)->clock != first->clock;
    uint64_t clock = first->clock;
    cv_node to = first->to;
    for (; at < end && ++to < beyond; at += bytes) {
        const struct cv_message *message = (const void *)at;
        clock = (clock + ticks) & CV_CLOCK_MASK;
        if (message->to != to || message->from != first->from || message->clock != clock ||
            message->kind != first->kind || message->words != first->words || !has_body(message, first->body, words))
            break;
    }
    row->further = (uint32_t)((size_t)(at - (const unsigned char *)first) / bytes - 1);
    row->ticks = row->further ? ticks : 0;
    return at;
}

void elsewhere_spread_row(struct elsewhere *elsewhere, const struct cv_row *row, uint64_t due)
{
    const struct cv_message *first = (const void *)(row + 1);
    const uint64_t end = (uint64_t)first->to + row->further + 1;
    for (uint64_t to = first->to, next; to < end; to = next) {
        if (to - elsewhere->first < elsewhere->count) {
            next = (uint64_t)elsewhere->first + elsewhere->count;
            continue;
        }
        struct elsewhere_mail *mail = find_mail(elsewhere, (cv_node)to);
        next = (uint64_t)elsewhere->recent_first + elsewhere->recent_count;
        next = next < end ? next : end;
        struct cv_row *part = find_due(elsewhere, mail, due) ? begin_row(elsewhere, &mail->messages, first) : NULL;
        if (!part)
            return;
        *part = (struct cv_row){(uint32_t)(next - to - 1), row->ticks};
        struct cv_message *message = (void *)(part + 1);
        message->clock = (first->clock + (to - first->to) * row->ticks) & CV_CLOCK_MASK;
        message->to = (cv_node)to;
    }
}

void elsewhere_tell(struct elsewhere *elsewhere, uint32_t worker, struct elsewhere_pulse pulse)
{
    unsigned char *at = elsewhere_append(elsewhere, &elsewhere->mail[worker].pulses, sizeof pulse);
    if (at)
        memcpy(at, &pulse, sizeof pulse);
}
