// SPDX-License-Identifier: MIT
/*
 * The checker: it tries every order of events of a small group, where the simulator plays one.
 *
 * An event is one handler call: a message arrives, a node calls, requests or leaves, a timer fires, the detector
 * reports. Crashes, missed crashes, false suspicions, recoveries and cuts may happen at any point, within budgets.
 */
#ifndef CONCLAVE_CHECK_CHECK_H
#define CONCLAVE_CHECK_CHECK_H

#include "check/setting/decision.h"
#include "check/setting/search_options.h"
#include "property/property.h"

struct cv_check_result {
    struct cv_judgement judgement; /* of everything that was searched; it has no leader and no costs */
    bool complete;                 /* every state was searched */
    const char *stopped;           /* why the search is not complete */
    bool reduced;                  /* orders of events were left out */
    bool cyclic;                   /* some run may never end */
    uint64_t states;
    uint64_t transitions;
    uint64_t ends; /* states in which nothing must happen any more */
    uint32_t depth;
    uint64_t bytes;      /* the most memory held at once */
    uint64_t disk_bytes; /* the most on disk at once */
    int disk_error;      /* errno, if the disk stopped the search */
    double seconds;
    double collision;      /* the chance that two states had the same fingerprint */
    struct cv_trail trail; /* the counterexample; empty: none */
    char promise[160];     /* a promise of the algorithm's table that is broken or cannot be confirmed; or "" */
    bool broken_promise;   /* it is broken */
    bool confirmed;        /* the replay, which is other code, violates the same property */
    struct cv_complaint complaint;
};

/*
 * 0; CV_EINPUT if a node cannot begin or the disk cannot be used, as the complaint says; CV_ENOMEM. Free the result in
 * any case.
 */
int cv_check_run(const struct cv_scenario *scenario, const struct cv_check_options *options,
                 struct cv_check_result *result);
void cv_check_free(struct cv_check_result *result);

#endif
