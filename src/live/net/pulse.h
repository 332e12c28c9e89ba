// SPDX-License-Identifier: MIT
/*
 * A beat of the node's own loop, four times a second. If it is late, the loop was stuck or starved. With it goes the
 * sign of life that the service manager waits for: a loop that hangs gives none.
 */
#ifndef CONCLAVE_LIVE_NET_PULSE_H
#define CONCLAVE_LIVE_NET_PULSE_H

#include "live/net/loop.h"

struct cv_pulse {
    struct cv_loop *loop;
    struct cv_alarm alarm;
    void (*beat)(void *context); /* with each of them; may be NULL */
    void *context;
    uint64_t alive_us;   /* a sign of life is due so often; 0: never */
    uint64_t next_us;    /* when the next sign of life is due */
    uint64_t minute_us;  /* when this minute began */
    uint64_t late_us[2]; /* the worst of this minute and of the last */
    uint64_t stalls;     /* beats that were later than a quarter of a second */
};

/* The zeroed pulse's `beat` and `context` are set before. 0 or CV_ENOMEM. */
int cv_pulse_begin(struct cv_pulse *pulse, struct cv_loop *loop);
/* The worst lateness of a minute or two. */
uint64_t cv_pulse_late_us(const struct cv_pulse *pulse);

#endif
