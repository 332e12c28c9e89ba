// SPDX-License-Identifier: MIT
/* Semaphores: all clients of a name have to count with the same number of permits. service/sharing.h lends them. */
#ifndef CONCLAVE_SERVICE_PERMITS_H
#define CONCLAVE_SERVICE_PERMITS_H

#include <stdbool.h>
#include <stdint.h>

struct lock;
struct waiter;

/* Tells a client that others count with so many. */
void permits_refuse(struct waiter *wait, uint64_t permits);
/* Does it count with other permits than those that hold the name here, or wait here? Then it is refused. */
bool permits_differ(const struct lock *lock, struct waiter *wait);

#endif
