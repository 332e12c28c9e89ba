// SPDX-License-Identifier: MIT
/*
 * Hosts algorithms as the simulator does, for one node: an instance per name, created when the name is first used. No
 * I/O: messages to others go out through a call, and messages to oneself are delivered here.
 *
 * An instance lives in a round: a mutex in the view it was begun in, an election in a term. Messages of another round
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

/* What a name stands for. Critical sections begin anew with every view, elections with every term. */
enum cv_subject {
    CV_SUBJECT_GROUP,    /* the election of the coordinator */
    CV_SUBJECT_LOCK,     /* a critical section */
    CV_SUBJECT_LEADER,   /* a critical section, too: the client inside leads */
    CV_SUBJECT_ELECTION, /* an election among candidates: the winner may try to enter */
    CV_SUBJECTS
};

#define CV_NAME_BYTES 512u
#define CV_TERM_BITS 32u /* of a ballot's round; in front of them the view */

/* Which names are served by which algorithm. */
struct cv_policy {
    char *pattern; /* as fnmatch(3) reads it; NULL: the group's own election */
    const struct cv_algorithm *algorithm;
    int64_t *parameters;
    uint32_t fingerprint; /* of the algorithm and its parameters: all members must mean the same */
    uint32_t kinds, timers;
    uint64_t delay_us; /* the service's: after a holder was lost */
    struct cv_group group;
    struct cv_graph graph; /* complete, for an algorithm that wants one */
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
    CV_WANTS = 1u << 2, /* has requested, is not inside */
    CV_INSIDE = 1u << 3,
    CV_FRESH = 1u << 4,   /* just opened: it starts with its first step */
    CV_BORROWS = 1u << 5, /* its clients are inside by leave of the node that is */
    CV_HEIR = 1u << 6,    /* it is inside by a view that began, since the node that was is gone */
    CV_TOLD = 1u << 7     /* the other members of the view were told that it is in use here */
};

struct cv_instance {
    struct cv_algorithm_host *host;
    struct cv_policy *policy;
    struct cv_group *group;      /* the policy's; a ballot has its own */
    uint32_t *attributes;        /* of an election: the attribute of each node's candidate, 0: it has none */
    struct cv_instance *chain;   /* with the same place in the table */
    size_t place;                /* among all instances */
    void *user;                  /* the service's, freed with the instance */
    struct cv_promise *promises; /* of this view */
    struct cv_promise *told;     /* of the next one, while it is prepared */
    uint64_t hash;
    uint64_t clock;
    uint64_t round;
    uint64_t fence;      /* of the last entry */
    uint64_t sharing;    /* the generation of readers whose clients are inside together; 0: they are alone */
    cv_node holder;      /* while a view begins: the node that is inside */
    cv_set sharers;      /* while a view begins: the nodes that are inside together with it */
    uint64_t generation; /* and with which readers */
    uint32_t flags;      /* enum cv_instance_flag */
    cv_id leader;
    cv_set answered; /* the nodes that have answered its request */
    enum cv_subject subject;
    struct cv_timer timers[CV_MAX_TIMERS];
    struct cv_timer rest; /* a message that goes round for ever pauses here while no node wants it */
    struct cv_parcel *resting;
    unsigned char *state;
    size_t state_bytes;
    size_t name_length;
    char name[]; /* and a NUL */
};

static inline bool instance_is_section(const struct cv_instance *instance)
{
    return instance->subject == CV_SUBJECT_LOCK || instance->subject == CV_SUBJECT_LEADER;
}

/*
 * Below all fences that the holder gives in the view. The readers that go on together into the view have it as the name
 * of their generation, and members that only know of them use the same.
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

/* A message on its way, with what the runtime knows of it. */
struct cv_parcel {
    struct cv_instance *instance;
    uint64_t number; /* for the record */
    uint64_t hops;   /* made in a row without an entry, of a message that goes round for ever */
    const struct cv_message *message;
};

/* What the host asks of its owner, and what it tells it. */
struct cv_host_calls {
    /* Takes a message to another node; returns its number. */
    uint64_t (*send)(void *context, const struct cv_parcel *parcel);
    void (*entered)(void *context, struct cv_instance *instance);
    void (*elected)(void *context, struct cv_instance *instance); /* a leader is known, or is not any more */
    /* A new instance of which the others have to know, since it begins by itself. */
    void (*opened)(void *context, struct cv_instance *instance);
    void (*ended)(void *context, struct cv_instance *instance);
    void (*crowded)(void *context); /* there are many names, perhaps idle ones; the next view forgets those */
    void (*event)(void *context, const struct cv_instance *instance, const struct cv_event *event); /* or NULL */
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
    struct cv_policy *policies;    /* the first is the group's election; then locks, the first that fits counts */
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
    size_t crowd;                 /* so many are enough to look for idle ones */
    struct cv_instance *ended;    /* not in the table any more, to be freed */
    unsigned char *queue;         /* to oneself */
    size_t queue_at, queue_used, queue_room;
    uint64_t serial;
    uint64_t hops; /* of the message being handled, UINT64_MAX if none is */
    struct cv_random random;
    uint64_t step_began; /* for the record */
    bool settling;
    bool frozen; /* between two views */
};

/* ---- steps ---- */

/* May anything be requested now? While a view is being prepared nothing may. */
static inline bool cv_host_ready(const struct cv_algorithm_host *host)
{
    return host->view.epoch && !host->frozen;
}

void cv_host_request(struct cv_algorithm_host *host, struct cv_instance *instance);
void cv_host_release(struct cv_algorithm_host *host, struct cv_instance *instance);
void cv_host_call(struct cv_algorithm_host *host, struct cv_instance *instance, bool recovers); /* the election */
void cv_host_tell(struct cv_algorithm_host *host, struct cv_instance *instance, cv_node node, bool gone);
/* Handles a message of another node, if it is one that can be; otherwise nothing happens, and `why` says why not. */
enum cv_validity cv_host_deliver(struct cv_algorithm_host *host, const struct cv_parcel *parcel, const char **why);

/* ---- rounds ---- */

/* Only the first time in a view, and for instances that begin by themselves. */
void cv_host_start(struct cv_algorithm_host *host, struct cv_instance *instance);
/* That the name is in use, once in each view, if the algorithm needs it. */
void cv_host_tell_members(struct cv_algorithm_host *host, struct cv_instance *instance);

/* ---- host.c, for the other files of the host ---- */

extern const struct cv_runtime cv_host_runtime;
void cv_host_record(struct cv_algorithm_host *host, const struct cv_instance *instance, enum cv_event_type type,
                    const char *text);
void cv_host_timeout(struct cv_alarm *alarm);
void cv_host_wake(struct cv_alarm *alarm);
void cv_host_void_queue(struct cv_algorithm_host *host, const struct cv_instance *instance);

#endif
