// SPDX-License-Identifier: MIT
/* The client side of a node: its sessions, and what they hold. The member tells it of entries and views. */
#ifndef CONCLAVE_SERVICE_SERVICE_H
#define CONCLAVE_SERVICE_SERVICE_H

#include "live/member.h"
#include "live/net/listen.h"
#include "live/net/stream.h"
#include "resp/resp_write.h"
#include "service/grant_statistics.h"
#include "service/lock_all.h"
#include "service/peer_request.h"
#include "service/redis_script.h"
#include "service/replica.h"

#define TOO_MANY_CLIENTS "ERR max number of clients reached"
#define NO_QUORUM "NOQUORUM a majority of the group cannot be reached"
#define NO_FENCES "NOFENCE all fences below 2^53 are used up; the node's log tells what to do"
#define OUT_OF_MEMORY "BUSY out of memory"

struct cv_pulse;
struct lock;
struct lock_hold;

enum hold_change { HOLD_GRANTED, HOLD_ENDED, HOLD_LOST };

/* Somebody who wants to see what happens to names here: the page. */
struct cv_service_watcher {
    /* A name is gone, and the last one has taken its place among the host's names. */
    void (*moved)(void *context, const struct cv_instance *gone);
    void (*changed)(void *context, const struct lock_hold *hold, enum hold_change change);
    void *context;
};

struct cv_service {
    struct cv_member *member;
    struct cv_algorithm_host *host; /* the member's */
    struct cv_loop *loop;           /* the member's */
    struct cv_alarms *alarms;       /* the loop's */
    const struct cv_pulse *pulse;   /* of the loop, or NULL */
    const struct cv_limits *limits;
    const struct cv_service_watcher *watcher; /* or NULL */
    const char *page;                         /* the address of the page, or NULL */
    struct cv_listener listeners[4];
    uint32_t listener_count;
    int64_t started_ms; /* since 1970 */

    struct session *sessions;
    uint64_t session_count;
    uint64_t session_total;     /* so far */
    uint64_t most_sessions;     /* no more in places for everybody */
    uint64_t reserved_count;    /* sessions in reserved places */
    uint64_t client_timeout_ms; /* of a TCP connection whose other end does not answer */
    struct cv_door door;        /* for clients that have not proved who they are */
    struct cv_resp_pool output;

    struct lock_hold *spare;   /* holds to use again */
    struct cv_alarm grace;     /* it is over */
    struct cv_alarm positions; /* clients that wait are told their places */
    struct lock *moved;        /* the locks whose queues have changed since */
    struct cv_alarm delay;     /* the first of the lock-delays is over */
    uint64_t delay_due_us;     /* when that is; 0: there is none */
    uint64_t renewed_us;       /* a new view was asked for then, because a name has few fences left */

    struct peer_request *pending[PEER_REQUEST_LISTS]; /* those that wait, by number */
    uint64_t tickets;                                 /* given to questions so far */

    struct lock_all_line line; /* of LOCKALL */
    struct redis_scripts scripts;
    struct replicas replicas; /* of recipes */

    struct listing *listings;
    uint64_t listing_count;
    uint64_t listings_started;
    struct listing_part *discarded; /* parts of answers that are not wanted any more */
    struct cv_chore discard_chore;  /* frees them */

    uint64_t loss_logged_ms; /* when a loss was written down last, by cv_loop_coarse_ms() */
    struct grant_statistics statistics;
    uint64_t commands;
    uint64_t observing;          /* names that clients observe, each as often as it is observed */
    uint64_t sharing_notices;    /* sent, to share with readers of other nodes */
    uint64_t rejected;           /* clients for which there was no place */
    uint64_t refused;            /* clients that could not prove who they are, or may do nothing here */
    uint64_t dropped_observers;  /* they did not read */
    uint64_t dropped_unfinished; /* their command did not end in time */
    uint64_t refused_output;     /* answers that were too long, or too many */
    uint64_t http_requests;      /* that came to the port of RESP */
};

/* Makes the service the one that the member tells of entries and views. */
void cv_service_init(struct cv_service *service, struct cv_member *member, const struct cv_settings *settings);
int cv_service_listen(struct cv_service *service, const char *what, const char *address,
                      struct cv_complaint *complaint);
/* The ACLs have changed. A session that may do nothing any more ends; a wait for what it may not have any more, too. */
void cv_service_reconsider(struct cv_service *service);
/* A name has few fences left in this view: asks for the next one, now and then. */
void service_renew_view(struct cv_service *service);
void cv_service_close(struct cv_service *service);
void cv_service_free(struct cv_service *service);

#endif
