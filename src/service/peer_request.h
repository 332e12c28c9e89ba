// SPDX-License-Identifier: MIT
/* UNLOCK, RENEW, RESIGN and FORCE by fence: of holds that this node keeps, or that another member does. */
#ifndef CONCLAVE_SERVICE_PEER_REQUEST_H
#define CONCLAVE_SERVICE_PEER_REQUEST_H

#include "core/kept_text.h"
#include "service/peer_notice.h"

#define PEER_REQUEST_LISTS 1024u

struct lock;
struct lock_hold;
struct session;

/* The kinds of holds. A client's rights for locks and for elections are not the same. */
enum hold_kinds { HOLD_LOCK = 1, HOLD_LEADER = 2 };

/* What has become of such a command. */
struct peer_request_result {
    int64_t value;        /* what to tell the client; below 0: there is no such hold */
    uint64_t fence;       /* of a hold that was looked at */
    bool asked_back;      /* somebody asks for a hold that was renewed */
    struct cv_text token; /* the value that it was taken with; starts at NULL: none */
};

/* The command as the client gave it. */
struct peer_request_order {
    uint64_t fence;     /* 0: of the hold with that secret; without one, of any hold, which can be looked at */
    uint64_t digest[2]; /* of the secret; 0: none is shown */
    uint64_t kinds;     /* enum hold_kinds: what it may be about */
    uint64_t ttl_ms;    /* not 0: with a secret, RENEW claims a hold that everybody has forgotten */
    uint64_t permits;   /* of a semaphore, that is claimed */
    uint64_t lasts_ms;  /* not 0: the time to live that a renewal gives the hold from now on */
    bool shared;
    bool renews;
    struct cv_kept_text *reason; /* FORCE: an operator's reason; NULL: it is another command */
    bool again;                  /* it was carried out, and enough members have yet to know it */
    bool looks;                  /* it changes nothing, and asks how long the hold lasts */
    bool takes_again;            /* LOCK with REENTRANT: renews what the session holds, and tells the fence */
    bool deadline;               /* ... and how long the hold lasts, too */
    uint64_t patience_us;        /* it does not wait longer for an answer; 0: as long as it takes to find out */
    /* Hears the result; NULL: an error was written. Without it, the client is told as by UNLOCK and RENEW. */
    void (*done)(struct session *session, const struct peer_request_result *result);
};

/*
 * Such a command about a hold that is not here, or while this node cannot say: the client waits. All other members are
 * asked; the first yes or the last no is the answer. They are asked again in a new view, and after a while. A yes is
 * true whenever it was asked for. A no may be of a view that is over, and counts only as an answer to the last
 * question.
 *
 * A client is told at once that its hold is over, but not by a keeper that may be left out of the next view: a member
 * that such a keeper did not reach in this view would bring the hold back. So it tells all members that the hold is
 * over, and then asks them to end it: whoever answers knows. It ends the hold when all of them have answered in this
 * view, and nobody can renew the hold meanwhile: most may have forgotten it. In the next view all know again what the
 * keeper says: there it begins anew, and the client, or its node, asks again.
 */
struct peer_request {
    struct cv_alarm alarm;         /* asks again, or gives up */
    struct peer_request *next;     /* in the same list of the service's */
    struct peer_request *previous; /* in that list */
    struct peer_request_order order;
    char *name; /* NULL: there is no request */
    size_t name_length;
    uint64_t number;   /* of this request */
    uint32_t attempt;  /* how often the others were asked */
    uint64_t until_us; /* then it gives up */
    cv_set awaited;    /* members that have yet to answer */
    bool unasked;      /* a member that may know cannot be asked now */
    bool held_anew;    /* FORCE: the name is held, but not under that fence */
    bool not_theirs;   /* another member has the hold of that fence, and its secret is another one */
    bool unanswered;   /* a member that was asked to end the hold has not answered, and never will */
};

void peer_request_run(struct session *session, struct cv_text name, const struct peer_request_order *order);
/* The same by the fence that a client has named: one that no hold can have is answered at once. */
void peer_request_run_by_fence(struct session *session, struct cv_text name, const struct peer_request_order *order);
/* Tells the client what has become of it. */
void peer_request_answer(struct session *session, const struct peer_request_order *order, int64_t value);
/* Enough members know that a hold lasts longer, or (-1) it never will: those that have asked for it are told. */
void peer_request_lengthened(struct lock_hold *hold, int64_t value);
/* Enough members know that a hold is forced, or it is `over`: who wanted that, and waits, is told. */
void peer_request_known(struct lock_hold *hold, bool over);
/* A view begins while a hold is ending. */
void peer_request_end_anew(struct lock_hold *hold);
/* Asks again, or gives up. */
void peer_request_retry(struct cv_alarm *alarm);
/* This node can say again what it could not, or others can be asked. */
void peer_request_resume(void *context);
void peer_request_drop(struct session *session);
/* Has the session asked for the end of that hold, and waits for the answer? */
bool peer_request_ends(const struct session *session, const struct lock *lock, uint64_t fence);

/* Another member asks this one to end or renew a hold. */
void peer_request_hear_question(struct cv_service *service, const struct peer_notice *notice);
void peer_request_hear_answer(struct cv_service *service, const struct peer_notice *notice);

#endif
