// SPDX-License-Identifier: MIT
/* The events of a run. A runtime tells them to observers: traces, diagrams, transcripts. */
#ifndef CONCLAVE_CORE_EVENT_H
#define CONCLAVE_CORE_EVENT_H

#include <conclave/algorithm.h>

/* X(constant, name in traces) */
#define CV_EVENTS(X)                                                                                                   \
    X(CV_EVENT_START, "start")     /* the node is told to call the election */                                         \
    X(CV_EVENT_SEND, "send")       /* to `peer` */                                                                     \
    X(CV_EVENT_RECEIVE, "receive") /* from `peer` */                                                                   \
    X(CV_EVENT_LOST, "lost")       /* the message did not reach `node`: it is down, or cut off from `peer` */          \
    X(CV_EVENT_TIMEOUT, "timeout") /* `detail` is the timer */                                                         \
    X(CV_EVENT_CRASH, "crash")                                                                                         \
    X(CV_EVENT_RECOVER, "recover")                                                                                     \
    X(CV_EVENT_SUSPECT, "suspect") /* the detector tells the node that `peer` is gone */                               \
    X(CV_EVENT_TRUST, "trust")     /* the detector tells the node that `peer` is back */                               \
    X(CV_EVENT_CALL, "call")       /* the node begins an election of its own */                                        \
    X(CV_EVENT_YIELD, "yield")     /* the node gives up its own election */                                            \
    X(CV_EVENT_ELECTED, "elected") /* `detail` is the leader's id */                                                   \
    X(CV_EVENT_FORGET, "forget")   /* the node knows no leader any more */                                             \
    X(CV_EVENT_REQUEST, "request") /* the node wants to enter; `text` is "again" for a repetition in a new view */     \
    X(CV_EVENT_LEAVE, "leave")     /* the node leaves the critical section */                                          \
    X(CV_EVENT_VIEW, "view")       /* view `detail` begins; node is CV_NOBODY, `peer` coordinates */                   \
    X(CV_EVENT_ENTER, "enter")     /* `detail` is the fence */                                                         \
    X(CV_EVENT_PULSE, "pulse")     /* round `detail` begins; after the last round: one more */                         \
    X(CV_EVENT_RESULT, "result")   /* the node has the new result `detail`, learnt from `peer` or by itself */         \
    X(CV_EVENT_NOTE, "note")       /* a remark of the algorithm, in `text` */                                          \
    X(CV_EVENT_CUT, "cut")         /* a partition begins; node and peer are CV_NOBODY */                               \
    X(CV_EVENT_HEAL, "heal")       /* a partition ends */

enum cv_event_type {
#define X(constant, name) constant,
    CV_EVENTS(X)
#undef X
};

/*
 * One event. Sends that follow each other on one node with the same clock are one multicast: one event of that
 * node, told message by message.
 */
struct cv_event {
    enum cv_event_type type;
    cv_node node; /* the node at which it happens */
    cv_node peer; /* the other end, or CV_NOBODY */
    uint64_t time;
    uint64_t clock;   /* the node's Lamport clock after the event */
    uint64_t message; /* a number of its own for each message, from 1; 0 where there is none */
    uint64_t detail;
    uint32_t name;                    /* the critical section, if there are several */
    const struct cv_message *content; /* of a send, receive or loss; valid during the call only */
    const char *text;
};

/* The state of a node: before the run, and after each of its steps. Valid during the call only. */
struct cv_snapshot {
    cv_node node;
    uint32_t name; /* of which critical section, where there are several */
    uint64_t time;
    uint64_t clock;               /* the node's Lamport clock */
    const struct cv_group *group; /* as the node knows it: core/scenario/fields.h reads the state by it */
    const void *state;
};

struct cv_observer {
    void (*event)(void *context, const struct cv_event *event);
    void *context;
    void (*state)(void *context, const struct cv_snapshot *snapshot); /* or NULL */
};

const char *cv_event_name(enum cv_event_type type);

/* The event of that name; false if there is none. */
bool cv_event_find(const char *name, enum cv_event_type *type);

#endif
