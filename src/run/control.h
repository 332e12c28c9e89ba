// SPDX-License-Identifier: MIT
/* What the experiment tells the process of a node, and what that answers, over a socket of their own. */
#ifndef CONCLAVE_RUN_CONTROL_H
#define CONCLAVE_RUN_CONTROL_H

#include <stdint.h>

#include "core/scenario/scenario.h"

enum control_type {
    CONTROL_START,   /* take the first steps */
    CONTROL_BEGIN,   /* all processes have taken them: receive */
    CONTROL_GONE,    /* the process of slot `index` has ended */
    CONTROL_REPORT,  /* the detector's report: the part of the network of each node follows */
    CONTROL_SUSPECT, /* the detector errs: node `index` is gone */
    CONTROL_STOP,    /* the view ends: say what you hold */
    CONTROL_VIEW,    /* another view begins: a view_order follows */
    CONTROL_END,     /* the run is over */
    CONTROL_HOLDS    /* the answer to CONTROL_STOP: `index` holds follow */
};

struct control {
    uint32_t type; /* enum control_type */
    uint32_t index;
};

/* The network between the processes. */
struct run_network {
    uint64_t key;          /* a number of this experiment, in the addresses of its sockets */
    struct cv_delay delay; /* what senders add */
    bool delayed;
};

#endif
