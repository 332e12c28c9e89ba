// SPDX-License-Identifier: MIT
/* Rounds: a mutex begins anew with every view, the group's election with every term. */
#ifndef CONCLAVE_LIVE_HOST_HOST_VIEWS_H
#define CONCLAVE_LIVE_HOST_HOST_VIEWS_H

#include "live/host/host.h"

/* A fresh state for a new term. */
int cv_host_restart(struct cv_algorithm_host *host, struct cv_instance *instance, uint64_t round);
/* No message reaches anybody any more until the next view begins. */
void cv_host_freeze(struct cv_algorithm_host *host);
/*
 * A view begins. Before, `holder` and `fence` of each instance say which node is inside. An instance that no node is
 * inside of, and that `keep` does not want, ends. Afterwards cv_host_start() each, once the clients that want to enter
 * have said so again.
 */
int cv_host_begin(struct cv_algorithm_host *host, const struct cv_view *view,
                  bool (*keep)(const struct cv_instance *instance));
void cv_host_suspect(struct cv_algorithm_host *host, cv_set suspected);
/* host_views.c */
void cv_host_quiet(struct cv_algorithm_host *host, struct cv_instance *instance);
void cv_host_adopt(struct cv_algorithm_host *host, struct cv_instance *instance);

#endif
