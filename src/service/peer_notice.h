// SPDX-License-Identifier: MIT
/*
 * Notices: what the services of a group tell each other about a name. The member carries them as bytes. peer_notice.c
 * has the table of kinds: what each is about, which numbers it carries, and which function hears it.
 */
#ifndef CONCLAVE_SERVICE_PEER_NOTICE_H
#define CONCLAVE_SERVICE_PEER_NOTICE_H

#include "live/member.h"

struct cv_service;

enum peer_notice_kind {
    PEER_NOTICE_LEADS,    /* an election: a client of the sender leads */
    PEER_NOTICE_LED,      /* that client leads no more; answered with KNOWS */
    PEER_NOTICE_KNOWS,    /* the sender has heard that the leader of that fence leads no more */
    PEER_NOTICE_UNLOCK,   /* a client of the sender ends a hold that the sender does not keep; answered with ANSWER */
    PEER_NOTICE_RENEW,    /* a client of the sender renews such a hold; answered with ANSWER */
    PEER_NOTICE_ANSWER,   /* what became of it */
    PEER_NOTICE_STANDS,   /* the sender's best candidate in an election */
    PEER_NOTICE_TRY,      /* a client of the sender tries a lock: is the receiver inside? */
    PEER_NOTICE_BUSY,     /* it is */
    PEER_NOTICE_SHARING,  /* readers of several nodes inside together: service/sharing.h */
    PEER_NOTICE_PROMISE,  /* the sender has granted a hold with a time to live */
    PEER_NOTICE_PROMISED, /* the sender knows the promise of that fence */
    PEER_NOTICE_OVER,     /* the hold of that fence has ended */
    PEER_NOTICE_LIST,     /* LOCKS: which names are held or waited for at the receiver? Answered with PAGE */
    PEER_NOTICE_WAITERS,  /* WAITERS: who waits at the receiver? Answered with PAGE */
    PEER_NOTICE_ASK_BACK, /* ASKBACK: the receiver is to ask its clients that hold the name; answered with PAGE */
    PEER_NOTICE_FORCE, /* an operator at the sender forces a hold that the sender does not keep; answered with ANSWER */
    PEER_NOTICE_FORCED, /* the sender keeps a hold that an operator has forced; answered with FORCED: it knows that */
    PEER_NOTICE_PAGE,   /* the sender's part of the answer to LIST, WAITERS or ASK_BACK */
    PEER_NOTICE_LOOK,   /* a client of the sender asks about a hold; answered with ANSWER */
    PEER_NOTICE_WATCH,  /* clients of the sender watch a lock, or do not any more (`shared`) */
    PEER_NOTICE_ASK,    /* a recipe: the receiver, the name's primary, is to carry out an order; answered with DONE */
    PEER_NOTICE_DONE,   /* what became of it */
    PEER_NOTICE_STATE,  /* a recipe: what the group remembers of the name, from its primary or to it */
    PEER_NOTICE_COPY,   /* a recipe: what has become of that state, at a member or in the group */
    PEER_NOTICE_KINDS
};

#define MOST_PERMITS 1000000u                     /* of a semaphore */
#define PEER_NOTICE_NUMBERS 20u                   /* that a notice can carry */
#define PEER_NOTICE_TEXTS 5u                      /* that a notice can carry */
#define PEER_NOTICE_PAGE_BYTES ((size_t)32 << 10) /* of the longest text: a page of an answer */

/* Room for the body of any notice: the numbers, the lengths of the texts, their bytes. */
struct peer_notice_body {
    uint64_t words[PEER_NOTICE_NUMBERS + (PEER_NOTICE_PAGE_BYTES + 4 * CV_VALUE_BYTES) / 8 + 4];
};

/*
 * A notice of any kind. Each kind carries some of the numbers and texts. The other numbers are 0, the other texts start
 * at NULL, as does a text that its sender does not have.
 */
struct peer_notice {
    enum peer_notice_kind kind;
    cv_node from; /* a notice that is heard: the sender */
    bool current; /* a notice that is heard: it was sent in this view */
    enum cv_subject subject;
    struct cv_text name;
    uint64_t fence;
    uint64_t session;      /* of a client, as its node counts them */
    uint64_t origin;       /* the id of the node that granted the hold */
    uint64_t ticket;       /* chosen by the sender of a question, repeated in the answer */
    uint64_t hold_kinds;   /* enum hold_kinds: what the question may be about */
    uint64_t result;       /* an int64_t: what to tell the client; below 0: there is no such hold here */
    uint64_t attribute;    /* of the best candidate; 0: the sender has none */
    uint64_t shared;       /* 1: the client would share; it watches */
    uint64_t sharing_kind; /* enum sharing_kind */
    uint64_t generation;   /* of readers; 0: the hold is not shared */
    uint64_t first;        /* the first of the fences that are lent */
    uint64_t entry;        /* the algorithm's fence of the sender's entry */
    uint64_t ttl_ms;
    uint64_t digest[2];    /* of a secret; 0: none is shown */
    uint64_t cursor;       /* where the page begins that is asked for, or the one after this; 0: this was the last */
    uint64_t permits;      /* of a semaphore; 0: the name is none */
    uint64_t asked_back;   /* 1: somebody asks for the hold that was renewed */
    uint64_t recipe;       /* which, and what is wanted of it: service/replica.h */
    uint64_t amount;       /* that a client has said */
    struct cv_text client; /* the name that a client has given itself */
    struct cv_text value;  /* that a leader publishes */
    struct cv_text page;   /* items: service/listed.h */
    struct cv_text admin;  /* the operator's identity */
    struct cv_text reason; /* the operator's reason */
};

/* The notice as the member carries it, with its body. */
struct cv_notice peer_notice_write(const struct peer_notice *notice, struct peer_notice_body *body);
/* NULL, or what is wrong: such a notice is forged. */
const char *peer_notice_read(const struct cv_notice *carried, struct peer_notice *notice);

/* Would a member read the notice, and not cut off its sender? */
bool peer_notice_is_valid(const struct peer_notice *notice);
/* Tells one member, or everybody else in the view (CV_NOBODY). The members that are told; none if it is not valid. */
cv_set peer_notice_send(const struct cv_service *service, cv_node to, const struct peer_notice *notice);
/* Reads and checks a notice of another member, and passes it to its handler. A member that forges one is cut off. */
void peer_notice_heard(void *context, cv_node from, const struct cv_notice *carried);

#endif
