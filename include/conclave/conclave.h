// SPDX-License-Identifier: MIT
/*
 * libconclave: a lock or a leader for a C program.
 *
 *     struct conclave *session;
 *     uint64_t fence;
 *     if (conclave_open(&session, NULL, 1000) == 0 && conclave_lock(session, "backup", NULL, &fence) == 0) {
 *         ...                                     nobody else holds "backup" now; give `fence` to whatever you write to
 *         conclave_unlock(session, "backup", fence);
 *     }
 *     conclave_close(session);
 *
 * What a session holds has a time to live, ten seconds unless you want another: the servers promise it for so long from
 * when it was asked for or renewed last, even if some of them die or all are restarted. conclave_next_event() renews
 * it, with another server if need be. **So call that, or conclave_renew(), every few seconds while you hold
 * something**; otherwise it ends when its time is over, and conclave_unlock() tells (CONCLAVE_LOST). What is wanted to
 * end with the session (`ends_with_session`) needs no renewal, and is lost with its server.
 *
 * Functions return 0 or one of the errors below. A session belongs to one thread at a time. No function uses signals,
 * threads or global state. libconclave(3) tells all of it.
 */
#ifndef CONCLAVE_CONCLAVE_H
#define CONCLAVE_CONCLAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CONCLAVE_API __attribute__((visibility("default")))

#define CONCLAVE_NAME_BYTES 512 /* of a lock's or an election's name, at most */
#define CONCLAVE_TTL_MS 10000   /* the time to live of a lock or a leadership, unless another is wanted */

#define CONCLAVE_ERRORS(X)                                                                                             \
    X(CONCLAVE_TIMEOUT, -1, "waited too long")                                                                         \
    X(CONCLAVE_LOST, -2, "not held, or not any more")                                                                  \
    X(CONCLAVE_NO_SERVER, -3, "no server can be reached")                                                              \
    X(CONCLAVE_NO_QUORUM, -4, "the servers have no majority")                                                          \
    X(CONCLAVE_REFUSED, -5, "the server refused")                                                                      \
    X(CONCLAVE_DENIED, -6, "not allowed")                                                                              \
    X(CONCLAVE_INTERRUPTED, -7, "interrupted")                                                                         \
    X(CONCLAVE_INVALID, -8, "an argument makes no sense")                                                              \
    X(CONCLAVE_NO_MEMORY, -9, "out of memory")                                                                         \
    X(CONCLAVE_PROTOCOL, -10, "the server does not speak the protocol")

enum conclave_errors {
#define X(name, number, text) name = number,
    CONCLAVE_ERRORS(X)
#undef X
};

CONCLAVE_API const char *conclave_error_text(int error);

/* ---- sessions ---- */

struct conclave;

/*
 * Opens a session with the first server that answers within `timeout_ms`. `servers` is a list, separated by commas or
 * spaces, of host:port, [address]:port and paths of Unix sockets; NULL means $CONCLAVE_SERVER, or 127.0.0.1:7700.
 * After a failure *session is not NULL (unless out of memory): conclave_explain() tells more, and it must be closed.
 */
CONCLAVE_API int conclave_open(struct conclave **session, const char *servers, int timeout_ms);

/* How to find a server and what to prove oneself with: files. NULL means what the environment has: $CONCLAVE_KEY, and
   so on. With any of them, servers are spoken to by TLS, and by nothing else unless it is a Unix socket. */
struct conclave_options {
    const char *servers; /* as above; tls:// before one insists on TLS */
    int timeout_ms;
    const char *key;                                        /* made by conclave keygen: $CONCLAVE_KEY */
    const char *tls_ca, *tls_certificate, *tls_private_key; /* PEM: $CONCLAVE_TLS_CA, _CERTIFICATE, _PRIVATE_KEY */
};
CONCLAVE_API int conclave_open_with(struct conclave **session, const struct conclave_options *options);

/* Ends the session and gives up all that it holds. NULL is allowed. */
CONCLAVE_API void conclave_close(struct conclave *session);

/* One line about the last failure. */
CONCLAVE_API const char *conclave_explain(const struct conclave *session);

/* Makes the function that waits now, or the next one that would, return CONCLAVE_INTERRUPTED. Safe in a signal handler
   and from another thread. A wait for a lock is given up. */
CONCLAVE_API void conclave_interrupt(struct conclave *session);

/* ---- locks ---- */

struct conclave_want {
    uint64_t wait_ms;       /* give up after so long; 0: wait for as long as it takes */
    uint64_t ttl_ms;        /* it lasts so long unless it is renewed; 0: CONCLAVE_TTL_MS */
    bool try_once;          /* do not wait at all */
    bool shared;            /* beside other shared holders */
    bool ends_with_session; /* or with its server: it has no time to live */
};

/* Waits for the lock. `want` may be NULL: exclusive, for as long as it takes. The fence is above every earlier one. */
CONCLAVE_API int conclave_lock(struct conclave *session, const char *name, const struct conclave_want *want,
                               uint64_t *fence);
CONCLAVE_API int conclave_try_lock(struct conclave *session, const char *name, uint64_t *fence);
CONCLAVE_API int conclave_timed_lock(struct conclave *session, const char *name, uint64_t wait_ms, uint64_t *fence);

/* CONCLAVE_LOST if that fence no longer holds the lock; a later holder's lock is left alone. */
CONCLAVE_API int conclave_unlock(struct conclave *session, const char *name, uint64_t fence);

/* Asks for more time now. *left_ms is what is left, -1 if it does not run out; NULL is allowed. */
CONCLAVE_API int conclave_renew(struct conclave *session, const char *name, uint64_t fence, int64_t *left_ms);

/* By this process's own clock: how long the lock or the leadership surely lasts, without asking. -1: as far as known it
   does not run out. 0: it is lost, or may be. */
CONCLAVE_API int64_t conclave_left_ms(const struct conclave *session, const char *name);

/* ---- elections ---- */

struct conclave_candidate {
    uint64_t wait_ms;  /* give up after so long; 0: wait for as long as it takes */
    uint32_t priority; /* the highest of the candidates is preferred */
    bool try_once;     /* do not wait at all */
    uint64_t ttl_ms;   /* as of a lock */
    bool ends_with_session;
};

struct conclave_leader {
    char leader[64]; /* as servers print it, "node/session"; empty if nobody leads */
    uint64_t fence;
};

/* Waits until this session leads. `candidate` may be NULL. */
CONCLAVE_API int conclave_campaign(struct conclave *session, const char *name,
                                   const struct conclave_candidate *candidate, uint64_t *fence);
CONCLAVE_API int conclave_resign(struct conclave *session, const char *name);
CONCLAVE_API int conclave_who_leads(struct conclave *session, const char *name, struct conclave_leader *leader);

/* From now on conclave_next_event() tells every change of leader. *leader is the one of now. */
CONCLAVE_API int conclave_observe(struct conclave *session, const char *name, struct conclave_leader *leader);

/* ---- events ---- */

enum conclave_event_kind {
    CONCLAVE_EVENT_LOST = 1,  /* a lock or a leadership is no longer held, and was not given up */
    CONCLAVE_EVENT_LEADER = 2 /* an observed election has another leader, or none */
};

struct conclave_event {
    enum conclave_event_kind kind;
    char name[CONCLAVE_NAME_BYTES + 1];
    uint64_t fence;
    char leader[64];
};

/*
 * Waits up to `timeout_ms` (-1: for ever, 0: not at all) for an event. 1: *event is one; 0: there was none. Meanwhile
 * it renews what runs out. If the server is lost, or has no majority, another is sought: what has a time to live is
 * renewed there, elections are observed there, and what should end with the session is lost.
 */
CONCLAVE_API int conclave_next_event(struct conclave *session, struct conclave_event *event, int timeout_ms);

/*
 * For a loop of one's own: call conclave_next_event() with a timeout of 0 when conclave_fd() is readable, and after
 * conclave_next_ms() at the latest (-1: no need). The descriptor may be another one after conclave_next_event(), or -1.
 */
CONCLAVE_API int conclave_fd(const struct conclave *session);
CONCLAVE_API int conclave_next_ms(const struct conclave *session);

#ifdef __cplusplus
}
#endif

#endif
