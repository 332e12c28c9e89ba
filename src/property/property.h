// SPDX-License-Identifier: MIT
/* Judges a run by what its algorithm claims, and its costs by the texts' formulas. */
#ifndef CONCLAVE_PROPERTY_PROPERTY_H
#define CONCLAVE_PROPERTY_PROPERTY_H

#include "core/formula/theory.h"
#include "property/properties.h"
#include "property/run.h"

enum cv_verdict { CV_HELD, CV_VIOLATED, CV_UNFINISHED, CV_DISCLAIMED };

struct cv_finding {
    const char *name;
    const char *kind; /* always, eventually or sometimes */
    enum cv_verdict verdict;
    char detail[160]; /* why, in a few words */
};

#define CV_MAX_FINDINGS 16u

struct cv_judgement {
    enum cv_verdict verdict;
    char reason[320]; /* why the run did not hold, in one line; empty if it did */
    struct cv_finding findings[CV_MAX_FINDINGS];
    uint32_t finding_count;
    bool has_leader; /* all live nodes know one, the same */
    cv_id leader;
    struct cv_expectation messages, delay;
    bool messages_hold, delay_holds;
    uint64_t app_messages; /* a synchronizer's app sends so many on a synchronous network */
};

const char *cv_verdict_name(enum cv_verdict verdict);

/* 0, CV_ENOMEM, or CV_EINPUT with a complaint if one of the algorithm's formulas cannot be evaluated. */
int cv_judge(const struct cv_run *run, struct cv_judgement *judgement, struct cv_complaint *complaint);

/* The judges of one problem; they add their findings with cv_find(). */
int cv_judge_election(const struct cv_run *run, struct cv_judgement *judgement);
int cv_judge_mutex(const struct cv_run *run, struct cv_judgement *judgement);
int cv_judge_synchronizer(const struct cv_run *run, struct cv_judgement *judgement);
int cv_judge_paths(const struct cv_run *run, struct cv_judgement *judgement);

/* A finding without detail. */
struct cv_finding cv_finding_of(enum cv_property_number property, enum cv_verdict verdict);

/* Adds a finding and returns where its detail goes. */
struct cv_finding *cv_find(struct cv_judgement *judgement, enum cv_property_number property, enum cv_verdict verdict);

/* The verdict on something that had to happen and has not: violated once nothing can happen any more. */
enum cv_verdict cv_verdict_missing(const struct cv_run *run);

#endif
