// SPDX-License-Identifier: MIT
/* The simulated world, shared by the files of this room. */
#ifndef CONCLAVE_SIM_WORLD_H
#define CONCLAVE_SIM_WORLD_H

#include "core/error.h"
#include "core/index.h"
#include "core/random.h"
#include "sim/calendar.h"
#include "sim/fifo.h"
#include "sim/sim.h"

/* What the runtime keeps of a node, before its state. It is small, because nodes fill the caches. */
struct node {
    uint64_t clock : 40;
    uint64_t flags : 24; /* enum node_flag */
};

#define CLOCK_MASK ((1ull << 40) - 1)

enum node_flag {
    NODE_ALIVE = 1u << 0,
    NODE_KNOWS = 1u << 1, /* `leader` is known */
    NODE_CALLING = 1u << 2,
    NODE_RECALLED = 1u << 3, /* called while its own election was under way */
    NODE_ACTIVE = 1u << 4,   /* called, or heard of an election; kept where nodes may die */
    NODE_OUTSIDE =
        1u << 5 /* back, but not in a view yet: it has forgotten the node it let in, so it gets no messages */
};

/* What is planned for a time: faults as the scenario names them, and what the detector tells of them. */
enum agenda_type { AGENDA_CRASH, AGENDA_CUT, AGENDA_HEAL, AGENDA_RECOVER, AGENDA_DETECT, AGENDA_SUSPECT, AGENDA_VIEW };

struct agenda_item {
    uint64_t time;
    enum agenda_type type;
    uint32_t index;  /* into the scenario's list; AGENDA_VIEW: the elected node */
    uint32_t *parts; /* AGENDA_DETECT: the part of the network that each node was in when the fault happened */
};

struct agenda {
    struct agenda_item *items; /* by time, from `next` on */
    size_t next, count, capacity;
};

struct transport;
struct rounds;
struct repeat;
struct views;

struct cv_sim {
    const struct cv_scenario *scenario;
    const struct cv_algorithm *algorithm;
    struct cv_sim_options options;
    struct cv_group group; /* the scenario's, with `absence` as it is now */
    struct cv_self self;
    struct cv_runtime runtime;

    unsigned char *nodes; /* struct node and state, one after the other; all nodes once for each name */
    size_t name_bytes;    /* the nodes of one name */
    uint32_t name;        /* the critical section whose step is being taken */
    uint64_t *places;     /* where a node begins, if the states differ in size */
    size_t stride;        /* otherwise */
    cv_id *leaders;       /* per node, if it knows one */
    uint32_t kinds;
    uint32_t timers;
    uint64_t *timer_due; /* per node and timer; 0: not armed */
    uint64_t timers_active;
    uint64_t *decided; /* per node, kept when nodes may die */

    unsigned char *outbox; /* a step's messages, unless they are written where they wait for delivery */
    size_t outbox_room;
    size_t step_at; /* where in the list of the calendar the step began to write, if that is its outbox */

    uint64_t now;
    struct calendar mail;
    struct calendar alarms;
    struct fifo fifo;
    struct agenda agenda;
    struct transport *transport; /* the reliable channels, when the raw network misbehaves */
    struct cv_index index;       /* from ids to nodes, where the detector is asked by id */
    struct cv_random delays, choices, chances;
    bool chose; /* some step drew a random choice */
    bool dying; /* the node taking a step crashes in the middle of it */
    bool traced;
    bool plain; /* nobody watches and the network does nothing odd */
    bool out_of_memory;
    uint64_t asks;   /* of so many more messages it is asked whether they can be */
    uint64_t serial; /* of messages, when traced */

    uint32_t *known;  /* per node: the part of the network the detector last saw it in; UNREACHABLE if dead */
    uint32_t *part;   /* per node: the part it is in when the run ends, where the network may fall apart */
    bool *crash_done; /* per planned crash */
    struct repeat *repeat;
    struct rounds *rounds; /* synchronizers, and algorithms that come to a number */
    struct load *load;     /* mutex: the nodes that want to enter */
    struct views *views;   /* mutex: the members */

    struct cv_run run;
};

#define UNREACHABLE UINT32_MAX

/* An armed timer in the calendar; void unless `due` is still what the node wants. */
struct alarm {
    uint32_t node, timer;
    uint64_t due;
};

/* Alarms that are no timers of the algorithm: a listed request, the next of a closed loop, the end of a stay inside. */
enum { ALARM_WISH = 1u << 30, ALARM_REQUEST, ALARM_LEAVE };

/* After each message that takes the careful way: its number, and the critical section it is about. */
struct trailer {
    uint64_t serial;
    uint32_t name;
    uint32_t unused;
};

static inline struct cv_sim *world_of(const struct cv_self *me)
{
    return (struct cv_sim *)(uintptr_t)((const char *)me - offsetof(struct cv_sim, self));
}

/* The node of the first name, and on the quick way of the only one. */
static inline struct node *world_first_node(const struct cv_sim *sim, cv_node node)
{
    return (struct node *)(void *)(sim->nodes + (sim->places ? sim->places[node] : node * sim->stride));
}

static inline struct node *world_node(const struct cv_sim *sim, cv_node node)
{
    const size_t place = sim->places ? sim->places[node] : node * sim->stride;
    return (struct node *)(void *)(sim->nodes + sim->name * sim->name_bytes + place);
}

/* How many critical sections there are side by side; an election is one. */
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

static inline uint64_t world_delay(struct cv_sim *sim)
{
    const struct cv_delay *delay = &sim->scenario->delay;
    switch (delay->model) {
    case CV_DELAY_UNIT:
        return 1;
    case CV_DELAY_UNIFORM:
        return delay->low + cv_random_below(&sim->delays, delay->high - delay->low + 1);
    default:
        return cv_random_exponential(&sim->delays, delay->low);
    }
}

#endif
