// SPDX-License-Identifier: MIT
/*
 * Where a node may tell everybody and every message takes one tick, a calendar has rows among its messages: see struct
 * cv_row. Each is the body of a message to CV_NOBODY. Its messages are handled without ever being written down, and
 * those for other workers travel as rows as well.
 */
#ifndef CONCLAVE_SIM_ROWS_H
#define CONCLAVE_SIM_ROWS_H

#include "sim/world.h"

/* The row that this message is; NULL: it is none. */
static inline struct cv_row *rows_in(const struct cv_message *message)
{
    return message->to == CV_NOBODY ? (struct cv_row *)(uintptr_t)message->body : NULL;
}

/* The message at hand, and the next one: the row is changed to begin with it. */
static inline struct cv_message *rows_message(struct cv_row *row)
{
    return (void *)(row + 1);
}

static inline void rows_next(struct cv_row *row)
{
    struct cv_message *message = rows_message(row);
    row->further--;
    message->to++;
    message->clock = (message->clock + row->ticks) & CV_CLOCK_MASK;
}

/* Puts a row into the calendar: as it is, or its messages one by one. */
void rows_put(struct cv_sim *sim, const struct cv_row *row, uint64_t due);
void rows_write_out(struct cv_sim *sim, const struct cv_row *row, uint64_t due);

/*
 * The senders of this tick's messages do not come in order. Is it better to handle them in the order of their senders,
 * and a row as it is? Otherwise, one receiver after the other, whose state is then in the cache for all that it hears.
 */
bool rows_prevail(struct cv_sim *sim);

/* Writes out the rows of this tick. */
void rows_write_out_tick(struct cv_sim *sim);

/*
 * Takes those of a step's messages out of the next tick's list that belong to other workers, a row at a time. Returns
 * the end of the others.
 */
unsigned char *rows_divert(struct cv_sim *sim, unsigned char *begin, const unsigned char *end);

#endif
