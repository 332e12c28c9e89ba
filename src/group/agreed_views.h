// SPDX-License-Identifier: MIT
/*
 * How a group comes to a new view whose members are agreed on. No I/O, as in static_views.h.
 *
 *     the log's leader                          member
 *     proposes an entry: members,
 *     coordinator; when it is agreed            stops granting; keeps what its clients hold
 *     and on its own disk: PREPARE   ------->
 *                                    <-------   HOLDING for each name it is inside, then REPORT with the
 *                                               time left of leases it granted to those left out
 *     with all reports in, and all
 *     those leases over: HELD for each
 *     name that is held, INSTALL     ------->   begins the view, adopts the holders, goes on
 *
 * The epoch is the entry's index in the log, so no epoch is used twice. A member begins a view only if it knows of no
 * later entry. With the leases (group/lease.h) that gives the main invariant: **at any moment all members that may
 * grant are in the same view**, and each of them knows what the others hold in it.
 *
 * A view needs a majority of the voters. The next view leaves out a gone member at once, and takes in a new or returned
 * one a little later. A better coordinator takes over after it has been alive for the hold-off. The hold-off doubles
 * each time that the node is soon gone again. The members of the group, and the voters, change with an entry as well
 * (group/seating.h).
 */
#ifndef CONCLAVE_GROUP_AGREED_VIEWS_H
#define CONCLAVE_GROUP_AGREED_VIEWS_H

#include "group/lease.h"
#include "group/proposal.h"
#include "group/static_views.h"

struct cv_buffer;
struct cv_cursor;

struct cv_agreed_views_calls {
    /* False: nothing can be proposed now. Otherwise cv_agreed_views_agreed() or cv_agreed_views_refused() answers. */
    bool (*propose)(void *context, const struct cv_proposal *proposal);
    void (*send)(void *context, cv_node to, enum cv_view_message kind, uint64_t epoch, uint64_t number);
    void (*freeze)(void *context, bool prepares); /* the view is over; `prepares`: this node makes the next */
    void (*report)(void *context, cv_node to, uint64_t epoch); /* sends a HOLDING for each name held here */
    void (*tell)(void *context, cv_node to, uint64_t epoch);   /* sends a HELD for each name held anywhere */
    void (*install)(void *context, const struct cv_view *view);
    bool (*settled)(const void *context); /* the voters of this view have what the group remembers; NULL: always */
    void *context;
};

struct cv_agreed_views_times {
    uint64_t begin_us;    /* an incomplete group waits until then for its first view */
    uint64_t settle_us;   /* a new member must be alive for so long before a view takes it in */
    uint64_t hold_off_us; /* a better coordinator must be alive for so long before it takes over */
    uint64_t patience_us; /* the leader waits so long for reports */
};

struct cv_agreed_views {
    struct cv_agreed_views_calls calls;
    struct cv_agreed_views_times times;
    const struct cv_roster *roster; /* as the last entry has it */
    bool tied;                      /* two members and a tie-breaker (group/disk_paxos): membership is fixed */
    struct cv_grants grants;

    uint64_t epoch;            /* of the last entry, 0: none */
    struct cv_proposal agreed; /* what that entry says */
    struct cv_view view;       /* the last view that began here */
    bool frozen;               /* `view` is over, and the next has not begun */
    uint64_t asked;            /* the last epoch that a PREPARE named */
    bool away;                 /* this node has just restarted, and takes no part in views yet */
    uint64_t changes;          /* number of views that began here */

    /* What the leader knows */
    bool leads;     /* this node leads the log */
    bool proposing; /* a proposal of this node awaits its answer */
    bool stale;     /* a new view is needed even if its members stay the same */
    cv_set alive;
    uint64_t alive_since_us[CV_MAX_MEMBERS];
    uint64_t muted_until_us[CV_MAX_MEMBERS]; /* views leave out a member that does not answer until then */
    uint32_t silences[CV_MAX_MEMBERS];       /* how often each did not answer */
    uint32_t flaps[CV_MAX_MEMBERS];          /* how often each was soon gone again */
    uint64_t begun[CV_MAX_MEMBERS];          /* the epoch of each member's view, as it last said */
    uint64_t all_begun_us;                   /* when all were first in the view of the last entry; 0: not yet */
    struct cv_change change;                 /* the change that was requested and is not yet agreed */
    cv_node elected;                         /* the winner of the group's election, or CV_NOBODY */
    cv_node requested;                       /* the coordinator that an operator asked for, or CV_NOBODY */
    bool preparing;                          /* this node prepares the view of the last entry */
    cv_set reported;                         /* the members whose reports are in */
    uint64_t free_us;                        /* by then all leases of members that are left out are over */
    uint64_t until_us; /* the leader waits until then for reports, or for members to begin the view */
};

void cv_agreed_views_init(struct cv_agreed_views *agreed_views, const struct cv_agreed_views_calls *calls,
                          const struct cv_roster *roster, cv_set voters, const struct cv_terms *terms);

/* This node begins, or ceases, to lead the log. */
void cv_agreed_views_lead(struct cv_agreed_views *agreed_views, bool leads, uint64_t now_us);
/* Tells which members are alive, and which of them is elected. */
void cv_agreed_views_update(struct cv_agreed_views *agreed_views, cv_set alive, cv_node elected, uint64_t now_us);
/* Frames between this node and another were lost. */
void cv_agreed_views_renew(struct cv_agreed_views *agreed_views, uint64_t now_us);
/* A member says which view it is in. */
void cv_agreed_views_beat(struct cv_agreed_views *agreed_views, cv_node from, uint64_t epoch);
/* An entry is agreed, and on this node's disk. */
void cv_agreed_views_agreed(struct cv_agreed_views *agreed_views, uint64_t epoch, const struct cv_proposal *proposal,
                            uint64_t now_us);
/* This node's proposal is not agreed, or its outcome is unknown. */
void cv_agreed_views_refused(struct cv_agreed_views *agreed_views);
/* Does this node expect that message of that epoch from that node? */
bool cv_agreed_views_awaits(const struct cv_agreed_views *agreed_views, enum cv_view_message kind, cv_node from,
                            uint64_t epoch);
/* Takes in PREPARE, REPORT and INSTALL. */
void cv_agreed_views_hear(struct cv_agreed_views *agreed_views, cv_node from, enum cv_view_message kind, uint64_t epoch,
                          uint64_t number, uint64_t now_us);
/* Makes another node the coordinator: `to`, or the next best if that is CV_NOBODY. False if this node does not lead, or
 * no other node can coordinate. */
bool cv_agreed_views_step_down(struct cv_agreed_views *agreed_views, cv_node to, uint64_t now_us);
/* Requests that a node joins or leaves, or that a term changes. False if this node does not lead, another change is
 * pending, or there is nothing to change. */
bool cv_agreed_views_change(struct cv_agreed_views *agreed_views, const struct cv_change *change, uint64_t now_us);
/* Time has passed. */
void cv_agreed_views_tick(struct cv_agreed_views *agreed_views, uint64_t now_us);

#endif
