// SPDX-License-Identifier: MIT
/* A run as a list of decisions: which of the possible events happens next. */
#ifndef CONCLAVE_CHECK_SETTING_DECISION_H
#define CONCLAVE_CHECK_SETTING_DECISION_H

#include "core/scenario/scenario.h"

/* X(constant, name in files) */
#define CV_DECISIONS(X)                                                                                                \
    X(CV_DECIDE_START, "start")     /* `node` calls the election */                                                    \
    X(CV_DECIDE_REQUEST, "request") /* `node` requests to enter */                                                     \
    X(CV_DECIDE_LEAVE, "leave")     /* `node` leaves the critical section */                                           \
    X(CV_DECIDE_DELIVER, "deliver") /* message `which` of those from `peer` to `node` arrives */                       \
    X(CV_DECIDE_TIMEOUT, "timeout") /* timer `which` of `node` fires */                                                \
    X(CV_DECIDE_TELL, "tell")       /* the detector tells `node` that `peer` is dead or cut off */                     \
    X(CV_DECIDE_SUSPECT, "suspect") /* `node` suspects `peer`, which is alive */                                       \
    X(CV_DECIDE_CRASH, "crash")     /* `node` crashes between two steps */                                             \
    X(CV_DECIDE_MISS, "miss")       /* `node` crashes, and the detector need not report it */                          \
    X(CV_DECIDE_RECOVER, "recover") /* `node` recovers with a fresh state */                                           \
    X(CV_DECIDE_TRUST, "trust")     /* the detector tells `node` that `peer` is back */                                \
    X(CV_DECIDE_CUT, "cut")         /* the link between `node` and `peer` is cut */                                    \
    X(CV_DECIDE_HEAL, "heal")       /* the link works again */

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
    cv_node peer; /* CV_NOBODY: none */
    uint32_t which;
    uint32_t sent; /* the node crashes after it has sent this many messages; CV_WHOLE: it does not crash */
    bool missed;   /* the detector need not report that crash */
    uint32_t choice_count;
    uint32_t choices[CV_MOST_CHOICES]; /* what cv_choose() returned, in this order */
};

struct cv_trail {
    struct cv_decision *decisions;
    uint64_t count;
    uint64_t loop; /* the decisions from here on repeat for ever; CV_NEVER: the run ends */
};

#endif
