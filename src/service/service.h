// SPDX-License-Identifier: MIT
/* The client side of a node: sessions, and the commands they give. */
#ifndef CONCLAVE_SERVICE_SERVICE_H
#define CONCLAVE_SERVICE_SERVICE_H

#include "live/member.h"
#include "live/net/listen.h"
#include "live/net/stream.h"
#include "resp/resp.h"
#include "service/lock.h"
#include "service/tally.h"

#define CV_TOO_MANY_CLIENTS "ERR max number of clients reached"
#define CV_NO_QUORUM "NOQUORUM a majority of the group cannot be reached"
#define CV_SESSION_INPUT_BYTES ((size_t)64 << 10) /* more than any command; the rest is room behind one that waits */
#define CV_SESSION_HIGH_WATER ((size_t)256 << 10)
#define CV_NEWS_BYTES 2048u /* of what an observer is told, at most */

/* UNLOCK, RENEW or RESIGN by fence, as it was asked for. */
struct cv_peer_request_order {
    uint64_t fence;
    uint64_t digest[2]; /* of the secret; 0: none is shown */
    uint64_t kinds;     /* enum cv_hold_kinds: what it may be about */
    uint64_t ttl_ms;    /* with a secret, RENEW claims what everybody has forgotten; 0: it does not */
    bool shared;
    bool renews;
};

#define CV_ERRAND_LISTS 1024u

/*
 * Such an order about a hold that is not here, or while this node cannot say: the command waits. All other members are
 * asked; the first yes or the last no is the answer. In a new view, and after a while, they are asked again. A yes is
 * true whenever it was asked for; a no may be of a view that is over, and counts only as an answer to the last
 * question.
 */
struct cv_peer_request {
    struct cv_alarm alarm;                   /* asks again, or gives up */
    struct cv_peer_request *next, *previous; /* in the same list of the service's */
    struct cv_peer_request_order order;
    char *name; /* NULL: there is none */
    size_t name_length;
    uint64_t number;  /* of this request */
    uint32_t attempt; /* how often the others were asked */
    uint64_t until_us;
    cv_set awaited;  /* members that have yet to answer */
    bool unasked;    /* somebody who may know cannot be asked now */
    bool unanswered; /* somebody who was asked to end it has not answered, and never will */
};

/* What a session holds, though another member keeps it now. */
struct cv_proof {
    struct cv_proof *next;
    uint64_t fence, digest[2];
    size_t name_length;
    char name[];
};

struct cv_session {
    struct cv_stream stream; /* first */
    struct cv_service *service;
    struct cv_session *next, *previous;
    struct cv_resp_writer out;
    struct cv_wait wait;
    struct cv_peer_request request;
    struct cv_hold *granting; /* enough members have yet to know it */
    struct cv_hold *holds;
    struct cv_proof *proofs;
    struct cv_watch *watches;
    uint64_t holding, observing; /* how many those are */
    struct cv_listing *listing;  /* LOCKS that is being answered, or NULL */
    struct cv_chore chore;       /* more commands have come than one turn of the loop has time for */
    struct cv_alarm unfinished;  /* a command has begun, and has to end by then */
    uint64_t number;
    struct cv_visitor visitor;
    char identity[CV_KEY_NAME_BYTES + 1];
    const struct cv_acl *acl; /* what it may do; NULL: everything */
    size_t read;              /* bytes of `in` that are dealt with */
    struct cv_alarm stay;     /* in a place that is kept, until then */
    bool kept;                /* it has such a place */
    bool leaving;             /* closes once everything is written */
    bool crowded;             /* its output has to drain before it is listened to again */
};

struct cv_pulse;

struct cv_service {
    struct cv_member *member;
    struct cv_algorithm_host *host; /* the member's */
    struct cv_loop *loop;
    struct cv_alarms *alarms;
    struct cv_session *sessions;
    struct cv_hold *spare;
    uint64_t session_count, session_total, most_sessions;
    uint64_t kept_count;        /* of the sessions, in places that are kept */
    uint64_t rejected;          /* for want of a place */
    uint64_t client_timeout_ms; /* of a TCP connection whose other end does not answer */
    uint64_t commands, errands;
    struct cv_peer_request *pending[CV_ERRAND_LISTS]; /* those that wait, by number */
    struct cv_alarm grace;                            /* is over */
    struct cv_alarm delay;                            /* a lock-delay is over, the first of them at */
    uint64_t delay_due_us;                            /* 0: there is none */
    uint64_t dropped_observers;
    uint64_t dropped_unfinished; /* whose command did not end in time */
    uint64_t refused_output;     /* answers that were too long, or too many */
    uint64_t observing;          /* all that clients observe */
    struct cv_listing *listings;
    uint64_t listing_count, listings_started;
    struct cv_listing_part *waste; /* of answers that nobody wants any more */
    struct cv_chore waste_chore;
    struct cv_resp_pool output;
    const struct cv_limits *limits;
    uint64_t sharing_notices; /* sent, to share with readers of other nodes */
    struct cv_door door;      /* for those who have not proved who they are */
    uint64_t refused;         /* who could not, or may do nothing here */
    uint64_t http_requests;   /* that came to the port of RESP */
    struct cv_tally tally;
    int64_t started_ms;           /* since 1970 */
    const struct cv_pulse *pulse; /* of the loop, or NULL */
    struct cv_listener listeners[4];
    uint32_t listener_count;
};

/* Makes the service the one that the member tells of entries and views. */
void cv_service_init(struct cv_service *service, struct cv_member *member, const struct cv_settings *settings);
int cv_service_listen(struct cv_service *service, const char *what, const char *address,
                      struct cv_complaint *complaint);
/* The ACLs have changed: who may do nothing any more has to go, and waits only for what it still may have. */
void cv_service_reconsider(struct cv_service *service);
void cv_service_close(struct cv_service *service);
void cv_service_free(struct cv_service *service);

/* ---- session.c ---- */

/* It has a hold, of which its client is told now or later. */
void cv_session_take(struct cv_session *session, struct cv_hold *hold);
void cv_session_granted(struct cv_hold *hold);
/* Another member keeps it now. */
void cv_session_hand_over(struct cv_hold *hold);
void cv_session_lost(struct cv_hold *hold);
/* Nothing is to be waited for now. */
void cv_session_no_quorum(struct cv_wait *wait);
void cv_session_no_memory(struct cv_wait *wait);
/* The hold is over: it leaves its session's list. */
void cv_session_drop(struct cv_hold *hold);
/* Tells all who observe it who leads now. */
void cv_session_observe(const struct cv_lock *lock);
void cv_session_unobserve(struct cv_watch *watch);
/* It has waited long enough. */
void cv_session_in_vain(struct cv_wait *wait);

/* Makes it act under that name from now on; false if nobody may do anything under it. */
bool cv_session_become(struct cv_session *session, const char *identity);

/* ---- places.c ---- */

enum cv_place { CV_PLACE_FREE, CV_PLACE_KEPT, CV_PLACE_NONE };
/* Where somebody who connects can go; `local`: by a Unix socket. */
enum cv_place cv_places_find(const struct cv_service *service, bool local);
/* Tells it that there is no place, and closes. */
void cv_places_refuse(struct cv_service *service, struct cv_session *session);
void cv_places_keep(struct cv_session *session);
void cv_places_leave(struct cv_session *session);
/* May a session do that where it is? If not, it is told so, and ends. */
bool cv_places_allow(struct cv_session *session, bool harmless);

/* ---- access.c: AUTH and ACL ---- */

/* May it? If not, it is told so. */
bool cv_access_allowed(struct cv_session *session, enum cv_right right, struct cv_text name);
void cv_access_auth(struct cv_session *session, const struct cv_resp_command *command);
/* Tells, if it is not so: the secret is that of the key of that name. */
bool cv_access_prove(struct cv_session *session, struct cv_text name, struct cv_text secret);
void cv_access_acl(struct cv_session *session, const struct cv_resp_command *command);

/* ---- commands.c ---- */

void cv_command_run(struct cv_session *session, const struct cv_resp_command *command);

/* Ends or renews a hold; what to tell the client, below 0: nothing to end, nothing to renew. */
int64_t cv_command_end(struct cv_hold *hold);
int64_t cv_command_renew(struct cv_hold *hold);
/* What a client may end or renew: its rights for locks and for elections are not the same. */
enum cv_hold_kinds { CV_HOLD_LOCK = 1, CV_HOLD_LEADER = 2 };
/* Claims what it was promised before everybody forgot. */
void cv_command_claim(struct cv_session *session, struct cv_text name, const struct cv_peer_request_order *order);
struct cv_hold *cv_command_find(const struct cv_service *service, struct cv_text name, uint64_t fence, uint64_t kinds);

/* ---- request.c ---- */

void cv_peer_request_run(struct cv_session *session, struct cv_text name, const struct cv_peer_request_order *order);
/* What it came to. */
void cv_peer_request_answer(struct cv_session *session, bool renews, int64_t value);
void cv_peer_request_again(struct cv_alarm *alarm);
/* This node can say again what it could not, or others can be asked. */
void cv_peer_request_resume(void *context);
void cv_peer_request_drop(struct cv_session *session);
void cv_peer_request_hear_question(struct cv_service *service, const struct peer_notice *notice);
void cv_peer_request_hear_answer(struct cv_service *service, const struct peer_notice *notice);

/* ---- attempt.c: WAIT 0 ---- */

/* Asks all members whether they are inside. */
void cv_try_lock_ask(struct cv_wait *wait);
/* Is there somebody inside, by this node, so that nobody else gets in at once? */
bool cv_try_lock_is_hopeless(const struct cv_lock *lock, bool shares);
void cv_try_lock_hear_question(struct cv_service *service, const struct peer_notice *notice);
void cv_try_lock_hear_answer(struct cv_service *service, const struct peer_notice *notice);

/* ---- ttl_promise.c ---- */

void cv_ttl_hear_promise(struct cv_service *service, const struct peer_notice *notice);
void cv_ttl_hear_promised(struct cv_service *service, const struct peer_notice *notice);
void cv_ttl_hear_over(struct cv_service *service, const struct peer_notice *notice);
/* The disk covers longer times to live than before. */
void cv_ttl_covered(void *context);
/* Is a time of grace on, in which names are given only to those who claim them? */
bool cv_ttl_in_grace(const struct cv_service *service);

/* ---- leader.c ---- */

void cv_leader_heard(struct cv_service *service, const struct peer_notice *notice);
/* A member knows that the leader of that fence has ended. */
void cv_leader_hear_known(struct cv_service *service, const struct peer_notice *notice);

/* ---- membership.c ---- */

void cv_membership_join(struct cv_session *session, const struct cv_resp_command *command);
void cv_membership_leave(struct cv_session *session, const struct cv_resp_command *command);
void cv_membership_replace(struct cv_session *session, const struct cv_resp_command *command);
void cv_membership_terms(struct cv_session *session, const struct cv_resp_command *command);

/* ---- listing.c: LOCKS ---- */

void cv_listing_begin(struct cv_session *session, const struct cv_resp_command *command);
/* The answer is whole: it goes out when what was said before has. */
bool cv_listing_is_ready(const struct cv_session *session);
/* Sends some of it; nothing else may be sent before its end. */
bool cv_listing_is_begun(const struct cv_session *session);
void cv_listing_send(struct cv_session *session);
void cv_listing_end(struct cv_session *session);
/* Gives back some of what is left of others. */
void cv_listing_clean(struct cv_chore *chore);
/* A name is gone, and the last one has taken its place. */
void cv_listing_moved(struct cv_service *service, const struct cv_instance *gone);

/* ---- facts.c: what the node shows of itself ---- */

/* An item of LOCKS. */
void cv_info_lock(struct cv_resp_writer *out, const struct cv_lock *lock);
void cv_info_view(struct cv_session *session, const struct cv_resp_command *command);
void cv_info_info(struct cv_session *session, const struct cv_resp_command *command);
/* nil, or name, fence and node of who leads. */
void cv_info_leader(struct cv_session *session, const struct cv_lock *lock);

#endif
