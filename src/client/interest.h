// SPDX-License-Identifier: MIT
/* What a session holds, leads or observes, how it is renewed, and what becomes of it. */
#ifndef CONCLAVE_CLIENT_INTEREST_H
#define CONCLAVE_CLIENT_INTEREST_H

#include "client/client_session.h"

/*
 * Up to RUNS the session has something that it can lose: a lock, a leadership, its place inside a double barrier, or
 * the run of what is done once; the last two end with the connection. From OBSERVED on it looks on at an election or at
 * a lock, is a member of a name, or looks on at the members. The `fence` of the last two is 0 while the server does not
 * know it.
 */
enum cv_client_kind {
    CV_CLIENT_HELD,
    CV_CLIENT_LED,
    CV_CLIENT_INSIDE,
    CV_CLIENT_RUNS,
    CV_CLIENT_OBSERVED,
    CV_CLIENT_WATCHED,
    CV_CLIENT_JOINED,
    CV_CLIENT_GROUP
};

struct cv_client_interest {
    struct cv_client_interest *next;
    enum cv_client_kind kind;
    uint64_t fence;
    uint64_t ttl_ms; /* 0: ends with the session */
    bool shared;
    uint64_t again;                /* how often it was taken again, and not given back */
    uint32_t permits;              /* of a semaphore; 0: it is none */
    int64_t ends_ms;               /* surely held until then */
    int64_t renew_ms;              /* the server is to be asked then */
    struct conclave_leader leader; /* of an observed election or a watched lock: the one told last */
    struct cv_text value; /* of a leadership or a member: what it publishes, after the name; starts at NULL: nothing */
    char name[];
};

/* An event that the program has not taken yet. */
struct cv_client_event {
    struct cv_client_event *next;
    struct conclave_event event;
};

struct cv_client_interest *cv_client_remember(struct conclave *session, enum cv_client_kind kind, const char *name,
                                              struct cv_text value);
/* The lock or the leadership of that name and fence; 0: of any fence. */
struct cv_client_interest *cv_client_find(const struct conclave *session, const char *name, uint64_t fence);
struct cv_client_interest *cv_client_find_kind(const struct conclave *session, enum cv_client_kind kind,
                                               const char *name);
void cv_client_forget(struct conclave *session, struct cv_client_interest *interest);

/* The interest is held until so much after the moment the server was asked; -1: it does not run out. */
void cv_client_extend(struct cv_client_interest *interest, int64_t asked_ms, int64_t left_ms);
/* Adds the words for a semaphore, if it is one; `text` is room for one of them. */
void cv_client_want_permits(uint32_t permits, char text[24], struct cv_client_words *words);
/* Adds to a RENEW what lets any server answer it; `ttl` is the interest's time to live, and
 * `permits` room for a word. */
void cv_client_show_secret(const struct conclave *session, const struct cv_client_interest *interest, const char *ttl,
                           char permits[24], struct cv_client_words *words);

/* The connection has ended. */
void cv_client_disconnected(struct conclave *session);
void cv_client_pushed(struct conclave *session, struct cv_text push);
/* The answer to a question that was asked without waiting. */
void cv_client_answered(struct conclave *session, const struct cv_client_question *question, struct cv_text answer);

/* Reads a leader as LEADER and OBSERVE tell it. */
int cv_client_read_leader(struct conclave *session, struct cv_text answer, struct conclave_leader *leader);

#endif
