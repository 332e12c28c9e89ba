// SPDX-License-Identifier: MIT
/* Between frames and messages: what goes out, and what may reach an algorithm. */
#ifndef CONCLAVE_LIVE_DISPATCH_H
#define CONCLAVE_LIVE_DISPATCH_H

#include "core/link/frame.h"
#include "live/host/host.h"

struct cv_member;
struct cv_notice;

/* A frame of a view that has not begun here yet. */
struct cv_early {
    struct cv_early *next;
    cv_node from;
    size_t size;
    unsigned char bytes[];
};

/* Tells another member, or everybody in the view (CV_NOBODY); who that was. */
cv_set cv_member_notify(struct cv_member *member, cv_node to, const struct cv_notice *notice);
uint64_t dispatch_send(void *context, const struct cv_parcel *parcel);
/*
 * Something for that member was lost, which breaks what a view promises: channels that lose nothing. By its heartbeats
 * this node is in no view from now on, and the leader makes another.
 */
void dispatch_lost(struct cv_member *member, cv_node to);
void dispatch_opened(void *context, struct cv_instance *instance);
void dispatch_frame(void *context, cv_node from, const struct cv_frame *frame);
/* A letter of the group's election, of this term. */
void dispatch_ballot(struct cv_member *member, cv_node from, const struct cv_frame *frame);
/* It has come too early. */
void dispatch_keep(struct cv_member *member, cv_node from, const struct cv_frame *frame);
/* What came early may have its time now. */
void dispatch_catch_up(struct cv_member *member);
/* Others stand at these places now. */
void dispatch_forget(struct cv_member *member, cv_set nodes);
void dispatch_free(struct cv_member *member);

#endif
