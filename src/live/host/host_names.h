// SPDX-License-Identifier: MIT
/* The names, and their instances. */
#ifndef CONCLAVE_LIVE_HOST_HOST_NAMES_H
#define CONCLAVE_LIVE_HOST_HOST_NAMES_H

#include "live/host/host.h"

/*
 * Sets up a zeroed host. The caller has set `calls`, `alarms`, `roster`, `policies`, `tick_us` and `most` before.
 */
int cv_host_init(struct cv_algorithm_host *host, uint64_t bound_ticks, uint64_t seed);
/* Sets another bound of a message's delay. */
void cv_host_bound(struct cv_algorithm_host *host, uint64_t bound_ticks);
void cv_host_free(struct cv_algorithm_host *host);
/* The roster has changed. Critical sections begin anew with the next view, elections with the next term. */
void cv_host_resize(struct cv_algorithm_host *host);
struct cv_instance *cv_host_find(const struct cv_algorithm_host *host, enum cv_subject subject, struct cv_text name);
/* Finds an instance, or begins it. NULL if there are too many, or no memory. */
struct cv_instance *cv_host_open(struct cv_algorithm_host *host, enum cv_subject subject, struct cv_text name);
/* Removes an instance from the table. cv_host_free_ended() frees it. */
void cv_host_end(struct cv_algorithm_host *host, struct cv_instance *instance);
/* Frees at most so many ended instances. True if there are more. */
bool cv_host_free_ended(struct cv_algorithm_host *host, uint32_t most);
/* The policy for a name, or policy_count if it has none, as not every leader is elected. */
uint32_t cv_host_policy(const struct cv_algorithm_host *host, enum cv_subject subject, const char *name);
/* host_names.c */
void cv_host_expect_crowd(struct cv_algorithm_host *host);

#endif
