// SPDX-License-Identifier: MIT
/*
 * Why a member refuses a node that claims to be a member. A node whose directory is not the one with which that member
 * has voted and promised must not take its place. With every entry of the log the group remembers each member's
 * directory: its random number, how often a node was started with it, and an entry that it surely had
 * (cv_known_directory).
 */
#ifndef CONCLAVE_LIVE_NET_OBJECTION_H
#define CONCLAVE_LIVE_NET_OBJECTION_H

#include "core/link/frame.h"
#include "group/view.h"

struct cv_peer;
struct cv_peers;

/* Why a member does not speak with another. The other is told. */
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
    CV_REFUSAL_OCCUPIED,  /* perhaps the same: that process has yet to be heard from again, or to be missed */
    CV_REFUSAL_MEMBERS,   /* neither belongs to a group, and they do not list the same members */
    CV_REFUSAL_UNDECIDED, /* its directory is empty, and this node does not know yet whether that may be */
    CV_REFUSAL_RULES,     /* its locks or elections go by other algorithms, parameters or files */
    CV_REFUSALS
};

/* What a node claims about its group and its directory. */
struct cv_peer_claim {
    uint64_t group, members, stored;
    uint32_t directory, starts;
    bool founds;
};

/* Why a node of its id was refused of late, or NULL. */
const char *cv_peer_objection(const struct cv_peer *peer);
/* The reason not to speak with the node that greets, if there is any. */
enum cv_refusal peers_objection(const struct cv_peers *peers, const struct cv_frame *hello);
/* A greeting to that id that says why it is refused. */
struct cv_frame peers_refusal(const struct cv_peers *peers, cv_id to, enum cv_refusal why);
/* The reason in words. */
const char *refusal_text(enum cv_refusal why);

#endif
