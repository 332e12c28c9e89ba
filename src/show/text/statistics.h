// SPDX-License-Identifier: MIT
/* What many runs have in common: mean, spread, and how sure we can be of the mean. */
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
    uint64_t count, least, median, most;
    double mean, deviation;
    double low, high; /* the mean lies between them with 95 % confidence (Student's t) */
};

struct cv_survey {
    const struct cv_algorithm *algorithm;
    uint32_t nodes;
    uint64_t seed, runs, verdicts[3];
    struct cv_sample messages, time, decided;
    uint64_t worst_seed, worst_messages;
    enum cv_verdict worst_verdict;
    char worst_reason[320];
    const char *worst_command;
    bool timed;
    double seconds;
};

void cv_survey_text(FILE *out, struct cv_survey *survey);
void cv_survey_json(FILE *out, struct cv_survey *survey);

#endif
