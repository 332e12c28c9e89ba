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

static uint64_t patience(const struct cv_detector *detector)
{
    const double wanted = detector->mean + 4 * detector->deviation;
    if (wanted <= (double)detector->least_us)
        return detector->least_us;
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

void cv_detector_trust(struct cv_detector *detector, uint64_t now_us, bool same)
{
    if (same && detector->suspected_at) {
        const double least = (double)detector->least_us * PATIENCE_AFTER_MISTAKE;
        detector->least_us = least < (double)detector->most_us ? (uint64_t)least : detector->most_us;
        detector->mistakes++;
        detector->mistaken_us += now_us - detector->suspected_at;
    }
    detector->suspected_at = 0;
    detector->begun = false; /* the silence was no interval */
    detector->last_us = now_us;
}
