// SPDX-License-Identifier: MIT
/* Judges a run by the claims of its algorithm, and its costs by the texts' formulas. */
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
    char detail[704]; /* why, in a few words; or "" */
};

#define CV_MAX_FINDINGS 16u

struct cv_judgement {
    enum cv_verdict verdict;
    char reason[800]; /* why the run did not hold, in one line; "" if it did */
    struct cv_finding findings[CV_MAX_FINDINGS];
    uint32_t finding_count;
    bool has_leader; /* all live nodes know the same leader */
    cv_id leader;
    struct cv_expectation messages;
    struct cv_expectation delay;
    bool messages_hold;    /* the expectation about messages holds */
    bool delay_holds;      /* the expectation about the delay holds */
    uint64_t app_messages; /* synchronizer: messages of the app on a synchronous network */
};

const char *cv_verdict_name(enum cv_verdict verdict);

/* 0, CV_ENOMEM, or CV_EINPUT with a complaint if one of the algorithm's formulas cannot be evaluated. */
int cv_judge(const struct cv_run *run, struct cv_judgement *judgement, struct cv_complaint *complaint);

/* A finding without detail. */
struct cv_finding cv_finding_of(enum cv_property_number property, enum cv_verdict verdict);

/* Adds a finding and returns where its detail goes. */
struct cv_finding *cv_find(struct cv_judgement *judgement, enum cv_property_number property, enum cv_verdict verdict);

/* The verdict if something that must happen has not happened: violated if the run is over, otherwise unfinished. */
enum cv_verdict verdict_if_missing(const struct cv_run *run);

#endif
