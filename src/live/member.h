// SPDX-License-Identifier: MIT
/*
 * One member of a group, put together: the algorithms it hosts, the peers it talks to, and how views are made.
 * What clients want comes from outside, the service.
 */
#ifndef CONCLAVE_LIVE_MEMBER_H
#define CONCLAVE_LIVE_MEMBER_H

#include "group/static_views.h"
#include "live/host/host.h"
#include "live/member_group.h"
#include "live/net/loop.h"
#include "live/net/peers.h"
#include "live/net/security.h"
#include "live/process/event_log.h"
#include "live/ttl_ceiling.h"
#include "live/view_promises.h"

struct cv_settings;

/* What the user of a member tells the users of others about a name. To the member these are bytes. */
struct cv_notice {
    enum cv_subject subject;
    struct cv_text name;
    uint32_t kind;    /* below 256 */
    uint32_t words;   /* of the body, 4 bytes each */
    const void *body; /* not aligned */
    bool current;     /* a notice that is heard: it was sent in this node's view, by a member of that view */
};

/* What the user of the names, the service, is told and asked. */
struct cv_member_calls {
    void (*entered)(struct cv_instance *instance);
    void (*elected)(void *context, struct cv_instance *instance); /* a ballot has come to a result, or lost it */
    void (*resume)(struct cv_instance *instance); /* a view has begun: ask again, or find out what is lost */
    bool (*keep)(const struct cv_instance *instance);
    void (*ended)(void *context, struct cv_instance *instance);
    size_t (*in_use)(const void *context);      /* names that are not idle, about */
    void (*leased)(void *context, bool leased); /* `group raft`: clients may hold something, or may not any more */
    void (*hopeless)(void *context);            /* nor is there any use in waiting */
    void (*began)(void *context);               /* a view; after `resume` of all its names. May be NULL */
    void (*covered)(void *context);             /* the disk has a longer time to live than before. May be NULL */
    void (*heard)(void *context, cv_node from, const struct cv_notice *notice); /* nothing of it is checked yet */
    void *context;
};

enum cv_grant_event { CV_GRANT_BEGINS, CV_GRANT_RENEWED, CV_GRANT_ENDS };

/* What a recorder is told. */
struct cv_recorder {
    void (*event)(void *context, const struct cv_instance *instance, const struct cv_event *event);
    void (*view)(void *context, const struct cv_view *view);
    /* `ttl_ms`: how long it lasts whatever becomes of its node, unless it is renewed; 0: no longer than that. */
    void (*grant)(void *context, const struct cv_instance *instance, uint64_t fence, uint64_t session, bool shared,
                  enum cv_grant_event event, uint64_t ttl_ms);
    void *context;
};

struct cv_member {
    struct cv_loop loop;
    struct cv_roster roster;
    struct cv_algorithm_host host;
    struct cv_security security;
    struct cv_peers peers;
    struct cv_static_views static_views; /* `group static` */
    struct consensus *consensus;         /* of a group that agrees on its views, or NULL */
    struct cv_member_calls user;
    struct cv_recorder recorder;

    struct cv_instance *election; /* of the group's coordinator */
    uint64_t term;
    struct cv_alarm begin;      /* all peers have had time to connect */
    struct cv_alarm reconsider; /* a new view is called for, but not urgent */
    struct cv_alarm watchdog;   /* no leader, or no view, for long */
    struct cv_alarm renew;      /* a view could not begin here: another is asked for */
    struct cv_chore free_ended; /* names of earlier views */
    bool begun;
    bool failed;          /* it cannot go on */
    char outside[256];    /* why it takes no part in the group and ends, in one line; or empty */
    bool content;         /* all was well the last time that the watchdog looked */
    cv_set heard_from;    /* peers from which a heartbeat has come */
    cv_set removed_by;    /* peers that say that this node does not belong to the group */
    uint64_t removed_us;  /* since when they say so */
    cv_set in_other_view; /* peers that are in another view, by their last heartbeat */
    uint64_t bound_us, try_us;
    uint64_t elections;     /* called, or seen to be called anew */
    uint64_t disagreements; /* messages of another algorithm than ours */

    struct cv_early *early, **early_end;
    size_t early_bytes;
    uint64_t earliest_us; /* it begins no earlier, even if all are there */
    uint64_t started_us;  /* when the process started */
    uint64_t began_us;    /* when the last view began */
    uint64_t lost_us;     /* when the last view began without a member that may have held something */
    cv_set anew;          /* while a view begins: members that have forgotten what they held */
    struct view_promises reported;
    struct ttl_ceiling ceiling;
    uint64_t grace_until_us; /* until then a free name is given only to a client that claims it */
    uint64_t lapses;         /* of this node's lease, when the last view began */
};

/* 0, CV_ENOMEM, or CV_EINPUT with a complaint. `user` and `recorder` are set before, the rest is zero. */
int cv_member_open(struct cv_member *member, const struct cv_settings *settings, struct cv_complaint *complaint);
void cv_member_close(struct cv_member *member);
/* It cannot go on: one line, and the loop ends. */
void cv_member_fail(struct cv_member *member, enum cv_log_event event, const char *why);

static inline void cv_member_record_grant(const struct cv_member *member, const struct cv_instance *instance,
                                          uint64_t fence, uint64_t session, bool shared, enum cv_grant_event event,
                                          uint64_t ttl_ms)
{
    if (member->recorder.grant)
        member->recorder.grant(member->recorder.context, instance, fence, session, shared, event,
                               member->consensus ? ttl_ms : 0);
}

/* The attribute of that node's candidate changes: a new term of the election begins. */
void cv_member_stand(struct cv_member *member, struct cv_instance *ballot, cv_node node, uint32_t attribute);

/* They are not suspected any more. */
void member_trust(struct cv_member *member, cv_set nodes);

/* The coordinator as far as this node knows, or CV_NOBODY. */
cv_node member_leader(const struct cv_member *member);

/* ---- for the other files of the member ---- */

/* This node takes no part in the group, and ends; that line says why. The first one counts. */
void member_end(struct cv_member *member, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The roster has changed, and other members have these places now. */
void member_rearranged(struct cv_member *member, cv_set changed);
/* Considers a new view in a while. */
void member_reconsider(struct cv_member *member);
/* A message of the group's election. */
void member_ballot(struct cv_member *member, cv_node from, const struct cv_frame *frame);

#endif
