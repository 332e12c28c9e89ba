// SPDX-License-Identifier: MIT
/*
 * Whom a member does not speak with, though it says that it is a member: whoever comes with a directory that is not, or
 * not any more, what that member has promised by. The group remembers each one's directory by a random number, how
 * often a node was started with it and which entry it surely had (cv_known_directory), with every entry of the log.
 */
#ifndef CONCLAVE_LIVE_NET_OBJECTION_H
#define CONCLAVE_LIVE_NET_OBJECTION_H

#include "core/link/frame.h"
#include "group/view.h"

struct cv_peer;
struct cv_peers;

/* Why a member does not speak with another, as it tells it. */
enum cv_refusal {
    CV_REFUSAL_NONE,
    CV_REFUSAL_REMOVED,   /* it was removed; `stream` is the generation of the roster, and 1 */
    CV_REFUSAL_MODE,      /* its group makes views in another way */
    CV_REFUSAL_GROUP,     /* it belongs to another group */
    CV_REFUSAL_RECOVERED, /* it belongs to the group that this one was recovered from, without it */
    CV_REFUSAL_EMPTY,     /* its directory is empty, and the member of its id had another one */
    CV_REFUSAL_DIRECTORY, /* its directory is not the one that the member of its id had */
    CV_REFUSAL_RESTORED,  /* its directory is an old copy */
    CV_REFUSAL_DUPLICATE, /* another process says that it is this member */
    CV_REFUSAL_OCCUPIED,  /* the same, perhaps: that process has yet to be heard of again, or to be missed */
    CV_REFUSAL_MEMBERS,   /* neither belongs to a group, and they do not list the same members */
    CV_REFUSAL_UNDECIDED, /* its directory is empty, and whether that may be this node does not know yet */
    CV_REFUSALS
};

/* What a member says of its group and its directory. */
struct cv_peer_claim {
    uint64_t group, members, stored;
    uint32_t directory, starts;
    bool founds;
};

/* Why somebody of its id was refused of late, or NULL. */
const char *cv_peer_objection(const struct cv_peer *peer);
/* Is there a reason not to speak with whoever greets? */
enum cv_refusal peers_objection(const struct cv_peers *peers, const struct cv_frame *hello);
/* A greeting that says so, to that id. */
struct cv_frame peers_refusal(const struct cv_peers *peers, cv_id to, enum cv_refusal why);
/* The reason in words. */
const char *refusal_text(enum cv_refusal why);

#endif
