// SPDX-License-Identifier: MIT
/* The machines of an experiment, shared by the files that deal with them. */
#ifndef CONCLAVE_RUN_MACHINES_H
#define CONCLAVE_RUN_MACHINES_H

#include "run/address.h"
#include "run/experiment_parts.h"
#include "run/place.h"
#include "run/place_wire.h"
#include "run/step_log_texts.h"

struct machine {
    const struct cv_place *place;
    struct place_wire wire;
    char said[160];    /* the last line of its standard error */
    size_t said_bytes; /* of a line that is not complete */
    uint64_t heard;    /* when it last said something, CLOCK_MONOTONIC */
    struct run_endpoint endpoint;
    bool greeted, ready, done;
    bool counted;      /* it has answered the present poll */
    uint64_t asked;    /* PING: when */
    uint64_t quickest; /* the shortest time that an answer took */
    int64_t ahead;     /* how far its clock is ahead of ours, in nanoseconds */
    uint32_t pongs;
    uint64_t *sent_to; /* by slot: messages that its processes have sent */
};

struct machines {
    struct machine *list;
    uint32_t count;
    uint32_t *of_node; /* by node: its machine */
    uint32_t slots;
    struct place_counts *counts;  /* by slot: as the present poll tells */
    struct place_counts *earlier; /* … and the one before it */
    uint32_t polls;               /* answered by all, one after the other, while nothing was ordered */
    uint64_t polled;              /* when the present poll began; 0: none is under way */
    uint64_t last_polled, pinged; /* when */
    int failed;                   /* an error that was complained of */
    bool quiet, clients_done;
    uint16_t *ports;         /* by slot */
    unsigned char **logs;    /* by slot: what it recorded, as the sources show it */
    struct log_texts *texts; /* by slot */
    char **strings;          /* by slot: where its texts stand */
};

/* ---- machines_setup.c ---- */

/* Takes what a machine says before the run. 0, CV_ENOMEM, or CV_EINPUT and a complaint. */
int machines_setup_hear(struct cv_experiment *experiment, struct machine *machine, const struct place_frame *frame,
                        const unsigned char *content);

/* ---- machines.c ---- */

struct machine *machines_of_slot(const struct cv_experiment *experiment, uint32_t slot);
/* A complaint that names the machine. */
__attribute__((format(printf, 3, 4))) int machines_complain(struct cv_experiment *experiment,
                                                            const struct machine *machine, const char *format, ...);

#endif
