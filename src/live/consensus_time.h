// SPDX-License-Identifier: MIT
/*
 * The work that a member does as time passes. While a view is under way or a lease is missing, the member looks every
 * few milliseconds. Otherwise it looks with every heartbeat, so that it wakes up once for both, and when the log's
 * election would be due.
 */
#ifndef CONCLAVE_LIVE_CONSENSUS_TIME_H
#define CONCLAVE_LIVE_CONSENSUS_TIME_H

struct consensus;

void consensus_begin_time(struct consensus *consensus);
/* Looks at everything that depends on the clock. Every heartbeat calls it, too. */
void consensus_pass_time(struct consensus *consensus);

#endif
