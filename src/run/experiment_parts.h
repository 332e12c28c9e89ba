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
    int file;     /* what it recorded */
    int listener; /* in a place: where it will listen; -1: nowhere yet */
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
    uint64_t floor;                                                /* nanoseconds: see experiment_ns() */
    struct machines *machines;                                     /* the machines; NULL: this one alone */
    bool network_ready;                                            /* … they can be asked what is open */
    struct agent *agent;                                           /* this is a place of an experiment elsewhere */
    void (*died)(struct cv_experiment *experiment, uint32_t slot); /* a process has died as planned */
};

/* ---- experiment.c ---- */

/* Makes the parts that an experiment and a place need. 0, CV_ENOMEM, or CV_EINPUT and a complaint; free it anyway. */
int experiment_prepare(struct cv_experiment **experiment, const struct cv_scenario *scenario,
                       const struct cv_experiment_options *options, struct cv_complaint *complaint);

/* ---- children.c ---- */

/* Starts the process of a slot, whose node is set. 0, CV_ENOMEM, or CV_EINPUT and a complaint. */
int child_start(struct cv_experiment *experiment, uint32_t slot, bool returned);
/* It has begun, and is not about to die as planned. */
bool child_lives(const struct cv_experiment *experiment, uint32_t slot);
void child_tell(struct cv_experiment *experiment, uint32_t slot, enum control_type type, uint32_t index,
                const void *content, size_t bytes);
/* Gives an order to a process on this machine. */
void child_order(struct cv_experiment *experiment, uint32_t slot, const struct control *control, const void *content,
                 size_t bytes);
void child_signal(struct cv_experiment *experiment, uint32_t slot, int number);
/* It has ended. */
void child_forget(struct cv_experiment *experiment, uint32_t slot);
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
/* What a node holds, which was told to stop. 0 or CV_ENOMEM. */
int experiment_views_answer(struct cv_experiment *experiment, uint32_t slot, const struct view_hold *holds,
                            uint32_t count);
/* Goes on with a change: reads answers, and begins the view when all have come. */
int experiment_views_act(struct cv_experiment *experiment);

/* ---- machines.c: the same, where the processes are on other machines ---- */

/* Greets the places and sets them up. 0, CV_ENOMEM, or CV_EINPUT and a complaint that names one. */
int machines_make(struct cv_experiment *experiment);
void machines_free(struct cv_experiment *experiment);
/* Tells them when the run begins. */
void machines_set_clock(struct cv_experiment *experiment);
/* These nodes begin, each in its slot. */
void machines_announce(struct cv_experiment *experiment);
void machines_start(struct cv_experiment *experiment, uint32_t slot, bool returned);
void machines_order(struct cv_experiment *experiment, uint32_t slot, const struct control *control, const void *content,
                    size_t bytes);
void machines_kill(struct cv_experiment *experiment, uint32_t slot);
void machines_signal(struct cv_experiment *experiment, uint32_t slot, int number);
/* Hears what they have to say, for at most so long. CV_EINPUT and a complaint if something failed. */
int machines_hear(struct cv_experiment *experiment, int timeout_ms);
/* Ends all processes and takes what they recorded. */
int machines_finish(struct cv_experiment *experiment);
/* Is nothing open? Are all requests over? */
bool machines_quiet(const struct cv_experiment *experiment);
bool machines_clients_done(const struct cv_experiment *experiment);

/* When what the experiment does now happens, in nanoseconds: not before what it follows from on another machine. */
uint64_t experiment_ns(const struct cv_experiment *experiment);
void experiment_comes_after(struct cv_experiment *experiment, uint64_t ns);
/* Times of the experiment, in milliseconds. */
uint64_t experiment_ms(const struct cv_experiment *experiment);

#endif
