// SPDX-License-Identifier: MIT
/* Makes frames of messages, and decides which frames may reach an algorithm. */
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

/* Sends a notice to another member, or to all of the view (CV_NOBODY). Returns the receivers. */
cv_set cv_member_notify(struct cv_member *member, cv_node to, const struct cv_notice *notice);
uint64_t dispatch_send(void *context, const struct cv_parcel *parcel);
/*
 * A frame to that member was lost, but a view promises channels without loss. From now on this node's heartbeats say
 * that it is in no view, and the leader makes another.
 */
void dispatch_lost(struct cv_member *member, cv_node to);
void dispatch_opened(void *context, struct cv_instance *instance);
void dispatch_frame(void *context, cv_node from, const struct cv_frame *frame);
/* A message of the group's election, of this term. */
void dispatch_ballot(struct cv_member *member, cv_node from, const struct cv_frame *frame);
/* Keeps a frame that has come too early. */
void dispatch_keep(struct cv_member *member, cv_node from, const struct cv_frame *frame);
/* Handles the kept frames whose view has begun. */
void dispatch_catch_up(struct cv_member *member);
/* Other members have these places now. */
void dispatch_forget(struct cv_member *member, cv_set nodes);
void dispatch_free(struct cv_member *member);

#endif
