// SPDX-License-Identifier: MIT
/*
 * The order in which the messages of a tick are handled. It is told by the messages themselves, not by who computed
 * them first: by receiver; at a receiver by sender; and those of one sender as it sent them. On a ring the senders come
 * as a walk back from the receiver meets them, the predecessor first. Nodes do not hear of each other within a tick, so
 * only the order at each receiver matters to a run; that of the receivers is for the readers of a trace.
 *
 * Messages stay where they are, in the parts of the tick's list. A place says where: the number of the part, and the
 * 64-bit word in it.
 */
#ifndef CONCLAVE_SIM_ORDER_H
#define CONCLAVE_SIM_ORDER_H

#include "core/scenario/arrival.h"
#include "sim/calendar.h"

/*
 * Where the next message begins, after one of so many bytes. Most are as long as the one before them: that is taken for
 * granted until the length has been read, so the processor does not wait for one length after the other. The compiler
 * must not see that both ways come to the same.
 */
static inline const unsigned char *arrivals_beyond(const unsigned char *at, size_t bytes, size_t *usual)
{
    const unsigned char *next = at + *usual;
    __asm__("" : "+r"(next));
    if (bytes != *usual) {
        *usual = bytes;
        next = at + bytes;
        __asm__ volatile("");
    }
    return next;
}

/* A stretch of messages, back to back. */
struct arrivals_part {
    const unsigned char *at, *end;
};

struct arrivals {
    uint32_t nodes;
    bool ring;
    size_t behind; /* bytes that follow each message in the list */

    struct arrivals_part *parts;
    uint32_t part_count, part_room;
    uint32_t shift;   /* bits of the word in a place */
    uint32_t *places; /* of the messages, in their order but for that of the senders: see arrivals_group() */
    size_t count;     /* messages */
    size_t place_room;
    bool by_sender; /* the messages of each group are in order */

    /* For ticks with many messages, by receiver: where its messages begin, and after that where its next one goes. */
    uint32_t *starts;
    bool steady; /* the last two of these ticks had as many messages to each receiver */

    uint64_t *numbers, *exchanged; /* what is being sorted */
    size_t number_room;
};

void arrivals_init(struct arrivals *arrivals, uint32_t nodes, bool ring, size_t behind);
void arrivals_free(struct arrivals *arrivals);

/* Puts messages in order, except those that were struck out (to CV_NOBODY): those of a tick, or these. */
int arrivals_make_tick(struct arrivals *arrivals, struct calendar *calendar);
int arrivals_make(struct arrivals *arrivals, struct arrivals_part part);

/*
 * Puts the messages and rows (see sim/rows.h) of a tick in the order of their senders, those of one sender as it sent
 * them. So each receiver hears of them in order.
 */
int arrivals_make_rows(struct arrivals *arrivals, struct calendar *calendar);

static inline const struct cv_message *arrivals_message(const struct arrivals *arrivals, size_t index)
{
    const uint32_t place = arrivals->places[index], word = place & ((1u << arrivals->shift) - 1);
    return (const void *)(arrivals->parts[place >> arrivals->shift].at + (size_t)word * 8);
}

/* Puts the messages to the receiver of that at `first` in order. The index after the last of them; 0: no memory. */
size_t arrivals_group(struct arrivals *arrivals, size_t first);

/* Sorts records by the lower `width` bits of their upper halves; equal ones stay as they are. */
void arrivals_sort(uint64_t *numbers, uint64_t *exchanged, size_t count, uint32_t width);

#endif
