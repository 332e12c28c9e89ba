// SPDX-License-Identifier: MIT
/*
 * One member of a group: the algorithms that it hosts, the peers that it talks to, and the way in which it makes views.
 * The service above it brings the clients' requests.
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

/* A message between the users of two members about a name. To the members it is bytes. */
struct cv_notice {
    enum cv_subject subject;
    struct cv_text name;
    uint32_t kind;    /* below 256 */
    uint32_t words;   /* of the body, 4 bytes each */
    const void *body; /* not aligned */
    bool current;     /* of a received notice: a member of this node's view sent it in that view */
};

/* Calls to the user of the member, the service. */
struct cv_member_calls {
    void (*entered)(struct cv_instance *instance);
    void (*elected)(void *context, struct cv_instance *instance); /* a ballot has a result, or lost it */
    void (*resume)(struct cv_instance *instance); /* a view has begun: request again, or find out what is lost */
    bool (*keep)(const struct cv_instance *instance);
    void (*ended)(void *context, struct cv_instance *instance);
    size_t (*in_use)(const void *context);      /* roughly the number of names that are not idle */
    void (*leased)(void *context, bool leased); /* `group raft`: clients may, or may no longer, hold something */
    void (*hopeless)(void *context);            /* the lease has been lost for long: waiting is useless */
    void (*began)(void *context);               /* a view has begun, and all its names have resumed. May be NULL */
    void (*covered)(void *context);             /* the disk has a longer time to live now. May be NULL */
    bool (*settled)(const void *context);       /* enough voters have stored what the group remembers. May be NULL */
    void (*heard)(void *context, cv_node from, const struct cv_notice *notice); /* its body is unchecked */
    void *context;
};

enum cv_grant_event { CV_GRANT_BEGINS, CV_GRANT_RENEWED, CV_GRANT_ENDS };

/* Calls to a recorder. */
struct cv_recorder {
    void (*event)(void *context, const struct cv_instance *instance, const struct cv_event *event);
    void (*view)(void *context, const struct cv_view *view);
    /* `ttl_ms`: how long the hold lasts without renewal even if its node dies; 0: it ends with its node. */
    void (*grant)(void *context, const struct cv_instance *instance, uint64_t fence, uint64_t session, bool shared,
                  enum cv_grant_event event, uint64_t ttl_ms, uint64_t replaces);
    void *context;
};

struct cv_member {
    struct cv_loop loop;
    struct cv_roster roster;
    struct cv_algorithm_host host;
    struct cv_security security;
    struct cv_peers peers;
    struct cv_static_views static_views; /* `group static` */
    struct consensus *consensus;         /* if the group agrees on its views, or NULL */
    struct cv_member_calls user;
    struct cv_recorder recorder;

    struct cv_instance *election; /* of the group's coordinator */
    uint64_t term;
    struct cv_alarm begin;      /* rings when all peers have had time to connect */
    struct cv_alarm reconsider; /* rings when it is time to consider a new view */
    struct cv_alarm watchdog;   /* notices that there is no leader, or no view, for long */
    struct cv_alarm renew;      /* asks for another view after one that could not begin here */
    struct cv_chore free_ended; /* frees names of earlier views */
    bool begun;
    bool failed;          /* the member cannot go on */
    char outside[256];    /* why the member takes no part in the group and ends, in one line; or empty */
    bool content;         /* all was well when the watchdog last looked */
    cv_set heard_from;    /* peers from which a heartbeat has come */
    cv_set removed_by;    /* peers that say that this node does not belong to the group */
    uint64_t removed_us;  /* since when they say so */
    cv_set in_other_view; /* peers whose last heartbeat names another view */
    uint64_t bound_us, try_us;
    uint64_t elections;     /* number of elections that this node called or joined */
    uint64_t disagreements; /* number of messages from other algorithms than ours */

    struct cv_early *early, **early_end;
    size_t early_bytes;
    uint64_t earliest_us; /* the member begins no earlier, even if all peers are there */
    uint64_t started_us;  /* when the process started */
    uint64_t began_us;    /* when the last view began */
    uint64_t lost_us;     /* when the last view began without a member that may have held something */
    uint64_t ended_us;    /* for the record: until then what this node was in counted, in the last view */
    cv_set anew;          /* while a view begins: members that have lost their holds */
    struct view_promises reported;
    struct ttl_ceiling ceiling;
    uint64_t grace_until_us; /* until then only a client that claims a free name gets it */
    uint64_t lapses;         /* how often this node's lease had run out when the last view began */
};

/* 0, CV_ENOMEM, or CV_EINPUT with a complaint. `user` and `recorder` are set before, the rest is zero. */
int cv_member_open(struct cv_member *member, const struct cv_settings *settings, struct cv_complaint *complaint);
void cv_member_close(struct cv_member *member);
/* The member cannot go on: writes one line, and ends the loop. */
void cv_member_fail(struct cv_member *member, enum cv_log_event event, const char *why);

static inline void cv_member_record_grant(const struct cv_member *member, const struct cv_instance *instance,
                                          uint64_t fence, uint64_t session, bool shared, enum cv_grant_event event,
                                          uint64_t ttl_ms, uint64_t replaces)
{
    if (member->recorder.grant)
        member->recorder.grant(member->recorder.context, instance, fence, session, shared, event,
                               member->consensus ? ttl_ms : 0, replaces);
}

/* The attribute of that node's candidate changes: a new term of the election begins. */
void cv_member_stand(struct cv_member *member, struct cv_instance *ballot, cv_node node, uint32_t attribute);

/* Stops suspecting these nodes. */
void member_trust(struct cv_member *member, cv_set nodes);

/* The coordinator as far as this node knows, or CV_NOBODY. */
cv_node member_leader(const struct cv_member *member);

/* ---- for the other files of the member ---- */

/* This node takes no part in the group, and ends. The line says why; the first one counts. */
void member_end(struct cv_member *member, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The roster has changed, and other members have these places now. */
void member_rearranged(struct cv_member *member, cv_set changed);
/* Considers a new view in a while. */
void member_reconsider(struct cv_member *member);
/* A message of the group's election. */
void member_ballot(struct cv_member *member, cv_node from, const struct cv_frame *frame);

#endif
