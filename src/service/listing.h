// SPDX-License-Identifier: MIT
/*
 * LOCKS, WAITERS and ASKBACK: answers that all members have a part in. LOCKS may have a hundred thousand items, so the
 * answer is made and sent in parts.
 *
 * The other members are asked at the same time (service/listing_pages.c). Each answers with a page of items and where
 * its next page begins, so that no answer fills the link between two members. A member that is suspected, or is not
 * heard for long, is left out, and the answer says so.
 */
#ifndef CONCLAVE_SERVICE_LISTING_H
#define CONCLAVE_SERVICE_LISTING_H

#include "core/glob.h"
#include "service/listed.h"
#include "service/session.h"

#define LISTING_WAITERS 256u /* told by one member, at most */

enum listing_kind { LISTING_LOCKS, LISTING_WAITERS_OF, LISTING_ASK_BACK };

struct listing_part;

/* A client that waits, in an answer to WAITERS. */
struct listing_waiter {
    cv_id node;
    struct listed item; /* its texts are not valid any more */
    size_t client_length;
    char client[CV_CLIENT_NAME_BYTES];
};

struct listing {
    struct cv_chore chore;
    struct session *session;
    enum listing_kind kind;
    struct listing *next, *previous; /* in the list of all that are being made or sent */
    size_t cursor;                   /* names before it have been looked at */
    uint64_t count;                  /* items so far; of ASKBACK: holders that were asked */
    size_t bytes;                    /* of all parts */
    struct cv_resp_writer out;       /* the newest part */
    struct listing_part *first, **end;
    bool started;                     /* it has begun to look at names; until then others come first */
    bool walked;                      /* all names of this node have been looked at */
    bool whole;                       /* all members have answered or are left out: it may be sent */
    bool begun;                       /* some of it has been sent */
    bool failed;                      /* it is too long, or too many answers are being made */
    struct cv_glob_prepared *pattern; /* only names that match; NULL: all names */

    struct listing_waiter *waiters; /* in the order of each node, one node after the other */
    size_t waiter_count, waiter_room;

    /* The other members. */
    struct cv_alarm alarm; /* looks whether they may still answer */
    uint64_t until_us;     /* by then they should have answered */
    uint64_t ticket;
    uint64_t kinds; /* of ASKBACK: enum hold_kinds */
    cv_set awaited; /* they have yet to answer, or to answer for the rest */
    cv_set silent;  /* they cannot be asked, or have not answered */
    size_t name_length;
    char name[CV_NAME_BYTES]; /* the pattern, or the name */
};

/* LOCKS [LOCAL] [pattern] */
void listing_locks(struct session *session, const struct cv_resp_command *command);
/* WAITERS name */
void listing_waiters(struct session *session, struct cv_text name);
/* ASKBACK name; `kinds`: what the session may ask for (enum hold_kinds). */
void listing_ask_back(struct session *session, struct cv_text name, uint64_t kinds);
/* Is the answer complete? It goes out after everything that was said before. */
bool listing_is_ready(const struct session *session);
/* Has it begun to go out? Then nothing else may be sent before its end. */
bool listing_is_begun(const struct session *session);
/* Sends some of it. */
void listing_send(struct session *session);
void listing_end(struct session *session);
/* Frees some parts of answers that are not wanted any more. */
void listing_discard(struct cv_chore *chore);
/* A name is gone, and the last one has taken its place among the host's names. */
void listing_moved(struct cv_service *service, const struct cv_instance *gone);

/* ---- for listing_pages.c ---- */

/* Adds an item that the node of that id has told. */
void listing_add(struct listing *listing, cv_id node, const struct listed *item);
/* Completes the answer, if all who are expected to have answered. */
void listing_complete(struct listing *listing);

#endif
