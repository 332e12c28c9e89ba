// SPDX-License-Identifier: MIT
/*
 * Hosts algorithms as the simulator does, for one node: an instance per name, created when the name is first used. No
 * I/O: messages to others go out through a call, and messages to oneself are delivered here.
 *
 * An instance lives in a round: a mutex in the view it was begun in, an election in a term. Messages of other rounds
 * never reach it.
 */
#ifndef CONCLAVE_LIVE_HOST_HOST_H
#define CONCLAVE_LIVE_HOST_HOST_H

#include "core/alarm.h"
#include "core/event.h"
#include "core/graph/graph.h"
#include "core/parse.h"
#include "core/quorum.h"
#include "core/random.h"
#include "core/scenario/validity.h"
#include "group/view.h"
#include "live/host/promise.h"
#include "secure/digest.h"

/* What a name stands for. Critical sections begin anew in every view, elections in every term. */
enum cv_subject {
    CV_SUBJECT_GROUP,    /* the election of the coordinator */
    CV_SUBJECT_LOCK,     /* a critical section */
    CV_SUBJECT_LEADER,   /* a critical section as well: the client inside leads */
    CV_SUBJECT_ELECTION, /* an election among candidates: the winner may try to enter */
    CV_SUBJECTS
};

#define CV_NAME_BYTES 512u
#define CV_MOST_STATE_BYTES ((size_t)64 << 20) /* of one node for one name */
#define CV_TERM_BITS 32u                       /* low bits of a ballot's round; the high bits are the view */

/* The algorithm that serves names of a pattern. */
struct cv_policy {
    char *pattern; /* for fnmatch(3); NULL: the group's own election */
    const struct cv_algorithm *algorithm;
    const char *file;        /* of a plugin: where it was loaded from; NULL: it is built in */
    struct cv_digest digest; /* of that file */
    int64_t *parameters;
    uint32_t fingerprint; /* of the algorithm, its file and its parameters, which must be the same at all members */
    uint32_t kinds, timers;
    uint64_t delay_us; /* for the service: how long a name stays closed after its holder was lost */
    struct cv_group group;
    struct cv_graph graph; /* a complete graph, for an algorithm that needs one */
    struct cv_quorums quorums;
};

struct cv_algorithm_host;
struct cv_instance;

struct cv_timer {
    struct cv_alarm alarm;
    struct cv_instance *instance;
};

enum cv_instance_flag {
    CV_KNOWS = 1u << 0, /* `leader` is known */
    CV_CALLING = 1u << 1,
    CV_WANTS = 1u << 2, /* has requested, and is not inside */
    CV_INSIDE = 1u << 3,
    CV_FRESH = 1u << 4,   /* just opened: it starts with its first step */
    CV_BORROWS = 1u << 5, /* its clients are inside, because the node inside lends to them */
    CV_HEIR = 1u << 6,    /* a new view has put this node inside, because the former holder is gone */
    CV_TOLD = 1u << 7,    /* the other members of the view know that the name is in use here */
    CV_AGED = 1u << 8     /* half of its logical time is over, and a new view was asked for */
};

struct cv_instance {
    struct cv_algorithm_host *host;
    struct cv_policy *policy;
    struct cv_group *group;      /* the policy's; a ballot has a group of its own */
    uint32_t *attributes;        /* of an election: the attribute of each node's candidate; 0: no candidate */
    struct cv_instance *chain;   /* the next instance in the same slot of the table */
    size_t place;                /* the index among all instances */
    void *user;                  /* the service's data, freed with the instance */
    struct cv_promise *promises; /* the promises of this view */
    struct cv_promise *told;     /* the promises of the next view, while it is prepared */
    uint64_t hash;
    uint64_t clock;
    uint64_t round;
    uint64_t fence;      /* of the last entry */
    uint64_t given;      /* the highest place of the view's fences that this node knows to be given (dispatch.c) */
    uint64_t sharing;    /* the generation of the readers inside; 0: the clients inside do not share */
    cv_node holder;      /* while a view begins: the node that is inside */
    cv_set sharers;      /* while a view begins: the nodes that are inside together with it */
    uint64_t generation; /* while a view begins: the generation of their readers */
    uint32_t flags;      /* enum cv_instance_flag */
    cv_id leader;
    cv_set answered; /* the nodes that have answered its request */
    enum cv_subject subject;
    struct cv_timer timers[CV_MAX_TIMERS];
    struct cv_timer rest; /* a token pauses here while no node wants it */
    struct cv_parcel *resting;
    unsigned char *state;
    size_t state_bytes;
    size_t name_length;
    char name[]; /* ends with a NUL */
};

static inline bool instance_is_section(const struct cv_instance *instance)
{
    return instance->subject == CV_SUBJECT_LOCK || instance->subject == CV_SUBJECT_LEADER;
}

/* The last time of Lamport's clock: a later one would make fences that belong to the next view. */
static inline uint64_t cv_host_last_time(const struct cv_group *group)
{
    return CV_MOST_ENTRIES / group->nodes;
}

/*
 * A number below all fences that the holder gives in the view. It names the generation of the readers that go on
 * together into the view, also at members that only know of them.
 */
static inline uint64_t cv_instance_first_fence(const struct cv_instance *instance, const struct cv_view *view,
                                               cv_node me)
{
    return cv_view_fence(view, 0, instance->holder == CV_NOBODY ? me : instance->holder);
}

static inline struct cv_text cv_instance_name(const struct cv_instance *instance)
{
    return (struct cv_text){instance->name, instance->name_length};
}

/*
 * The handler that is running in this thread. If a plugin fails, the log tells which, and what it was doing.
 */
struct cv_step_mark {
    const struct cv_instance *instance; /* NULL: no handler is running */
    const char *handler;                /* "receive", "timeout" and so on */
    const char *detail;                 /* the kind of message, or the timer; or NULL */
    const char *fault;                  /* what is wrong with its effects, or its time; NULL: nothing */
    uint64_t number;                    /* of all steps of this thread so far */
};

extern _Thread_local struct cv_step_mark cv_step_mark;

static inline void cv_step_begins(const struct cv_instance *instance, const char *handler)
{
    cv_step_mark = (struct cv_step_mark){instance, handler, .number = cv_step_mark.number + 1};
}

/* A message on its way, with the runtime's data on it. */
struct cv_parcel {
    struct cv_instance *instance;
    uint64_t number; /* for the record */
    uint64_t hops;   /* since the last entry, with those of the messages that caused it */
    uint32_t given;  /* what the sender of a message of another node knows to be given */
    const struct cv_message *message;
};

/* Calls from the host to its owner. */
struct cv_host_calls {
    /* Sends a message to another node. Returns its number. */
    uint64_t (*send)(void *context, const struct cv_parcel *parcel);
    void (*entered)(void *context, struct cv_instance *instance);
    void (*elected)(void *context, struct cv_instance *instance); /* a leader is known, or no longer known */
    /* There is a new instance that begins by itself, so the other members have to know it. */
    void (*opened)(void *context, struct cv_instance *instance);
    void (*ended)(void *context, struct cv_instance *instance);
    void (*crowded)(void *context); /* there are many names; the next view drops idle ones */
    void (*aged)(void *context);    /* a name has used up half of its logical time; the next view gives it new */
    void (*event)(void *context, const struct cv_instance *instance, const struct cv_event *event); /* may be NULL */
    uint64_t (*now)(void);
    void *context;
};

struct cv_host_counts {
    uint64_t sent[CV_MAX_KINDS], received[CV_MAX_KINDS];
};

struct cv_algorithm_host {
    struct cv_self self;
    struct cv_host_calls calls;
    struct cv_alarms *alarms;
    const struct cv_roster *roster;
    struct cv_policy *policies;    /* first the group's election, then the others; the first match counts */
    struct cv_host_counts *counts; /* per policy */
    uint32_t policy_count;
    uint64_t tick_us;

    struct cv_view view;
    cv_node members[CV_MAX_MEMBERS];
    uint32_t attributes[CV_MAX_MEMBERS];
    cv_set suspected;

    struct cv_instance **table; /* by hash */
    size_t table_size;
    struct cv_instance **all;
    size_t count, capacity, most; /* `most`: no more than so many names */
    size_t crowd;                 /* with so many names the host looks for idle ones */
    struct cv_instance *ended;    /* instances outside the table, to be freed */
    unsigned char *queue;         /* of messages of this node to itself */
    size_t queue_at, queue_used, queue_room;
    uint64_t serial;
    uint64_t hops; /* of the message being handled; UINT64_MAX: none */
    struct cv_random random;
    uint64_t step_began; /* for the record */
    bool settling;
    bool frozen; /* between two views */
};

/* ---- steps ---- */

/* May clients request anything now? Not while a view is being prepared. */
static inline bool cv_host_ready(const struct cv_algorithm_host *host)
{
    return host->view.epoch && !host->frozen;
}

void cv_host_request(struct cv_algorithm_host *host, struct cv_instance *instance);
void cv_host_release(struct cv_algorithm_host *host, struct cv_instance *instance);
void cv_host_call(struct cv_algorithm_host *host, struct cv_instance *instance, bool recovers); /* calls the election */
void cv_host_tell(struct cv_algorithm_host *host, struct cv_instance *instance, cv_node node, bool gone);
/* Handles a valid message of another node. If it is not valid, nothing happens, and `why` says why not. */
enum cv_validity cv_host_deliver(struct cv_algorithm_host *host, const struct cv_parcel *parcel, const char **why);

/* ---- rounds ---- */

/* Starts an instance that begins by itself, once in each view. */
void cv_host_start(struct cv_algorithm_host *host, struct cv_instance *instance);
/* Tells the members that the name is in use, once in each view, if the algorithm needs it. */
void cv_host_tell_members(struct cv_algorithm_host *host, struct cv_instance *instance);

/* ---- host.c, for the other files of the host ---- */

extern const struct cv_runtime cv_host_runtime;
void cv_host_record(struct cv_algorithm_host *host, const struct cv_instance *instance, enum cv_event_type type,
                    const char *text);
void cv_host_timeout(struct cv_alarm *alarm);
void cv_host_wake(struct cv_alarm *alarm);
void cv_host_void_queue(struct cv_algorithm_host *host, const struct cv_instance *instance);

#endif
