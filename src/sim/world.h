// SPDX-License-Identifier: MIT
/* The simulated world, shared by the files of this room. */
#ifndef CONCLAVE_SIM_WORLD_H
#define CONCLAVE_SIM_WORLD_H

#include "core/error.h"
#include "core/index.h"
#include "core/scenario/arrival.h"
#include "guard/guarded.h"
#include "sim/arrivals.h"
#include "sim/calendar.h"
#include "sim/elsewhere.h"
#include "sim/fifo.h"
#include "sim/sim.h"

/* The header of a node, before its state. It is small, because nodes fill the caches. */
struct node {
    uint64_t clock : CV_CLOCK_BITS; /* Lamport's clock */
    uint64_t flags : 24;            /* enum node_flag */
};

enum node_flag {
    NODE_ALIVE = 1u << 0,    /* it has not crashed */
    NODE_KNOWS = 1u << 1,    /* it knows a leader: cv_sim.leaders */
    NODE_CALLING = 1u << 2,  /* an election of its own is under way */
    NODE_RECALLED = 1u << 3, /* it once called an election while its own was under way */
    NODE_ACTIVE = 1u << 4,   /* it called an election or heard of one; kept on the careful way only */
    NODE_OUTSIDE = 1u << 5   /* it is back but in no view yet, and gets no messages: it has forgotten its promises */
};

/* The planned events of a run: faults as the scenario lists them, reports of the detector, views. */
enum agenda_type { AGENDA_CRASH, AGENDA_CUT, AGENDA_HEAL, AGENDA_RECOVER, AGENDA_DETECT, AGENDA_SUSPECT, AGENDA_VIEW };

struct agenda_item {
    uint64_t time;
    enum agenda_type type;
    uint32_t index;  /* in the scenario's list; AGENDA_VIEW: the elected node */
    uint32_t *parts; /* AGENDA_DETECT: by node, its part of the network when the fault happened */
};

struct agenda {
    struct agenda_item *items; /* by time, from `next` on */
    size_t next;
    size_t count;
    size_t capacity;
};

struct transport;
struct rounds;
struct repeat;
struct views;

/* An armed timer in the calendar. It counts only if `due` is still the time that the node wants. */
struct alarm {
    uint32_t node;
    uint32_t timer;
    uint64_t due;
};

/* Alarms in the order in which they go off. */
struct alarm_order {
    struct alarm *alarms;
    uint64_t *numbers, *exchanged;
    size_t room;
};

struct cv_sim {
    const struct cv_scenario *scenario;
    const struct cv_algorithm *algorithm;
    struct cv_sim_options options;
    struct cv_group group; /* the scenario's group; `absence` is kept up to date */
    struct cv_self self;   /* the current step */
    struct cv_runtime runtime;

    unsigned char *nodes;   /* struct node and state, one node after the other; all nodes once for each name */
    size_t name_bytes;      /* bytes of all nodes of one name */
    uint32_t name;          /* the critical section of the current step */
    uint64_t *places;       /* by node: where it begins in `nodes`, if states differ in size; otherwise NULL */
    size_t stride;          /* bytes of a node, if all states have one size */
    cv_id *leaders;         /* by node: its leader, if NODE_KNOWS */
    uint32_t kinds;         /* kinds of messages of the algorithm */
    uint32_t timers;        /* timers of the algorithm */
    uint64_t *timer_due;    /* by node and timer; 0: not armed */
    uint64_t timers_active; /* timers that are armed */
    uint64_t *decided;      /* by node: when it last learnt a leader; kept only if nodes may die */

    unsigned char *outbox; /* messages of a step, unless the step writes them into the calendar */
    size_t outbox_room;    /* bytes of `outbox` */
    uint64_t handled;      /* bytes of messages on the quick way, since somebody last set it to 0 */
    size_t step_at;        /* where the step's messages begin, if it writes them into the calendar */

    uint64_t now;
    uint64_t pause;              /* the loop stops before later ticks; --until, or earlier */
    struct calendar mail;        /* messages under way */
    struct calendar backward;    /* on the quick way of a ring: those that do not go to the successor; see quick.c */
    struct calendar alarms;      /* timers and the clients' alarms */
    struct fifo fifo;            /* the order of messages on each channel */
    struct agenda agenda;        /* what is planned */
    struct transport *transport; /* the reliable channels, if the raw network misbehaves; otherwise NULL */
    struct cv_index index;       /* from ids to nodes, for questions to the detector */
    struct arrivals arrivals;    /* the messages of a tick, in the order in which they are handled */
    uint64_t *heard;             /* by node: from whom it last heard, and when: see heard.c; or NULL */
    struct alarm_order timely;   /* alarms of the tick, in order */
    struct cv_chance delays;     /* draws the delays of messages */
    struct cv_chance choices;    /* draws what cv_choose() returns */
    struct cv_chance packets;    /* draws losses, duplicates and reorderings */
    uint64_t chosen_clock;       /* the clock at the step's last choice */
    uint32_t chosen;             /* choices of the step at that clock */
    cv_node chooser;             /* whose */
    bool chose;                  /* some step drew a choice */
    bool dying;                  /* the node that takes the step crashes in the middle of it */
    bool traced;                 /* an observer listens */
    bool plain;                  /* the quick way: no observer listens, nothing fails, and only delays vary */
    bool orderly;                /* on the quick way: nodes take their turns, as something judges them together */
    bool direct;                 /* on the quick way: every step writes its messages into the next tick's list */
    bool sided;                  /* on the quick way: `backward` is in use */
    bool strays;                 /* some messages in `backward` are not from the receiver's successor */
    bool ascending;              /* on the quick way: the senders of the next tick's messages came in order so far */
    cv_node last_sender;         /* the last of them */
    bool small;                  /* all nodes fit in the cache */
    bool out_of_memory;
    uint64_t asks;   /* the number of messages that are still to be checked for validity */
    uint64_t serial; /* the number of the last message, if traced */

    uint32_t *known;       /* by node: its part of the network in the detector's last report; UNREACHABLE: dead */
    uint32_t *part;        /* by node: its part of the network at the end, if the network may fall apart */
    bool *crash_done;      /* by planned crash */
    struct repeat *repeat; /* looks for a state that repeats */
    struct rounds *rounds; /* synchronizers, and algorithms with results */
    struct load *load;     /* mutex: the clients */
    struct views *views;   /* mutex: the members */

    struct elsewhere *elsewhere; /* a shared run: the other workers; otherwise NULL */
    unsigned char *last_flags; /* after a shared run, by node: enum node_flag; the nodes themselves are gone. Or NULL */

    struct cv_failure_listener listener; /* hears of handlers that fail, if the algorithm is a plugin */
    char failure[CV_FAILURE_BYTES];      /* how the first of them failed; "": none has */

    struct cv_run run; /* the result, for the judges */
};

#define UNREACHABLE UINT32_MAX

/* Alarms of the clients: a listed request, the next request of a closed loop, the end of a stay inside. */
enum { ALARM_WISH = 1u << 30, ALARM_REQUEST, ALARM_LEAVE };

/* Follows each message on the careful way. */
struct trailer {
    uint64_t serial; /* the number of the message */
    uint32_t name;   /* the critical section it is about */
    uint32_t unused;
};

static inline struct cv_sim *world_of(const struct cv_self *me)
{
    return (struct cv_sim *)(uintptr_t)((const char *)me - offsetof(struct cv_sim, self));
}

/* The node of the first name, which is the only one on the quick way. */
static inline struct node *world_first_node(const struct cv_sim *sim, cv_node node)
{
    return (struct node *)(void *)(sim->nodes + (sim->places ? sim->places[node] : node * sim->stride));
}

static inline struct node *world_node(const struct cv_sim *sim, cv_node node)
{
    const size_t place = sim->places ? sim->places[node] : node * sim->stride;
    return (struct node *)(void *)(sim->nodes + sim->name * sim->name_bytes + place);
}

/* The number of critical sections side by side; 1 for an election. */
static inline uint32_t world_names(const struct cv_sim *sim)
{
    return sim->scenario->names ? sim->scenario->names : 1;
}

static inline uint64_t *world_timer(const struct cv_sim *sim, cv_node node, uint32_t timer)
{
    return &sim->timer_due[((size_t)sim->name * sim->group.nodes + node) * sim->timers + timer];
}

static inline void world_set(struct node *it, enum node_flag flag, bool on)
{
    it->flags = (on ? it->flags | flag : it->flags & ~(uint64_t)flag) & ((1u << 24) - 1);
}

static inline bool world_alive(const struct cv_sim *sim, cv_node node)
{
    return world_node(sim, node)->flags & NODE_ALIVE;
}

/* Does this worker simulate the node? */
static inline bool world_has(const struct cv_sim *sim, cv_node node)
{
    return !sim->elsewhere || !elsewhere_has(sim->elsewhere, node);
}

#endif
