// SPDX-License-Identifier: MIT
/* Which handler of an algorithm an event calls: for the checker, its replay and the explorer alike. */
#ifndef CONCLAVE_CHECK_STEP_HANDLERS_H
#define CONCLAVE_CHECK_STEP_HANDLERS_H

#include "check/setting/decision.h"

struct handler_call {
    const struct cv_algorithm *algorithm;
    struct cv_self *me;
    enum cv_decision_type type;
    uint32_t argument;                /* the timer of TIMEOUT; the node of TELL, TRUST and SUSPECT */
    const struct cv_message *message; /* of DELIVER */
    uint32_t kinds;                   /* of messages that the algorithm has; 0: the message is not validated */
    const char *broken;               /* the result: the complaint of the invariant or about the message, or NULL */
    bool refused;                     /* the message was invalid */
};

/* Calls the handler, then the invariant. The context is a struct handler_call, as cv_trap_call() takes it. */
void handler_call(void *context);

/* The messages in the outbox after a step. */
uint32_t handler_sends(const struct cv_self *me);

#endif
