// SPDX-License-Identifier: MIT
#include "core/detector.h"

#include <math.h>

#define PATIENCE_AFTER_MISTAKE 1.5

void cv_detector_init(struct cv_detector *detector, uint64_t least_us, uint64_t most_us)
{
    *detector = (struct cv_detector){.least_us = least_us, .most_us = most_us};
}

void cv_detector_heard(struct cv_detector *detector, uint64_t now_us)
{
    if (detector->begun) {
        const double interval = (double)(now_us - detector->last_us), off = interval - detector->mean;
        detector->mean += off / 8;
        detector->deviation += (fabs(off) - detector->deviation) / 4;
    }
    detector->begun = true;
    detector->last_us = now_us;
}

/* The steps of additional patience that are not forgotten yet. */
static uint32_t steps_left(const struct cv_detector *detector, uint64_t now_us)
{
    const uint64_t peace = now_us > detector->mistaken_at ? now_us - detector->mistaken_at : 0;
    const uint64_t forgotten = peace / CV_DETECTOR_FORGETS_US;
    return detector->steps > forgotten ? detector->steps - (uint32_t)forgotten : 0;
}

static uint64_t patience(const struct cv_detector *detector)
{
    double least = (double)detector->least_us;
    for (uint32_t step = steps_left(detector, detector->last_us); step > 0; step--)
        least *= PATIENCE_AFTER_MISTAKE;
    const double rhythm = detector->mean + 4 * detector->deviation, wanted = rhythm > least ? rhythm : least;
    return wanted >= (double)detector->most_us ? detector->most_us : (uint64_t)wanted;
}

uint64_t cv_detector_deadline(const struct cv_detector *detector)
{
    return detector->last_us + patience(detector);
}

double cv_detector_level(const struct cv_detector *detector, uint64_t now_us)
{
    if (now_us <= detector->last_us)
        return 0;
    return (double)(now_us - detector->last_us) / (double)patience(detector);
}

void cv_detector_suspect(struct cv_detector *detector, uint64_t now_us)
{
    detector->suspected_at = now_us;
    detector->suspicions++;
}

static bool was_outage(const struct cv_detector *detector, uint64_t silence_us, uint64_t hung_us)
{
    return hung_us >= silence_us / 2 || silence_us > CV_DETECTOR_OUTAGE * patience(detector);
}

static void learn_from_mistake(struct cv_detector *detector, uint64_t now_us)
{
    const uint32_t steps = steps_left(detector, now_us);
    detector->steps = steps < CV_DETECTOR_STEPS ? steps + 1 : steps;
    detector->mistaken_at = now_us;
    detector->mistakes++;
    detector->mistaken_us += now_us - detector->suspected_at;
}

void cv_detector_trust(struct cv_detector *detector, uint64_t now_us, bool same, uint64_t hung_us)
{
    if (same && detector->suspected_at) {
        if (was_outage(detector, now_us - detector->last_us, hung_us))
            detector->outages++;
        else
            learn_from_mistake(detector, now_us);
    }
    detector->suspected_at = 0;
    detector->begun = false; /* the silence is no interval between heartbeats */
    detector->last_us = now_us;
}
