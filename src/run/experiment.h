// SPDX-License-Identifier: MIT
/*
 * An experiment: a scenario between real processes on this machine, one for each node. They talk over Unix sockets; the
 * times of the scenario are milliseconds. The process that runs the experiment starts and ends them, kills them where
 * the scenario has a crash, plays the failure detector, sees when the run is over, and makes one run of what all of
 * them recorded.
 */
#ifndef CONCLAVE_RUN_EXPERIMENT_H
#define CONCLAVE_RUN_EXPERIMENT_H

#include <signal.h>

#include "core/error.h"
#include "core/event.h"
#include "property/run.h"

#define CV_MOST_PROCESSES 512u
#define CV_MOST_NAMES_IN_VIEWS 8192u /* one order tells which node is in which of them */

/* The process of a node stands still: it gets SIGSTOP at `begin` and SIGCONT at `end`. No node is told. */
struct cv_pause {
    cv_node node;
    uint64_t begin, end; /* milliseconds */
};

/* A machine of an experiment, and the connection to the conclave that serves there. */
struct cv_place {
    const char *name;    /* in complaints */
    const char *address; /* by which the others reach it; NULL: to be found out */
    uint32_t share;      /* how many nodes it gets in a row, when they are dealt */
    int file;            /* a socket, in both directions */
    int errors;          /* its standard error, or -1 */
};

struct cv_place_command;

struct cv_experiment_options {
    struct cv_observer observer;        /* is told after the run, in an order that could have been */
    volatile sig_atomic_t *interrupted; /* set by a signal handler: end now, with what is known */
    struct cv_delay delay;              /* what senders add to every message, if `delayed` */
    bool delayed;
    const struct cv_pause *pauses;
    uint32_t pause_count;
    const struct cv_place *places; /* where the processes run; NULL: here */
    uint32_t place_count;
    const struct cv_place_command *command; /* by which places make the scenario */
};

struct cv_experiment;

/*
 * Runs it. The result stays valid until cv_experiment_free(), which is to be called in any case. 0, CV_ENOMEM, or
 * CV_EINPUT and a complaint: a process failed, or could not be started. No process is left behind.
 */
int cv_experiment_run(struct cv_experiment **experiment, const struct cv_scenario *scenario,
                      const struct cv_experiment_options *options, struct cv_run *run, struct cv_complaint *complaint);
void cv_experiment_free(struct cv_experiment *experiment);

#endif
