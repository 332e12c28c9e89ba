// SPDX-License-Identifier: MIT
/* Statistics of many runs: mean, spread, and a confidence interval of the mean. */
#ifndef CONCLAVE_SHOW_TEXT_STATISTICS_H
#define CONCLAVE_SHOW_TEXT_STATISTICS_H

#include <stdint.h>
#include <stdio.h>

#include "property/property.h"

struct cv_sample {
    uint64_t *values;
    uint64_t count, capacity;
};

/* 0 or CV_ENOMEM. */
int cv_sample_add(struct cv_sample *sample, uint64_t value);
void cv_sample_free(struct cv_sample *sample);

struct cv_summary {
    uint64_t count;
    uint64_t least;
    uint64_t median;
    uint64_t most;
    double mean;
    double deviation;
    double low;  /* the mean is at least this, with 95 % confidence (Student's t) ... */
    double high; /* ... and at most this */
};

struct cv_survey {
    const struct cv_algorithm *algorithm;
    uint32_t nodes;
    uint64_t seed; /* the first */
    uint64_t runs;
    uint64_t verdicts[3]; /* how many runs had each */
    struct cv_sample messages;
    struct cv_sample time;
    struct cv_sample decided;
    uint64_t worst_seed;
    uint64_t worst_messages;
    enum cv_verdict worst_verdict;
    char worst_reason[800];
    const char *worst_command;
    bool timed;
    double seconds;
};

void cv_survey_text(FILE *out, struct cv_survey *survey);
void cv_survey_json(FILE *out, struct cv_survey *survey);

#endif
