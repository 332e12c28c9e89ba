// SPDX-License-Identifier: MIT
/* The experiment, shared by the files that run it. */
#ifndef CONCLAVE_RUN_EXPERIMENT_PARTS_H
#define CONCLAVE_RUN_EXPERIMENT_PARTS_H

#include <sys/types.h>

#include "run/account.h"
#include "run/board.h"
#include "run/control.h"
#include "run/experiment.h"
#include "run/run_view.h"
#include "run/step_log.h"

/* What is planned. Of things at the same time, those that come first in this list happen first. */
enum planned_type {
    PLANNED_CRASH,
    PLANNED_CUT,
    PLANNED_HEAL,
    PLANNED_RECOVER,
    PLANNED_DETECT,
    PLANNED_SUSPECT,
    PLANNED_PAUSE,
    PLANNED_RESUME
};

struct agenda_entry {
    uint64_t ms;
    enum planned_type type;
    uint32_t index;  /* in the scenario's list */
    uint32_t *parts; /* PLANNED_DETECT: by node, its part of the network when the fault happened */
};

/* A process, by slot. */
struct child {
    pid_t pid; /* 0: it has not begun, or it has ended */
    int control;
    int file; /* what it recorded */
    bool paused;
};

/* The views of mutual exclusion, and the change from one to the next. */
struct experiment_views {
    struct run_view view;
    bool changing;
    bool *told, *answered; /* by slot, in the present change */
    struct view_hold *holds;
    uint32_t hold_count, hold_room;
};

struct cv_experiment {
    const struct cv_scenario *scenario;
    struct cv_experiment_options options;
    struct cv_complaint *complaint;
    struct run_network network;
    struct board *board;
    struct child *children;
    struct agenda_entry *agenda;
    size_t agenda_count, agenda_room;
    struct experiment_views views;
    struct step_log log; /* of one fault */
    int faults;          /* the file of all faults */
    uint32_t *part;      /* by node: its part of the network at the end; NULL: it cannot fall apart */
    struct account_source *sources;
    struct account account;
};

/* ---- children.c ---- */

/* Starts the process of a slot, whose node is set. 0, CV_ENOMEM, or CV_EINPUT and a complaint. */
int child_start(struct cv_experiment *experiment, uint32_t slot, bool returned);
/* It has begun, and is not about to die as planned. */
bool child_lives(const struct cv_experiment *experiment, uint32_t slot);
void child_tell(struct cv_experiment *experiment, uint32_t slot, enum control_type type, uint32_t index,
                const void *content, size_t bytes);
/* Kills it and waits until it has ended. */
void child_kill(struct cv_experiment *experiment, uint32_t slot);
/* Takes note of processes that have ended. CV_EINPUT and a complaint if one was not meant to. */
int children_reap(struct cv_experiment *experiment);
/* Ends them all. */
int children_end(struct cv_experiment *experiment);

/* ---- agenda.c ---- */

/* Plans the scenario's faults; those of time 0 happen at once. */
int agenda_make(struct cv_experiment *experiment);
/* What is due happens. */
int agenda_act(struct cv_experiment *experiment);
/* The process of a slot has ended: tells the others, now and after the detector's delay. */
void agenda_died(struct cv_experiment *experiment, uint32_t slot);
void agenda_parts(const struct cv_experiment *experiment, uint32_t *parts);
void agenda_free(struct cv_experiment *experiment);

/* ---- experiment_views.c ---- */

int experiment_views_make(struct cv_experiment *experiment);
void experiment_views_free(struct cv_experiment *experiment);
/* A node died or came back, and the detector has said so: all members stop, then another view begins. */
void experiment_views_change(struct cv_experiment *experiment);
/* Goes on with a change: reads answers, and begins the view when all have come. */
int experiment_views_act(struct cv_experiment *experiment);

/* Times of the experiment, in milliseconds. */
uint64_t experiment_ms(const struct cv_experiment *experiment);

#endif
