// SPDX-License-Identifier: MIT
/*
 * A failure detector, as a function of when something was heard. It allows a peer as much silence as its heartbeats'
 * rhythm suggests, the mean interval and four times its deviation (as TCP does for acknowledgements, Jacobson 1988),
 * but never less than `least` nor more than `most`.
 *
 * A suspicion of a peer that turns out to be alive is one of two things:
 *
 *     an outage   the peer says that it stood still for most of the silence, or the silence was so long that no delay
 *                 of a message explains it: the suspicion was right, and teaches nothing
 *     a mistake   the heartbeats were only late: the detector is more patient with that peer, by half each time, twice
 *                 at most; each step is forgotten after 15 s without another mistake
 *
 * So no number of faults makes the detector slow for long, and a network whose delays now and then exceed `least` costs
 * a few mistakes a minute at most.
 *
 * `cv_detector_level` is an accrual: 0 when just heard, 1 when the peer is suspected.
 */
#ifndef CONCLAVE_CORE_DETECTOR_H
#define CONCLAVE_CORE_DETECTOR_H

#include <stdbool.h>
#include <stdint.h>

#define CV_DETECTOR_STEPS 2u             /* of additional patience, at most */
#define CV_DETECTOR_FORGETS_US 15000000u /* one of them after so long without a mistake */
#define CV_DETECTOR_OUTAGE 3u            /* a silence of more than so many times the patience is no late heartbeat */

struct cv_detector {
    uint64_t least_us, most_us;
    uint64_t last_us; /* when something was last heard */
    double mean, deviation;
    uint64_t suspected_at;          /* 0: not suspected */
    uint64_t mistakes, mistaken_us; /* suspicions of a peer that was only late, and how long they lasted */
    uint64_t outages;               /* suspicions of a peer that was really silent, and came back */
    uint64_t suspicions;
    uint64_t mistaken_at; /* when the last mistake was noticed */
    uint32_t steps;       /* of additional patience, at that time */
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
/* It is back: the same process, or another. `hung_us`: how long it stood still of late, as it says itself. */
void cv_detector_trust(struct cv_detector *detector, uint64_t now_us, bool same, uint64_t hung_us);

#endif
