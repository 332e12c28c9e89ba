// SPDX-License-Identifier: MIT
#include "sim/heard.h"

#include <stdlib.h>

#include "sim/rows.h"

#define FEW_BYTES ((size_t)1 << 17) /* what fits in the cache need not be fetched */
#define AHEAD 12                    /* a receiver is fetched into the cache so many messages ahead */

/*
 * Notes a message, and those that follow it in a row. `heard` keeps for each node the last sender in this tick. False:
 * a later sender was heard before.
 */
static inline bool hears_in_order(struct cv_sim *sim, const struct cv_message *message, uint32_t further)
{
    const uint64_t stamp = (sim->now + 1) << 32, here = stamp | message->from;
    uint64_t *heard = sim->heard + message->to;
    for (uint32_t i = 0; i <= further; i++) {
        if (heard[i] > here && heard[i] >> 32 == stamp >> 32)
            return false;
        heard[i] = here;
    }
    return true;
}

bool heard_in_order(struct cv_sim *sim)
{
    struct calendar_list *list = &sim->mail.near[sim->now & sim->mail.mask];
    if (!sim->heard && !(sim->heard = calloc(sim->group.nodes, sizeof *sim->heard))) {
        sim->out_of_memory = true;
        return true;
    }
    const bool near = sim->group.nodes <= FEW_BYTES / sizeof *sim->heard;
    size_t usual = 0, ahead_usual = 0;
    for (struct calendar_part part = calendar_look(list); part.at; part = calendar_look_next(list, part)) {
        const unsigned char *at = part.at, *ahead = near ? part.end : part.at;
        for (int i = 0; i < AHEAD && ahead < part.end; i++)
            ahead += cv_message_bytes((const void *)ahead);
        while (at < part.end) {
            const struct cv_message *message = (const void *)at;
            if (ahead < part.end) {
                const struct cv_message *later = (const void *)ahead;
                if (later->to != CV_NOBODY)
                    __builtin_prefetch(&sim->heard[later->to], 1);
                ahead = arrivals_beyond(ahead, cv_message_bytes(later), &ahead_usual);
            }
            at = arrivals_beyond(at, cv_message_bytes(message), &usual);
            const struct cv_row *row = rows_in(message);
            if (!hears_in_order(sim, row ? (const void *)(row + 1) : message, row ? row->further : 0))
                return false;
        }
    }
    return true;
}
