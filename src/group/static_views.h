// SPDX-License-Identifier: MIT
/*
 * How a group comes to a new view: its leader prepares it. No I/O here. No other file makes up (epoch, members,
 * coordinator).
 *
 *     leader                                   member
 *     PREPARE epoch, members  ------------->   stops, promises to take part in no earlier view
 *                             <-------------   HOLDING for each name it is inside, then REPORT
 *     with all reports in:
 *     HELD for each name that is held,
 *     INSTALL                 ------------->   begins the view, adopts the holders, goes on
 *
 * RENEW asks the leader for a new view though no member is gone: to forget names that are not in use. A member that has
 * promised a higher epoch answers REFUSE with that epoch, and the leader tries again above it a while later. Under
 * `group static` the configured election elects the leader among the nodes that it does not suspect, and no majority is
 * needed: in a partition each side elects a leader, and each makes a view. The textbooks assume such a world.
 */
#ifndef CONCLAVE_GROUP_STATIC_VIEWS_H
#define CONCLAVE_GROUP_STATIC_VIEWS_H

#include "group/view.h"

enum cv_view_message {
    CV_VIEW_PREPARE,
    CV_VIEW_HOLDING,
    CV_VIEW_REPORT,
    CV_VIEW_REFUSE,
    CV_VIEW_HELD,
    CV_VIEW_INSTALL,
    CV_VIEW_RENEW,
    CV_VIEW_STEP_DOWN, /* `group raft`, to the leader: another node should coordinate */
    CV_VIEW_LEAVE,     /* `group raft`: I leave; no client holds anything here, so do not wait for my lease */
    CV_VIEW_CHANGE,    /* `group raft`, to the leader: a node should join the group, or leave it for good */
    CV_VIEW_FOUND,     /* a group is founded, with these members */
    CV_VIEW_WELCOME    /* the members of the group, for a node whose log lags */
};

struct cv_static_views_calls {
    void (*send)(void *context, cv_node to, enum cv_view_message kind, const struct cv_view *view);
    void (*freeze)(void *context);                             /* the view is over */
    void (*report)(void *context, cv_node to, uint64_t epoch); /* sends a HOLDING for each name held here */
    void (*tell)(void *context, cv_node to, uint64_t epoch);   /* sends a HELD for each name held anywhere */
    void (*install)(void *context, const struct cv_view *view);
    uint64_t (*unix_ms)(void);
    void *context;
};

struct cv_static_views {
    struct cv_static_views_calls calls;
    cv_node me;
    struct cv_view view; /* the last view that began; epoch 0: none */
    bool frozen;         /* `view` is over */
    bool stale;          /* a member of `view` has begun anew */
    uint64_t promised;   /* this node takes part in no epoch below */
    cv_node promised_to;
    uint64_t highest;    /* the highest epoch heard of */
    uint64_t base;       /* the highest base of any view that a member was in */
    struct cv_view next; /* the view that this node prepares; epoch 0: none */
    cv_set awaited;      /* the members whose reports are missing */
    cv_node leader;      /* as far as this node knows */
    cv_set alive;
    uint64_t changes; /* number of views that began here */
};

void cv_static_views_init(struct cv_static_views *static_views, cv_node me, const struct cv_static_views_calls *calls);

/*
 * The leader (CV_NOBODY: unknown) or the set of live members has changed. If members are gone, the leader prepares the
 * next view at once. True if that can wait: the caller calls cv_static_views_consider() in a while, when more may have
 * changed.
 */
bool cv_static_views_update(struct cv_static_views *static_views, cv_node leader, cv_set alive);
/* A member has lost its state, or is in a wrong view. The caller calls cv_static_views_consider() in a while. */
void cv_static_views_renew(struct cv_static_views *static_views);
void cv_static_views_consider(struct cv_static_views *static_views);

/* Does this node expect that message of that epoch from that node? */
bool cv_static_views_awaits(const struct cv_static_views *static_views, enum cv_view_message kind, cv_node from,
                            uint64_t epoch);
/* True: the caller calls cv_static_views_consider() in a while. */
bool cv_static_views_hear(struct cv_static_views *static_views, cv_node from, enum cv_view_message kind,
                          const struct cv_view *view);

#endif
