// SPDX-License-Identifier: MIT
/*
 * How a group comes to a new view: its leader prepares it. No I/O; the only source of (epoch, members, coordinator).
 *
 *     leader                                   member
 *     PREPARE epoch, members  ------------->   stops, promises to take part in no earlier view
 *                             <-------------   HOLDING for each name it is inside, then REPORT
 *     with all reports in:
 *     HELD for each name that is held,
 *     INSTALL                 ------------->   begins the view, adopts the holders, goes on
 *
 * RENEW asks the leader for a new view though no member is gone: to forget names that are not in use. A member that has
 * promised a higher epoch says REFUSE and which; the leader tries again above it, a while later. Under `group static`
 * the configured election elects the leader among the nodes that it does not suspect, and no majority is asked: each
 * side of a cut finds a leader, and each makes a view. The textbooks' world is like that.
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
    CV_VIEW_STEP_DOWN, /* `group raft`, to the leader: another is to coordinate */
    CV_VIEW_LEAVE,     /* `group raft`: I leave, no client holds anything here, and nobody need wait for my lease */
    CV_VIEW_CHANGE,    /* `group raft`, to the leader: a node is to join the group, or to leave it for good */
    CV_VIEW_FOUND,     /* a group is founded, with these members */
    CV_VIEW_WELCOME    /* the members of the group, for a node that has no log yet */
};

struct cv_static_views_calls {
    void (*send)(void *context, cv_node to, enum cv_view_message kind, const struct cv_view *view);
    void (*freeze)(void *context);                             /* the view is over */
    void (*report)(void *context, cv_node to, uint64_t epoch); /* HOLDING, HOLDING, ... */
    void (*tell)(void *context, cv_node to, uint64_t epoch);   /* HELD, HELD, ... */
    void (*install)(void *context, const struct cv_view *view);
    uint64_t (*unix_ms)(void);
    void *context;
};

struct cv_static_views {
    struct cv_static_views_calls calls;
    cv_node me;
    struct cv_view view; /* the last one that began; epoch 0: none */
    bool frozen;         /* it is over */
    bool stale;          /* a member of it has begun anew */
    uint64_t promised;   /* no epoch below is taken part in */
    cv_node promised_to;
    uint64_t highest;    /* epoch heard of */
    uint64_t base;       /* the highest base of any view that a member was in */
    struct cv_view next; /* being prepared by this node; epoch 0: none is */
    cv_set awaited;      /* reports */
    cv_node leader;      /* as far as this node knows */
    cv_set alive;
    uint64_t changes; /* views that began */
};

void cv_static_views_init(struct cv_static_views *static_views, cv_node me, const struct cv_static_views_calls *calls);

/*
 * The leader, CV_NOBODY if none is known, or the set of members that are alive has changed. If members are gone, the
 * next view is prepared at once. True if that can wait: cv_static_views_consider() in a while, when more may have
 * changed.
 */
bool cv_static_views_update(struct cv_static_views *static_views, cv_node leader, cv_set alive);
/* A member has lost what it knew, or is in another view than it should be; to be considered in a while. */
void cv_static_views_renew(struct cv_static_views *static_views);
void cv_static_views_consider(struct cv_static_views *static_views);

/* Is that an epoch whose HOLDING or HELD matter? */
bool cv_static_views_awaits(const struct cv_static_views *static_views, enum cv_view_message kind, cv_node from,
                            uint64_t epoch);
/* True: to be considered in a while. */
bool cv_static_views_hear(struct cv_static_views *static_views, cv_node from, enum cv_view_message kind,
                          const struct cv_view *view);

#endif
