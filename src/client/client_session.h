// SPDX-License-Identifier: MIT
/*
 * The inside of libconclave: a connection, the questions that are open on it, and what the session is interested in.
 *
 * A server answers in the order it is asked. Most questions are asked by a function that waits for the answer. Renewals
 * and repeated observations are asked without waiting, and their answers are used whenever they come. Pushes may come
 * between.
 *
 * Functions here have a prefix although they are internal: a program that links the static library sees their names.
 */
#ifndef CONCLAVE_CLIENT_CLIENT_SESSION_H
#define CONCLAVE_CLIENT_CLIENT_SESSION_H

#include <conclave/conclave.h>

#include "client/line.h"
#include "resp/resp_read.h"
#include "resp/resp_write.h"

#define CV_CLIENT_NEVER INT64_MAX

struct cv_client_interest;

/* A question that the server has not answered yet. */
struct cv_client_question {
    struct cv_client_question *next;
    struct cv_client_interest *about; /* NULL: that interest is gone, or the asker waits for the answer */
    bool awaited;                     /* the asker waits for the answer */
    int64_t asked_ms;
};

struct conclave {
    char *servers;
    size_t turn; /* the server in the list to try next */
    int timeout_ms;
    char *client; /* the name by which servers show this client, or NULL */
    void (*told_position)(void *context, const char *name, uint64_t position); /* or NULL */
    void *position_context;
    char secret[33]; /* of what it holds: with it other servers renew and end that, too */
    bool forsaken;   /* the server has no majority, and another may have one */
    int fd;          /* the connection, -1 if there is none */
    int wake;        /* conclave_interrupt() writes to it */
    int64_t retry_ms;
    struct cv_tls_context *credentials; /* NULL: plaintext */
    struct cv_tls *tls;                 /* of the connection; NULL: plaintext */

    struct cv_resp_writer out;
    char *in;
    size_t in_length;
    size_t in_capacity;
    size_t in_used; /* bytes of the answer given out last */
    struct cv_resp_scan scan;

    struct cv_client_question *first_question, **last_question;
    struct cv_client_question last_resort; /* used without memory, so that what is held can be given back */
    bool last_resort_used;
    struct cv_client_interest *interests;
    struct cv_client_event *first_event, **last_event;
    char why[512]; /* the last failure, in one line */
};

/* Keeps one line about a failure and returns the error, so that a check can `return cv_client_fail(...)`. */
int cv_client_fail(struct conclave *session, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same for CONCLAVE_NO_MEMORY. */
int cv_client_no_memory(struct conclave *session);

/* Makes sure there is a connection: tries each server once if there is none. */
int cv_client_connect(struct conclave *session);
/* A server that lets a client wait for a lock may be right, or may hang. Does it still answer others? */
bool cv_client_still_answers(const struct conclave *session);
/* Tries one server, for so long at most: the caller has something else to do then. */
int cv_client_connect_within(struct conclave *session, int timeout_ms);
/* Ends the connection. What ends with it is lost; the rest will be asked for again. */
void cv_client_disconnect(struct conclave *session);

#define CV_CLIENT_WORDS 40 /* of a command: more than any server reads */

/* A command. */
struct cv_client_words {
    size_t count;
    const char *word[CV_CLIENT_WORDS];
    size_t names;         /* so many names at its end come after all options; 0: the name comes before them */
    bool knows_no_wait;   /* the time to wait is not told, and this side ends it */
    struct cv_text value; /* of any bytes, after all others and the word VALUE; starts at NULL: there is none */
};

/*
 * Asks, and waits for the answer, until `until_ms` at most. An error that the server tells is an error here. The answer
 * lies in the session's buffer until the next call. After CONCLAVE_INTERRUPTED the connection is gone, but there may be
 * an answer all the same.
 */
int cv_client_ask(struct conclave *session, const struct cv_client_words *words, int64_t until_ms,
                  struct cv_text *answer);
/* Asks without waiting. */
int cv_client_mention(struct conclave *session, const struct cv_client_words *words, struct cv_client_interest *about);
/* Sends and receives what is possible now, without waiting. There must be a connection. */
int cv_client_exchange(struct conclave *session);
/* Waits until there is something to receive, or `until_ms`. 0, CONCLAVE_INTERRUPTED or CONCLAVE_NO_MEMORY. */
int cv_client_wait(struct conclave *session, int64_t until_ms);

#endif
