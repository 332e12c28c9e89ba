// SPDX-License-Identifier: MIT
/* What the experiment tells the process of a node, and what that answers, over a socket of their own. */
#ifndef CONCLAVE_RUN_CONTROL_H
#define CONCLAVE_RUN_CONTROL_H

#include <stdint.h>
#include <sys/socket.h>

#include "core/scenario/scenario.h"
#include "secure/key.h"

enum control_type {
    CONTROL_START,   /* take the first steps */
    CONTROL_BEGIN,   /* all processes have taken them: receive */
    CONTROL_GONE,    /* the process of slot `index` has ended, after it sent `count` messages here */
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
    uint64_t count;
    uint64_t ns; /* when it was ordered: what follows from it is later */
};

/* Where a process listens for others. */
struct run_endpoint {
    struct sockaddr_storage address;
    socklen_t length;
};

/* The network between the processes. */
struct run_network {
    uint64_t key;          /* a number of this experiment, in the addresses of its sockets */
    struct cv_delay delay; /* what senders add */
    bool delayed;
    struct run_endpoint *endpoints; /* by slot: processes talk over TCP; NULL: over Unix sockets */
    struct cv_key secret;           /* TCP: who does not know it is a stranger */
};

#endif
