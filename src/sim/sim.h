// SPDX-License-Identifier: MIT
/* The simulator: plays a scenario in virtual time, the same way every time. */
#ifndef CONCLAVE_SIM_SIM_H
#define CONCLAVE_SIM_SIM_H

#include <signal.h>

#include "core/error.h"
#include "core/event.h"
#include "property/run.h"

struct cv_sim;

/* How the caller observes and stops a run; all optional. */
struct cv_sim_options {
    struct cv_observer observer;
    const volatile sig_atomic_t *interrupted; /* set elsewhere: end at the next tick with what is known */
    void (*progress)(void *context, uint64_t now, uint64_t messages);
    void *progress_context;
    struct cv_complaint *complaint; /* gets what is wrong with an algorithm that cannot begin */
};

/* Packets of the reliable channels; the texts do not count them. */
struct cv_transport_counts {
    uint64_t packets, lost, duplicated, retransmitted, acknowledgements;
};

/* 0 or CV_ENOMEM. The scenario must outlive the simulation. */
int cv_sim_new(struct cv_sim **sim, const struct cv_scenario *scenario, const struct cv_sim_options *options);

/*
 * Runs to the end; the result stays valid until cv_sim_free(). 0, CV_ENOMEM, or CV_EINPUT if a handler fails before the
 * first event.
 */
int cv_sim_run(struct cv_sim *sim, struct cv_run *run);

/* Are all messages delivered, in order, and does nothing fail? Then only an observer makes the run careful and slow. */
bool cv_sim_is_plain(const struct cv_scenario *scenario);

void cv_sim_transport(const struct cv_sim *sim, struct cv_transport_counts *counts);
void cv_sim_free(struct cv_sim *sim);

#endif
