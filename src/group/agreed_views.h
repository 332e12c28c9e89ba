// SPDX-License-Identifier: MIT
/*
 * How a group comes to a new view whose members are agreed on. No I/O, as in static_views.h.
 *
 *     the log's leader                          member
 *     proposes an entry: members,
 *     coordinator; when it is agreed            stops granting; keeps what its clients hold
 *     and on its own disk: PREPARE   ------->
 *                                    <-------   HOLDING for each name it is inside, then REPORT and
 *                                               how long leases last that it has granted to those left out
 *     with all reports in, and all
 *     those leases over: HELD for each
 *     name that is held, INSTALL     ------->   begins the view, adopts the holders, goes on
 *
 * The epoch is the entry's place in the log: it never comes twice. A member begins a view only if it knows of no later
 * entry. With the leases (group/lease.h) that gives the promise that everything rests on: **at any moment all members
 * that may grant are in the same view**, and each of them knows what the others hold in it.
 *
 * A view needs a majority of the voters. A member that is gone is left out at once. One that is back, or new, is taken
 * in a little later. A better coordinator takes over when it has been there for the hold-off, which doubles each time
 * that it goes again soon. The members of the group, and the voters, change with an entry as well (group/seating.h).
 */
#ifndef CONCLAVE_GROUP_AGREED_VIEWS_H
#define CONCLAVE_GROUP_AGREED_VIEWS_H

#include "group/lease.h"
#include "group/proposal.h"
#include "group/static_views.h"

struct cv_buffer;
struct cv_cursor;

struct cv_agreed_views_calls {
    /* False: it cannot be proposed now. Otherwise cv_agreed_views_agreed() or cv_agreed_views_refused() answers. */
    bool (*propose)(void *context, const struct cv_proposal *proposal);
    void (*send)(void *context, cv_node to, enum cv_view_message kind, uint64_t epoch, uint64_t number);
    void (*freeze)(void *context, bool prepares);              /* the view is over; does this node prepare the next? */
    void (*report)(void *context, cv_node to, uint64_t epoch); /* HOLDING, HOLDING, ... */
    void (*tell)(void *context, cv_node to, uint64_t epoch);   /* HELD, HELD, ... */
    void (*install)(void *context, const struct cv_view *view);
    void *context;
};

struct cv_agreed_views_times {
    uint64_t begin_us;    /* until then a group that is not complete waits */
    uint64_t settle_us;   /* a new member waits so long */
    uint64_t hold_off_us; /* a better coordinator waits so long */
    uint64_t patience_us; /* reports are waited for so long */
};

struct cv_agreed_views {
    struct cv_agreed_views_calls calls;
    struct cv_agreed_views_times times;
    const struct cv_roster *roster; /* as the last entry has it */
    bool tied;                      /* two members and a tie-breaker (group/disk_paxos): nobody joins or leaves */
    struct cv_grants grants;

    uint64_t epoch;            /* of the last entry, 0: none */
    struct cv_proposal agreed; /* what that entry says */
    struct cv_view view;       /* the last that began here */
    bool frozen;
    uint64_t asked;   /* the entry on which this node was asked to report */
    bool away;        /* this node has just returned, and cannot be counted on yet */
    uint64_t changes; /* how many views have begun */

    /* What the leader knows */
    bool leads, proposing;
    bool stale; /* the last entry does not do, though its members are right */
    cv_set alive;
    uint64_t alive_since_us[CV_MAX_MEMBERS];
    uint64_t muted_until_us[CV_MAX_MEMBERS]; /* a member that is alive and does not answer is left out until then */
    uint32_t silences[CV_MAX_MEMBERS];       /* how often it did not answer */
    uint32_t flaps[CV_MAX_MEMBERS];          /* how often it was gone again soon */
    uint64_t begun[CV_MAX_MEMBERS];          /* the epoch that each is in, as it said last */
    uint64_t all_begun_us;                   /* since when all are in the view of the last entry; 0: not yet */
    struct cv_change change;                 /* asked for, and not yet agreed */
    cv_node elected;                         /* by the group's election, or CV_NOBODY */
    cv_node requested;                       /* the coordinator that was asked for, or CV_NOBODY */
    bool preparing;
    cv_set reported;
    uint64_t free_us;  /* all leases of members that are left out are over by then */
    uint64_t until_us; /* reports, or members that have yet to begin, are waited for until then */
};

void cv_agreed_views_init(struct cv_agreed_views *agreed_views, const struct cv_agreed_views_calls *calls,
                          const struct cv_roster *roster, cv_set voters, const struct cv_terms *terms);

/* This node leads the log, or does not any more. */
void cv_agreed_views_lead(struct cv_agreed_views *agreed_views, bool leads, uint64_t now_us);
/* Which members are alive, and which of them is elected. */
void cv_agreed_views_update(struct cv_agreed_views *agreed_views, cv_set alive, cv_node elected, uint64_t now_us);
/* Frames between this node and another were lost. */
void cv_agreed_views_renew(struct cv_agreed_views *agreed_views, uint64_t now_us);
/* A member says which view it is in. */
void cv_agreed_views_beat(struct cv_agreed_views *agreed_views, cv_node from, uint64_t epoch);
/* An entry is agreed, and on this node's disk. */
void cv_agreed_views_agreed(struct cv_agreed_views *agreed_views, uint64_t epoch, const struct cv_proposal *proposal,
                            uint64_t now_us);
/* The proposal of this node will not be agreed, or that is not known. */
void cv_agreed_views_refused(struct cv_agreed_views *agreed_views);
/* Is that an epoch whose HOLDING or HELD matter? */
bool cv_agreed_views_awaits(const struct cv_agreed_views *agreed_views, enum cv_view_message kind, cv_node from,
                            uint64_t epoch);
/* PREPARE, REPORT and INSTALL. */
void cv_agreed_views_hear(struct cv_agreed_views *agreed_views, cv_node from, enum cv_view_message kind, uint64_t epoch,
                          uint64_t number, uint64_t now_us);
/* Another is to coordinate: that node, or CV_NOBODY for the next best. False if this node does not lead, or there is
 * none. */
bool cv_agreed_views_step_down(struct cv_agreed_views *agreed_views, cv_node to, uint64_t now_us);
/* Another node is to join or to leave, or a term to change. False if this node does not lead, has another change to
 * make first, or there is nothing to change. */
bool cv_agreed_views_change(struct cv_agreed_views *agreed_views, const struct cv_change *change, uint64_t now_us);
/* Time has passed. */
void cv_agreed_views_tick(struct cv_agreed_views *agreed_views, uint64_t now_us);

#endif
