// SPDX-License-Identifier: MIT
#include "sim/rows.h"

#include <stdlib.h>
#include <string.h>

#include "sim/arrivals.h"

#define FEW_BYTES ((size_t)1 << 20) /* of nodes: so much is at hand, whichever of them is next */
#define MESSAGES_PER_RECORD 8u      /* a record is a row, or a message that is in none */

/* ---- in the calendar ---- */

void rows_put(struct cv_sim *sim, const struct cv_row *row, uint64_t due)
{
    const struct cv_message *first = (const void *)(row + 1);
    const size_t bytes = sizeof *row + cv_message_bytes(first);
    struct cv_message *record = calendar_add(&sim->mail, due, sizeof *record + bytes);
    if (!record) {
        sim->out_of_memory = true;
        return;
    }
    cv_write_header(record, CV_NOBODY, first->from, first->clock, first->kind, (uint32_t)(bytes / 4));
    memcpy(record->body, row, bytes);
}

void rows_write_out(struct cv_sim *sim, const struct cv_row *row, uint64_t due)
{
    const struct cv_message *first = (const void *)(row + 1);
    const size_t bytes = cv_message_bytes(first);
    unsigned char *at = calendar_add(&sim->mail, due, bytes * ((size_t)row->further + 1));
    if (!at) {
        sim->out_of_memory = true;
        return;
    }
    uint64_t clock = first->clock;
    for (uint32_t i = 0; i <= row->further; i++, at += bytes, clock += row->ticks) {
        struct cv_message *message = (void *)at;
        cv_write_header(message, first->to + i, first->from, clock, first->kind, first->words);
        memcpy(message->body, first->body, bytes - sizeof *message);
    }
}

/* ---- a tick whose senders do not come in order ---- */

bool rows_prevail(struct cv_sim *sim)
{
    const size_t nodes = sim->elsewhere ? sim->elsewhere->count : sim->group.nodes;
    if (nodes * sim->stride <= FEW_BYTES)
        return true;
    struct calendar_list *list = &sim->mail.near[sim->now & sim->mail.mask];
    size_t records = 0, messages = 0;
    for (struct calendar_part part = calendar_look(list); part.at; part = calendar_look_next(list, part))
        for (; part.at < part.end; part.at += cv_message_bytes((const void *)part.at)) {
            const struct cv_row *row = rows_in((const void *)part.at);
            records++;
            messages += row ? (size_t)row->further + 1 : 1;
        }
    /* Alone, a run seldom has such a tick: senders come in order unless other workers have some of them. */
    return sim->elsewhere && messages / MESSAGES_PER_RECORD >= records;
}

static void put(struct cv_sim *sim, const void *message, size_t bytes, uint64_t due)
{
    void *record = calendar_add(&sim->mail, due, bytes);
    if (record)
        memcpy(record, message, bytes);
    else
        sim->out_of_memory = true;
}

void rows_write_out_tick(struct cv_sim *sim)
{
    struct calendar_list *list = &sim->mail.near[sim->now & sim->mail.mask];
    size_t size = 0;
    for (struct calendar_part part = calendar_look(list); part.at; part = calendar_look_next(list, part))
        size += (size_t)(part.end - part.at);
    unsigned char *copy = malloc(size + 1), *end = copy;
    if (!copy) {
        sim->out_of_memory = true;
        return;
    }
    for (struct calendar_part part = calendar_take(&sim->mail); part.at; part = calendar_take_next(&sim->mail, part)) {
        memcpy(end, part.at, (size_t)(part.end - part.at));
        end += part.end - part.at;
    }
    for (const unsigned char *at = copy; at < end;) {
        const struct cv_message *message = (const void *)at;
        const struct cv_row *row = rows_in(message);
        const size_t bytes = cv_message_bytes(message);
        if (row)
            rows_write_out(sim, row, sim->now);
        else
            put(sim, message, bytes, sim->now);
        at += bytes;
    }
    free(copy);
}

/* ---- for other workers ---- */

/* Makes the row begin `gone` messages later, and have so many. */
static void shorten(struct cv_row *row, uint32_t gone, uint32_t count)
{
    struct cv_message *message = rows_message(row);
    message->to += gone;
    message->clock = (message->clock + (uint64_t)gone * row->ticks) & CV_CLOCK_MASK;
    row->further = count - 1;
}

/* Sends the parts of a row to their workers, and shortens it to what is left here. False: nothing is. */
static bool divert_row(struct cv_sim *sim, struct cv_row *row)
{
    struct elsewhere *elsewhere = sim->elsewhere;
    const cv_node first = rows_message(row)->to;
    const uint64_t end = (uint64_t)first + row->further + 1, ours_end = (uint64_t)elsewhere->first + elsewhere->count;
    const uint64_t from = first > elsewhere->first ? first : elsewhere->first, to = end < ours_end ? end : ours_end;
    elsewhere_spread_row(elsewhere, row, sim->now + 1);
    if (from >= to)
        return false;
    shorten(row, (uint32_t)(from - first), (uint32_t)(to - from));
    return true;
}

unsigned char *rows_divert(struct cv_sim *sim, unsigned char *begin, const unsigned char *end)
{
    const cv_node first = sim->elsewhere->first;
    const uint32_t count = sim->elsewhere->count;
    unsigned char *kept = begin;
    size_t usual = 0;
    for (const unsigned char *at = begin; at < end;) {
        const unsigned char *from = at;
        for (const struct cv_message *message; at < end && (message = (const void *)at)->to - first < count;)
            at = arrivals_beyond(at, cv_message_bytes(message), &usual);
        struct cv_row *row = at < end ? rows_in((const void *)at) : NULL;
        const size_t bytes = row ? cv_message_bytes((const void *)at) : 0;
        const size_t stays = (size_t)(at - from) + (row && divert_row(sim, row) ? bytes : 0);
        if (row)
            at += bytes;
        else if (at < end)
            at = elsewhere_send_row(sim->elsewhere, at, end, sim->now + 1);
        if (kept != from)
            memmove(kept, from, stays);
        kept += stays;
    }
    return kept;
}
