// SPDX-License-Identifier: MIT
/* The names, and their instances. */
#ifndef CONCLAVE_LIVE_HOST_HOST_NAMES_H
#define CONCLAVE_LIVE_HOST_HOST_NAMES_H

#include "live/host/host.h"

/*
 * Everything but the zeroed host's `calls`, `alarms`, `roster`, `policies`, `tick_us` and `most`, which are set before.
 */
int cv_host_init(struct cv_algorithm_host *host, uint64_t bound_ticks, uint64_t seed);
/* Another bound of a message's time counts from now on. */
void cv_host_bound(struct cv_algorithm_host *host, uint64_t bound_ticks);
void cv_host_free(struct cv_algorithm_host *host);
/* The roster has changed. Everything begins anew then: sections with the next view, elections with the next term. */
void cv_host_resize(struct cv_algorithm_host *host);
struct cv_instance *cv_host_find(const struct cv_algorithm_host *host, enum cv_subject subject, struct cv_text name);
/* Finds it, or begins it; NULL if there are too many or no memory. */
struct cv_instance *cv_host_open(struct cv_algorithm_host *host, enum cv_subject subject, struct cv_text name);
/* It is not found any more; cv_host_free_ended() frees it. */
void cv_host_end(struct cv_algorithm_host *host, struct cv_instance *instance);
/* Frees so many at most; are there more? */
bool cv_host_free_ended(struct cv_algorithm_host *host, uint32_t most);
/* The policy for a name, or policy_count if there is none: not every leader is elected. */
uint32_t cv_host_policy(const struct cv_algorithm_host *host, enum cv_subject subject, const char *name);
/* host_names.c */
void cv_host_expect_crowd(struct cv_algorithm_host *host);

#endif
