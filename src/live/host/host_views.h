// SPDX-License-Identifier: MIT
/* Rounds: a mutex begins anew in every view, the group's election in every term. */
#ifndef CONCLAVE_LIVE_HOST_HOST_VIEWS_H
#define CONCLAVE_LIVE_HOST_HOST_VIEWS_H

#include "live/host/host.h"

/* Gives an instance a fresh state for a new term. */
int cv_host_restart(struct cv_algorithm_host *host, struct cv_instance *instance, uint64_t round);
/* Delivers no message until the next view begins. */
void cv_host_freeze(struct cv_algorithm_host *host);
/*
 * A view begins. Before, `holder` and `fence` of each instance say which node is inside. An instance ends if no node is
 * inside and `keep` does not want it. Afterwards the caller calls cv_host_start() for each, once the clients that want
 * to enter have requested again.
 */
int cv_host_begin(struct cv_algorithm_host *host, const struct cv_view *view,
                  bool (*keep)(const struct cv_instance *instance));
void cv_host_suspect(struct cv_algorithm_host *host, cv_set suspected);
/* host_views.c */
void cv_host_quiet(struct cv_algorithm_host *host, struct cv_instance *instance);
void cv_host_adopt(struct cv_algorithm_host *host, struct cv_instance *instance);

#endif
