// SPDX-License-Identifier: MIT
/*
 * Carries out what static_views.c or agreed_views.c decides: the view ends, holders are reported and told of, the next
 * view begins.
 */
#ifndef CONCLAVE_LIVE_VIEWS_H
#define CONCLAVE_LIVE_VIEWS_H

#include "group/agreed_views.h"
#include "group/static_views.h"
#include "live/net/loop.h"

struct cv_frame;
struct cv_member;

extern const struct cv_static_views_calls views_static_calls;
extern const struct cv_agreed_views_calls views_agreed_calls; /* but for `propose` */
void views_crowded(void *context);
void views_free_ended(struct cv_chore *chore);
/* Asks for a new view. */
void cv_views_renew(struct cv_member *member);
void views_try_again(struct cv_alarm *alarm);
void views_frame(struct cv_member *member, cv_node from, const struct cv_frame *frame);
/* Asks the log's leader for something. */
void views_ask(struct cv_member *member, cv_node leader, enum cv_view_message kind, uint64_t number);

#endif
