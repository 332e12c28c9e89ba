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
 * What a session holds has a time to live, ten seconds unless you ask for another. The servers promise it for that
 * long, counted from when it was asked for or last renewed, even if some of them die or all are restarted.
 * conclave_next_event() renews it, with another server if need be. **So call that, or conclave_renew(), every few
 * seconds while you hold something.** Otherwise the hold ends when its time is over, and conclave_unlock() returns
 * CONCLAVE_LOST. A hold that ends with the session (`ends_with_session`) needs no renewal, and is lost with its server.
 *
 * Functions return 0 or one of the errors below. A session belongs to one thread at a time. No function uses signals,
 * threads or global state. libconclave(3) has the details.
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

#define CONCLAVE_NAME_BYTES 512   /* the longest name of a lock or an election */
#define CONCLAVE_VALUE_BYTES 1024 /* the longest value that a leader publishes */
#define CONCLAVE_CLIENT_BYTES 128 /* the longest name of a client */
#define CONCLAVE_NAMES 24         /* as many can be locked at once */
#define CONCLAVE_TTL_MS 10000     /* the time to live of a lock or a leadership, unless you ask for another */

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
    X(CONCLAVE_PROTOCOL, -10, "the server does not speak the protocol")                                                \
    X(CONCLAVE_STALE, -11, "a higher fence has been seen")                                                             \
    X(CONCLAVE_FILE, -12, "the file system refused; errno says why")

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
 * After a failure *session is not NULL (unless out of memory): conclave_explain() says why, and it must be closed.
 */
CONCLAVE_API int conclave_open(struct conclave **session, const char *servers, int timeout_ms);

/*
 * The servers, and the files that prove who you are. NULL means the environment's: $CONCLAVE_KEY, and so on. With any
 * of these files the session speaks TLS with every server, except over a Unix socket.
 */
struct conclave_options {
    const char *servers; /* as above; tls:// before an address insists on TLS */
    int timeout_ms;
    const char *key;             /* made by conclave keygen; else $CONCLAVE_KEY */
    const char *tls_ca;          /* PEM; else $CONCLAVE_TLS_CA */
    const char *tls_certificate; /* PEM; else $CONCLAVE_TLS_CERTIFICATE */
    const char *tls_private_key; /* PEM; else $CONCLAVE_TLS_PRIVATE_KEY */
    const char *client; /* the name by which servers show this client: printable ASCII without spaces; or NULL */
};
CONCLAVE_API int conclave_open_with(struct conclave **session, const struct conclave_options *options);

/* Ends the session and gives back all that it holds. NULL is allowed. */
CONCLAVE_API void conclave_close(struct conclave *session);

/* One line about the last failure. */
CONCLAVE_API const char *conclave_explain(const struct conclave *session);

/*
 * Makes the function that waits now, or the next one that would wait, return CONCLAVE_INTERRUPTED. A wait for a lock
 * ends. Safe in a signal handler and from another thread.
 */
CONCLAVE_API void conclave_interrupt(struct conclave *session);

/* ---- locks ---- */

struct conclave_want {
    uint64_t wait_ms;       /* wait no longer than that; 0: wait for as long as it takes */
    uint64_t ttl_ms;        /* the lock lasts that long unless it is renewed; 0: CONCLAVE_TTL_MS */
    bool try_once;          /* do not wait at all */
    bool shared;            /* hold it together with others that share */
    bool ends_with_session; /* it has no time to live, and ends with the session or its server */
    bool reentrant;         /* a session that holds it alone gets it again at once, and gives it back as often */
    uint32_t permits;       /* hold it together with others, so many at most, who all say this number; 0: alone */
};

/* Waits for the lock. `want` may be NULL: exclusive, for as long as it takes. The fence is higher than all before. */
CONCLAVE_API int conclave_lock(struct conclave *session, const char *name, const struct conclave_want *want,
                               uint64_t *fence);
CONCLAVE_API int conclave_try_lock(struct conclave *session, const char *name, uint64_t *fence);
CONCLAVE_API int conclave_timed_lock(struct conclave *session, const char *name, uint64_t wait_ms, uint64_t *fence);

/*
 * Waits for all of the locks, or gets none: two programs that name the same ones in different orders do not wait for
 * each other. There are as many fences as names, in their order; each lock is given back by itself.
 */
CONCLAVE_API int conclave_lock_all(struct conclave *session, const char *const *names, size_t count,
                                   const struct conclave_want *want, uint64_t *fences);

/*
 * A lock that is held shared becomes one that is held alone as soon as all others have left it: nobody else can have
 * changed anything between. *fence is the one that it is held by, and becomes a higher one. After CONCLAVE_TIMEOUT it
 * is shared as before; `wait_ms` -1: for as long as it takes. CONCLAVE_REFUSED: another one that shares it waits for
 * that already, so give this lock back.
 */
CONCLAVE_API int conclave_upgrade(struct conclave *session, const char *name, uint64_t *fence, int64_t wait_ms);
/* And back: it is shared from now on. */
CONCLAVE_API int conclave_downgrade(struct conclave *session, const char *name, uint64_t *fence);

/* CONCLAVE_LOST if that fence does not hold the lock any more; the lock of a later holder stays as it is. */
CONCLAVE_API int conclave_unlock(struct conclave *session, const char *name, uint64_t fence);

/* Asks for more time now. *left_ms is what is left, -1 if it does not run out; NULL is allowed. */
CONCLAVE_API int conclave_renew(struct conclave *session, const char *name, uint64_t fence, int64_t *left_ms);

/*
 * How long the lock or the leadership surely lasts, by this process's own clock, without asking a server. -1: as far as
 * known it does not run out. 0: it is lost, or may be.
 */
CONCLAVE_API int64_t conclave_left_ms(const struct conclave *session, const char *name);

struct conclave_waiter {
    uint64_t position;                      /* in the order in which they are let in, as far as that is known */
    char waiter[64];                        /* "node/session" */
    char client[CONCLAVE_CLIENT_BYTES + 1]; /* the name that it has given itself, or empty */
    uint64_t waited_ms;
    bool shared;
};

/* Who waits for the lock or the election, at all servers. *count may be more than there is room for. */
CONCLAVE_API int conclave_waiters(struct conclave *session, const char *name, struct conclave_waiter *waiters,
                                  size_t room, size_t *count);

/* Asks those that hold the lock, or lead, to give it back; *asked is how many there are. NULL is allowed. */
CONCLAVE_API int conclave_ask_back(struct conclave *session, const char *name, uint64_t *asked);

/*
 * `count` numbers, 4096 at most, that nobody else gets: *first and those after it, higher than all before. Waits while
 * somebody holds the name as a lock.
 */
CONCLAVE_API int conclave_sequence(struct conclave *session, const char *name, uint32_t count, uint64_t *first);

/* ---- elections ---- */

struct conclave_candidate {
    uint64_t wait_ms;  /* wait no longer than that; 0: wait for as long as it takes */
    uint32_t priority; /* the highest of the candidates is preferred */
    bool try_once;     /* do not wait at all */
    uint64_t ttl_ms;   /* as in struct conclave_want */
    bool ends_with_session;
    const void *value;   /* what everybody is told while this session leads, an address for example; NULL: nothing */
    size_t value_length; /* at most CONCLAVE_VALUE_BYTES, of any kind */
};

struct conclave_leader {
    char leader[64]; /* as servers print it, "node/session"; empty if nobody leads */
    uint64_t fence;
    bool has_value;
    size_t value_length;
    char value[CONCLAVE_VALUE_BYTES + 1]; /* the bytes that the leader has published, and a NUL */
};

/* Waits until this session leads. `candidate` may be NULL. */
CONCLAVE_API int conclave_campaign(struct conclave *session, const char *name,
                                   const struct conclave_candidate *candidate, uint64_t *fence);
CONCLAVE_API int conclave_resign(struct conclave *session, const char *name);
CONCLAVE_API int conclave_who_leads(struct conclave *session, const char *name, struct conclave_leader *leader);

/* From now on conclave_next_event() tells every change of leader. *leader is the present one. */
CONCLAVE_API int conclave_observe(struct conclave *session, const char *name, struct conclave_leader *leader);
/* The same for a lock. *holder is the client that got it last, if the server knows; another server's is told later. */
CONCLAVE_API int conclave_watch(struct conclave *session, const char *name, struct conclave_leader *holder);

/* ---- meetings, latches, members, and what is done once ---- */

/*
 * Waits until so many clients have called it, who all say the same number, for `wait_ms` at most (-1: for as long as it
 * takes). *meeting, which may be NULL, is the same for all of them, and rises from one meeting to the next.
 */
CONCLAVE_API int conclave_barrier(struct conclave *session, const char *name, uint32_t parties, int64_t wait_ms,
                                  uint64_t *meeting);
/*
 * A double barrier: who enters stays inside, and who leaves waits until everybody inside has left, or is gone. A
 * session that loses its connection or its server is not inside any more: conclave_next_event() tells that.
 */
CONCLAVE_API int conclave_barrier_enter(struct conclave *session, const char *name, uint32_t parties, int64_t wait_ms,
                                        uint64_t *meeting);
CONCLAVE_API int conclave_barrier_leave(struct conclave *session, const char *name, int64_t wait_ms, uint64_t *meeting);

/* A latch opens when it has been counted down to 0. *set is false if there is one that is not open yet. */
CONCLAVE_API int conclave_latch_set(struct conclave *session, const char *name, uint64_t count, bool *set);
CONCLAVE_API int conclave_latch_down(struct conclave *session, const char *name, uint64_t count, uint64_t *left);
/* Waits until it is open. CONCLAVE_REFUSED: none was set, or it was cleared meanwhile. */
CONCLAVE_API int conclave_latch_await(struct conclave *session, const char *name, int64_t wait_ms);
/* *left is -1 if there is none. */
CONCLAVE_API int conclave_latch_left(struct conclave *session, const char *name, int64_t *left);
CONCLAVE_API int conclave_latch_clear(struct conclave *session, const char *name);

struct conclave_member {
    uint64_t number;                        /* rises in the order of joining */
    char client[CONCLAVE_CLIENT_BYTES + 1]; /* the name that it has given itself, or empty */
    bool has_value;
    size_t value_length;
    char value[CONCLAVE_VALUE_BYTES + 1]; /* what it has joined with: any bytes, and a NUL */
};

/* A member of the name until conclave_leave(), or until the session ends. `value` and `number` may be NULL. */
CONCLAVE_API int conclave_join(struct conclave *session, const char *name, const void *value, size_t length,
                               uint64_t *number);
CONCLAVE_API int conclave_leave(struct conclave *session, const char *name);
/* The members in the order of joining. *count may be more than there is room for. */
CONCLAVE_API int conclave_members(struct conclave *session, const char *name, struct conclave_member *members,
                                  size_t room, size_t *count);
/* From now on conclave_next_event() tells that they have changed. */
CONCLAVE_API int conclave_watch_members(struct conclave *session, const char *name);

/*
 * Is this session to do it now, in this period of so many milliseconds since 1970? *fence is 0 if somebody in the group
 * has done it, or does it. Call conclave_once_done() when it is done; a session that ends before leaves it to the next
 * one that asks, and so does one that loses its connection or its server: conclave_next_event() tells
 * CONCLAVE_EVENT_LOST.
 */
CONCLAVE_API int conclave_once(struct conclave *session, const char *name, uint64_t every_ms, uint64_t *fence);
CONCLAVE_API int conclave_once_done(struct conclave *session, const char *name, uint64_t fence);

struct conclave_run {
    uint64_t ended_ms;                      /* since 1970; 0: it has never been done */
    uint64_t fence;                         /* of that run */
    char client[CONCLAVE_CLIENT_BYTES + 1]; /* that has done it, or empty */
    char runner[CONCLAVE_CLIENT_BYTES + 1]; /* that does it now, or empty */
};
CONCLAVE_API int conclave_last_run(struct conclave *session, const char *name, struct conclave_run *run);

/* ---- events ---- */

enum conclave_event_kind {
    CONCLAVE_EVENT_LOST = 1,       /* what this session held, led, was inside of or does once is lost, not given up */
    CONCLAVE_EVENT_LEADER = 2,     /* an observed election has another leader, or none */
    CONCLAVE_EVENT_ASKED_BACK = 3, /* somebody asks this session to give back what it holds; it need not */
    CONCLAVE_EVENT_HOLDER = 4,     /* a watched lock has another holder (`leader`), or none */
    CONCLAVE_EVENT_MEMBERS = 5,    /* the members of a name have changed, or may have: conclave_members() tells them */
    CONCLAVE_EVENT_JOINED = 6 /* this session's connection had ended, and it has joined anew: `fence` is its number */
};

struct conclave_event {
    enum conclave_event_kind kind;
    char name[CONCLAVE_NAME_BYTES + 1];
    uint64_t fence;
    char leader[64];
    /*
     * LEADER: what the leader has published. LOST: the reason of the operator who ended it by force. ASKED_BACK: the
     * name of the client that asks. Any bytes, and a NUL.
     */
    bool has_value;
    size_t value_length;
    char value[CONCLAVE_VALUE_BYTES + 1];
};

/*
 * While conclave_lock() or conclave_campaign() waits, this function is called whenever the session's position in the
 * queue is told: 1 is the next of its server. It must not use the session. NULL: nobody wants to know.
 */
CONCLAVE_API void conclave_on_position(struct conclave *session,
                                       void (*told)(void *context, const char *name, uint64_t position), void *context);

/*
 * Waits up to `timeout_ms` (-1: for ever, 0: not at all) for an event. 1: *event is one; 0: there was none. Meanwhile
 * this function renews what runs out. If the server is lost, or has no majority, the session moves to another one:
 * holds with a time to live are renewed there, elections are observed there, and holds that end with the session are
 * lost.
 */
CONCLAVE_API int conclave_next_event(struct conclave *session, struct conclave_event *event, int timeout_ms);

/*
 * For your own event loop: call conclave_next_event() with a timeout of 0 when conclave_fd() is readable, and after
 * conclave_next_ms() at the latest (-1: no need). conclave_next_event() may change the descriptor, also to -1.
 */
CONCLAVE_API int conclave_fd(const struct conclave *session);
CONCLAVE_API int conclave_next_ms(const struct conclave *session);

/* ---- files that refuse a lower fence ---- */

struct conclave_guarded;

/*
 * Begins to replace the file: what is written to conclave_guard_fd() takes its place at once and as a whole when
 * conclave_guard_commit() is called, and only if nobody has done that with a higher fence. The highest fence is kept in
 * a file beside it, PATH.fence. CONCLAVE_STALE: a higher fence has been there already. These functions need no session,
 * and no server.
 */
CONCLAVE_API int conclave_guard_open(struct conclave_guarded **guarded, const char *path, uint64_t fence);
CONCLAVE_API int conclave_guard_fd(const struct conclave_guarded *guarded);
/* Frees it in any case. After a failure the file is as it was. */
CONCLAVE_API int conclave_guard_commit(struct conclave_guarded *guarded);
/* Frees it; the file stays as it was. NULL is allowed. */
CONCLAVE_API void conclave_guard_abandon(struct conclave_guarded *guarded);
/* The highest fence that the file was replaced with; 0: none. */
CONCLAVE_API int conclave_guard_highest(const char *path, uint64_t *fence);

#ifdef __cplusplus
}
#endif

#endif
