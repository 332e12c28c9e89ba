// SPDX-License-Identifier: MIT
/* A run as the decisions that make it: what happens next, whenever several things could. */
#ifndef CONCLAVE_CHECK_DECISION_H
#define CONCLAVE_CHECK_DECISION_H

#include "core/scenario/scenario.h"

/* X(constant, name in files) */
#define CV_DECISIONS(X)                                                                                                \
    X(CV_DECIDE_START, "start")     /* `node` calls the election */                                                    \
    X(CV_DECIDE_REQUEST, "request") /* `node` wants to enter */                                                        \
    X(CV_DECIDE_LEAVE, "leave")     /* `node` leaves */                                                                \
    X(CV_DECIDE_DELIVER, "deliver") /* to `node` from `peer`: the message `which` of those on that way */              \
    X(CV_DECIDE_TIMEOUT, "timeout") /* the timer `which` of `node` */                                                  \
    X(CV_DECIDE_TELL, "tell")       /* `node` is told that `peer` is dead or cut off */                                \
    X(CV_DECIDE_SUSPECT, "suspect") /* `node` holds `peer` for dead, which is alive */                                 \
    X(CV_DECIDE_CRASH, "crash")     /* `node` dies, between two steps */                                               \
    X(CV_DECIDE_MISS, "miss")       /* `node` dies, and nobody need be told */                                         \
    X(CV_DECIDE_RECOVER, "recover") /* `node` comes back, with a fresh state */                                        \
    X(CV_DECIDE_TRUST, "trust")     /* `node` is told that `peer` is back */                                           \
    X(CV_DECIDE_CUT, "cut")         /* the link between `node` and `peer` is cut */                                    \
    X(CV_DECIDE_HEAL, "heal")       /* it works again */

enum cv_decision_type {
#define X(constant, name) constant,
    CV_DECISIONS(X)
#undef X
};

#define CV_MOST_CHOICES 6u
#define CV_WHOLE UINT32_MAX

struct cv_decision {
    enum cv_decision_type type;
    cv_node node;
    cv_node peer; /* CV_NOBODY where there is none */
    uint32_t which;
    uint32_t sent; /* the step is cut short: its node dies when it has sent so many; CV_WHOLE: it is not */
    bool missed;   /* and nobody need be told */
    uint32_t choice_count;
    uint32_t choices[CV_MOST_CHOICES]; /* what cv_choose() gave, in turn */
};

/* From `loop` on the run repeats for ever; CV_NEVER: it does not. */
struct cv_trail {
    struct cv_decision *decisions;
    uint64_t count, loop;
};

#endif
