// SPDX-License-Identifier: MIT
/*
 * Makes one run of what all processes recorded: puts the steps in order, tells them to the observer, and keeps what the
 * judges ask for. Times of the run are milliseconds.
 */
#ifndef CONCLAVE_RUN_ACCOUNT_H
#define CONCLAVE_RUN_ACCOUNT_H

#include "core/event.h"
#include "property/run.h"
#include "run/step_log.h"

struct account_source {
    const unsigned char *bytes;
    size_t size;
    cv_node node; /* CV_NOBODY: the experiment itself, which records faults */
};

struct account {
    struct cv_run run;
    struct account_parts *parts;
};

/*
 * Source i is slot i; the experiment is the last. `to_last_exit`: what comes after the last exit is not part of the
 * run. 0 or CV_ENOMEM; to be freed in both cases. The sources must outlive the account.
 */
int account_make(struct account *account, const struct cv_scenario *scenario, const struct account_source *sources,
                 uint32_t count, const struct cv_observer *observer, bool to_last_exit);
void account_free(struct account *account);

#endif
