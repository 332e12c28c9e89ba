// SPDX-License-Identifier: MIT
/*
 * Clients that wait and speak RESP3 are told their place in the queue of their node, 1 for the next one. Thousands may
 * wait while a name changes hands every millisecond, so they are told at most every TOLD_EACH_US, and one that is far
 * from its turn only if it has come a tenth nearer.
 */
#ifndef CONCLAVE_SERVICE_POSITION_H
#define CONCLAVE_SERVICE_POSITION_H

#include "service/lock.h"

/* Clients wait for the lock, and their places have changed. */
void position_changed(struct lock *lock);
/* The lock is gone. */
void position_forget(struct lock *lock);
/* Tells the clients, some of them now and the others later. */
void position_tell(struct cv_alarm *alarm);

#endif
