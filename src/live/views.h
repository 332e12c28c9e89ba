// SPDX-License-Identifier: MIT
/*
 * Carries out the decisions of static_views.c or agreed_views.c: ends a view, reports holders and takes them in, begins
 * the next view.
 */
#ifndef CONCLAVE_LIVE_VIEWS_H
#define CONCLAVE_LIVE_VIEWS_H

#include "group/agreed_views.h"
#include "group/static_views.h"
#include "live/net/loop.h"

struct cv_frame;
struct cv_member;

extern const struct cv_static_views_calls views_static_calls;
extern const struct cv_agreed_views_calls views_agreed_calls; /* without `propose` */
void views_crowded(void *context);
void views_aged(void *context);
void views_free_ended(struct cv_chore *chore);
/* Asks for a new view. */
void cv_views_renew(struct cv_member *member);
void views_try_again(struct cv_alarm *alarm);
void views_frame(struct cv_member *member, cv_node from, const struct cv_frame *frame);
/* Sends a request to the log's leader. */
void views_ask(struct cv_member *member, cv_node leader, enum cv_view_message kind, uint64_t number);

#endif
