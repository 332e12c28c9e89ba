// SPDX-License-Identifier: MIT
/*
 * A failure detector, as a function of when something was heard. It allows a peer as much silence as its heartbeats'
 * rhythm suggests, the mean interval and four times its deviation (as TCP does for acknowledgements, Jacobson 1988),
 * but never less than `least` nor more than `most`. Each mistake makes it more patient with that peer, so that mistakes
 * end once the network's delays have a bound, whatever it is.
 *
 * `cv_detector_level` is an accrual: 0 when just heard, 1 when the peer is suspected.
 */
#ifndef CONCLAVE_CORE_DETECTOR_H
#define CONCLAVE_CORE_DETECTOR_H

#include <stdbool.h>
#include <stdint.h>

struct cv_detector {
    uint64_t least_us, most_us;
    uint64_t last_us; /* when something was last heard */
    double mean, deviation;
    uint64_t suspected_at;          /* 0: not suspected */
    uint64_t mistakes, mistaken_us; /* suspicions of a peer that was alive, and how long they lasted */
    uint64_t suspicions;
    bool begun;
};

void cv_detector_init(struct cv_detector *detector, uint64_t least_us, uint64_t most_us);

/* A heartbeat. */
void cv_detector_heard(struct cv_detector *detector, uint64_t now_us);
/* Silence until when is not yet suspicious? */
uint64_t cv_detector_deadline(const struct cv_detector *detector);
double cv_detector_level(const struct cv_detector *detector, uint64_t now_us);

/* The runtime has decided so: the deadline has passed, or the connection is gone and nobody answers. */
void cv_detector_suspect(struct cv_detector *detector, uint64_t now_us);
/* It is back: the same process, so the suspicion was a mistake, or another. */
void cv_detector_trust(struct cv_detector *detector, uint64_t now_us, bool same);

#endif
