// SPDX-License-Identifier: MIT
/*
 * A failure detector: a function of the times at which a peer was heard. It allows a peer a silence of the mean
 * interval between its heartbeats plus four times the deviation (as TCP does for acknowledgements, Jacobson 1988), but
 * never less than `least` nor more than `most`.
 *
 * A suspicion of a peer that turns out to be alive is one of two things:
 *
 *     an outage   the peer says that it stood still for most of the silence, or no delay of a message explains a
 *                 silence of that length: the suspicion was right, and the detector learns nothing from it
 *     a mistake   the heartbeats were only late: the detector is more patient with that peer, by half each time, twice
 *                 at most; each step is forgotten after 15 s without another mistake
 *
 * So the detector is never slow for long, however many faults there are, and a network whose delays now and then exceed
 * `least` costs a few mistakes a minute at most.
 *
 * `cv_detector_level` is an accrual: 0 when just heard, 1 when the peer is suspected.
 */
#ifndef CONCLAVE_CORE_DETECTOR_H
#define CONCLAVE_CORE_DETECTOR_H

#include <stdbool.h>
#include <stdint.h>

#define CV_DETECTOR_STEPS 2u             /* the most steps of additional patience */
#define CV_DETECTOR_FORGETS_US 15000000u /* the detector forgets a step after that time without a mistake */
#define CV_DETECTOR_OUTAGE 3u            /* a silence of more than that many times the patience is an outage */

struct cv_detector {
    uint64_t least_us, most_us;
    uint64_t last_us; /* when something was last heard */
    double mean, deviation;
    uint64_t suspected_at;          /* 0: not suspected */
    uint64_t mistakes, mistaken_us; /* suspicions of a peer that was only late, and how long they lasted */
    uint64_t outages;               /* suspicions of a peer that was really silent, and came back */
    uint64_t suspicions;
    uint64_t mistaken_at; /* when the last mistake was noticed */
    uint32_t steps;       /* steps of additional patience, at that time */
    bool begun;
};

void cv_detector_init(struct cv_detector *detector, uint64_t least_us, uint64_t most_us);

/* A heartbeat has arrived. */
void cv_detector_heard(struct cv_detector *detector, uint64_t now_us);
/* The end of the silence that is allowed. */
uint64_t cv_detector_deadline(const struct cv_detector *detector);
double cv_detector_level(const struct cv_detector *detector, uint64_t now_us);

/* The runtime suspects the peer: the deadline has passed, or the connection is gone and the peer does not answer. */
void cv_detector_suspect(struct cv_detector *detector, uint64_t now_us);
/* The peer is back: the same process, or another. `hung_us`: how long it stood still lately, as it says itself. */
void cv_detector_trust(struct cv_detector *detector, uint64_t now_us, bool same, uint64_t hung_us);

#endif
