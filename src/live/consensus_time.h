// SPDX-License-Identifier: MIT
/*
 * What time does to a member. While something is under way, a view or a lease that is missing, the member looks every
 * few milliseconds. While nothing is, it looks with every heartbeat, so that it wakes up once for both, and when the
 * log's election would be due.
 */
#ifndef CONCLAVE_LIVE_CONSENSUS_TIME_H
#define CONCLAVE_LIVE_CONSENSUS_TIME_H

struct consensus;

void consensus_begin_time(struct consensus *consensus);
/* Looks at all that depends on the clock; also with every heartbeat. */
void consensus_pass_time(struct consensus *consensus);

#endif
