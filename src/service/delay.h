// SPDX-License-Identifier: MIT
/*
 * Lock-delay: [lock PATTERN] delay. If a holder is lost and has not released its name, the name is granted to nobody
 * for a while, so that what the holder had begun can end. The node whose client was lost stays inside for that time,
 * and reports it when a view ends. Nobody knows what a lost node held: after its loss every name with a delay waits.
 */
#ifndef CONCLAVE_SERVICE_DELAY_H
#define CONCLAVE_SERVICE_DELAY_H

#include <stdbool.h>

struct lock;

/* A holder was lost just now. */
void delay_begin(struct lock *lock);
/* Must this node stay inside because a holder of its own was lost? */
bool delay_rests(const struct lock *lock);
/* Was a node lost, so that nothing may be granted yet? */
bool delay_holds_off(const struct lock *lock);

#endif
