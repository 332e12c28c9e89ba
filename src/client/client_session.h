// SPDX-License-Identifier: MIT
/*
 * The inside of libconclave: a connection, the questions under way on it, and what the session is interested in.
 *
 * A server answers in the order it is asked. Most questions are asked by a function that waits for the answer; renewals
 * and repeated observations are asked in passing, and their answers are used whenever they come. Pushes may come
 * between.
 */
#ifndef CONCLAVE_CLIENT_CLIENT_SESSION_H
#define CONCLAVE_CLIENT_CLIENT_SESSION_H

#include <conclave/conclave.h>

#include "client/line.h"
#include "resp/resp.h"

#define CV_CLIENT_NEVER INT64_MAX

enum cv_client_kind { CV_CLIENT_HELD, CV_CLIENT_LED, CV_CLIENT_OBSERVED };

struct cv_client_interest {
    struct cv_client_interest *next;
    enum cv_client_kind kind;
    uint64_t fence;
    uint64_t ttl_ms; /* 0: ends with the session */
    bool shared;
    int64_t ends_ms;               /* surely held until then */
    int64_t renew_ms;              /* the server is to be asked then */
    struct conclave_leader leader; /* the one told last, of an observed election */
    char name[];
};

/* A question that the server has not answered yet. */
struct cv_client_question {
    struct cv_client_question *next;
    struct cv_client_interest *about; /* NULL: whoever it was about is gone, or the asker waits for the answer */
    bool awaited;
    int64_t asked_ms;
};

struct cv_client_event {
    struct cv_client_event *next;
    struct conclave_event event;
};

struct conclave {
    char *servers;
    size_t turn; /* of the servers: where to look for one next */
    int timeout_ms;
    char secret[33]; /* of what it holds: with it other servers renew and end that, too */
    bool forsaken;   /* the server has no majority, and another may have one */
    int fd, wake;    /* the connection, -1 if there is none; what conclave_interrupt() writes to */
    int64_t retry_ms;
    struct cv_tls_context *credentials; /* NULL: plaintext */
    struct cv_tls *tls;                 /* of the connection; NULL: plaintext */

    struct cv_resp_writer out;
    char *in;
    size_t in_length, in_capacity, in_used; /* in_used: bytes of the answer given out last */
    struct cv_resp_scan scan;

    struct cv_client_question *first_question, **last_question;
    struct cv_client_question last_resort; /* without memory there is one: what is held can be given back */
    bool last_resort_used;
    struct cv_client_interest *interests;
    struct cv_client_event *first_event, **last_event;
    char why[512];
};

int64_t cv_client_now_ms(void);

/* Keeps one line about a failure and returns the error, so that a check can `return cv_client_fail(...)`. */
int cv_client_fail(struct conclave *session, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- connect.c ---- */

/* Connects with the server at `place` (host:port or a path), by TLS if need be. 0 or an error, which is told. */
int cv_client_dial(struct conclave *session, struct cv_text place);

/* How many servers the list names, and the one whose turn it is. */
size_t cv_client_servers(const char *list);
struct cv_text cv_client_server(const char *list, size_t turn);

/* ---- session.c ---- */

/* Makes sure there is a connection: tries each server once if there is none. */
int cv_client_connect(struct conclave *session);

/* Ends the connection: what ends with it is lost, the rest will be asked for again. */
void cv_client_disconnect(struct conclave *session);

/* Asks, and waits for the answer, until `until_ms` at most. An error the server tells is an error here. The answer lies
   in the session's buffer until the next call. After CONCLAVE_INTERRUPTED the connection is gone, but there may be an
   answer all the same. */
struct cv_client_words {
    size_t count;
    const char *word[12];
};
int cv_client_ask(struct conclave *session, const struct cv_client_words *words, int64_t until_ms,
                  struct cv_text *answer);

/* Asks in passing. */
int cv_client_mention(struct conclave *session, const struct cv_client_words *words, struct cv_client_interest *about);

/* Sends and receives what is possible now, without waiting. There must be a connection. */
int cv_client_exchange(struct conclave *session);

/* Waits until there is something to receive, or `until_ms`. 0, CONCLAVE_INTERRUPTED or CONCLAVE_NO_MEMORY. */
int cv_client_wait(struct conclave *session, int64_t until_ms);

/* ---- interest.c ---- */

struct cv_client_interest *cv_client_remember(struct conclave *session, enum cv_client_kind kind, const char *name);
struct cv_client_interest *cv_client_find(const struct conclave *session, const char *name, uint64_t fence);
void cv_client_forget(struct conclave *session, struct cv_client_interest *interest);

/* The interest is held until so much after the moment the server was asked; -1: it does not run out. */
void cv_client_extend(struct cv_client_interest *interest, int64_t asked_ms, int64_t left_ms);

void cv_client_show_secret(const struct conclave *session, const struct cv_client_interest *interest, const char *ttl,
                           struct cv_client_words *words);

/* What the connection's end, a push, and the answer to a question asked in passing mean. */
void cv_client_disconnected(struct conclave *session);
void cv_client_pushed(struct conclave *session, struct cv_text push);
void cv_client_answered(struct conclave *session, const struct cv_client_question *question, struct cv_text answer);

/* A leader as LEADER and OBSERVE tell it. */
int cv_client_read_leader(struct conclave *session, struct cv_text answer, struct conclave_leader *leader);

/* ---- lock.c ---- */

int cv_client_check_name(struct conclave *session, const char *name);

/* The words for a time to live; `ttl` is room for one of them. */
void cv_client_want_ttl(const struct conclave *session, uint64_t ttl_ms, char ttl[24], struct cv_client_words *words);

/* It was granted. If that took long its time is asked for. */
int cv_client_begin(struct conclave *session, enum cv_client_kind kind, const char *name, uint64_t fence,
                    uint64_t ttl_ms, bool shared, int64_t asked_ms);

/* Ends what has that fence, by UNLOCK or RESIGN, with another server if the first is lost meanwhile. */
int cv_client_end(struct conclave *session, const char *command, const char *name, uint64_t fence, bool secret);

/* Asks for something worth waiting for, with other servers too if the one that was asked is lost meanwhile. */
int cv_client_acquire(struct conclave *session, const struct cv_client_words *words, uint64_t wait_ms, uint64_t *fence,
                      int64_t *asked_ms);

#endif
