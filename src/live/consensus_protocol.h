// SPDX-License-Identifier: MIT
/*
 * The interface of a consensus protocol. There are two: Raft's log (raft_log.c), and Disk Paxos for two members with a
 * tie-breaker's file (tie_breaker.c). The rest of the room calls this table and does not know which of them it is.
 *
 * An entry is the whole agreed state: struct cv_proposal. The protocol tells agreed_views.c of each
 * (cv_agreed_views_agreed), keeps consensus->leader and consensus->term, and keeps what it needs in consensus->state.
 */
#ifndef CONCLAVE_LIVE_CONSENSUS_PROTOCOL_H
#define CONCLAVE_LIVE_CONSENSUS_PROTOCOL_H

#include "core/error.h"
#include "group/lease.h"

struct consensus;
struct cv_founder;
struct cv_frame;
struct cv_member_status;
struct cv_proposal;
struct cv_settings;
struct cv_terms;

struct consensus_protocol {
    const char *mode;  /* its name in VIEW and INFO */
    bool reconfigures; /* an entry may change members and terms; otherwise the configuration sets both */
    cv_node witness;   /* a voter that is no member and remembers no promises; CV_NOBODY: none */

    /* Allocates consensus->state, and sets consensus->tick_us. */
    int (*open)(struct consensus *consensus, const struct cv_settings *settings, struct cv_complaint *complaint);
    void (*close)(struct consensus *consensus); /* before the loop closes; the state is freed after that */

    /* Proposes the next entry. False if that is impossible now; agreed_views.c asks again. */
    bool (*propose)(struct consensus *consensus, const struct cv_proposal *proposal);
    void (*hear)(struct consensus *consensus, cv_node from, const struct cv_frame *frame);
    void (*tick)(struct consensus *consensus); /* time has passed */
    /* Tells agreed_views.c of agreed entries that it does not know yet. */
    void (*take_entries)(struct consensus *consensus);
    bool (*leads)(const struct consensus *consensus); /* may this node propose the next entry? */
    /* Is nothing under way, so that the next tick may wait until `due_us` by cv_loop_now()? */
    bool (*rests)(const struct consensus *consensus, uint64_t *due_us);
    void (*pace)(struct consensus *consensus, const struct cv_terms *terms); /* these terms count from now on */

    /* ---- leases ---- */

    /* May this node have granted a lease, or had one, before this start? */
    bool (*has_granted)(const struct consensus *consensus);
    /* Does this node again know every entry that it knew before this start? It grants nothing before. */
    bool (*remembers)(struct consensus *consensus);
    /* May a member count by these terms? */
    bool (*allows)(struct consensus *consensus, struct cv_lease_terms asked);
    /* Does this node know its place, so that it can take part in a view? */
    bool (*may_begin)(const struct consensus *consensus);

    /* ---- going ---- */

    void (*hand_over)(struct consensus *consensus); /* lets another node lead, if this one does */
    void (*leave)(struct consensus *consensus);     /* hands over at the end, and waits for it */

    /* ---- only if it reconfigures ---- */

    /* Begins the entries of a new group, with the members of the roster. `founders`: their directories, or NULL. */
    int (*found)(struct consensus *consensus, const struct cv_founder *founders);
    void (*join)(struct consensus *consensus, uint64_t group);     /* this node's directory belongs to that group */
    bool (*has_seat)(const struct consensus *consensus, cv_id id); /* may a node of that id still vote? */

    /* The last entry that this node has stored, agreed or not, and its index; NULL: there is none. */
    const void *(*last)(const struct consensus *consensus, size_t *length, uint64_t *index);
    /*
     * Stores that promises may have this length, and calls ttl_ceiling_found() when that is done. NULL: this node's
     * directory stores it.
     */
    void (*note_ttl)(struct consensus *consensus, uint64_t ms);
    void (*status)(const struct consensus *consensus, struct cv_member_status *status);
};

extern const struct consensus_protocol raft_protocol;
extern const struct consensus_protocol tie_breaker_protocol;

#endif
