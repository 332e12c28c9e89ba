// SPDX-License-Identifier: MIT
/*
 * A state of the whole group as a vector of small numbers, its slots:
 *
 *     [0 .. n-1]  the nodes: numbers of `struct node_state`
 *     [n]         what belongs to no node: the number of a `struct budgets`
 *     [n+1 ..]    the channels, in the order in which they were first used: numbers of `struct contents`, 0 if empty
 *
 * The contents of a channel are a list: the first message, and the contents after it. So taking the first message is
 * one lookup. If channels do not keep the order of messages, the list is sorted and any message may be taken.
 */
#ifndef CONCLAVE_CHECK_STATE_MODEL_H
#define CONCLAVE_CHECK_STATE_MODEL_H

#include <stdatomic.h>

#include "check/setting/decision.h"
#include "check/state/fingerprint.h"
#include "check/state/intern.h"
#include "check/state/node_state.h"
#include "check/state/observed.h"
#include "check/state/promise_test.h"
#include "check/state/sample.h"

#define MOST_CHANNELS (CV_CHECK_MOST_NODES * CV_CHECK_MOST_NODES)
#define MOST_SLOTS (CV_CHECK_MOST_NODES + 1 + MOST_CHANNELS)

struct contents {
    uint32_t first;          /* message */
    uint32_t rest;           /* contents */
    struct fingerprint here; /* what it adds to the fingerprint of a state */
    struct fingerprint gone; /* what taking the first message adds */
};

struct model {
    struct setting setting;
    struct intern node_states;
    struct intern messages;
    struct intern contents;
    struct intern budget_sets;
    struct observations observations;
    _Atomic uint8_t *own_events;              /* by the number of a node state: enum own_event, or'ed */
    uint32_t dead[CV_CHECK_MOST_NODES];       /* the number of each node's state after its crash */
    pthread_mutex_t lock;                     /* of the channels and of the promise */
    _Atomic uint32_t slots;                   /* slots in use */
    _Atomic uint32_t channels[MOST_CHANNELS]; /* the slot, by from * nodes + to; 0: not in use yet */
    uint8_t from[MOST_SLOTS];                 /* by slot: the sender of a channel */
    uint8_t to[MOST_SLOTS];                   /* by slot: the receiver of a channel */
    uint64_t before;                          /* states of the searches of other orders of requests, which are over */
    struct sample steps;                      /* steps tested with other names */
    struct sample names;                      /* steps counted for choosing among the names */
    struct sample renamings;                  /* renamings tested */
    struct sample times;                      /* steps tested with other times */
    char begin_failure[640];                  /* why a node could not begin */
    _Atomic bool out_of_memory;
    struct promise_test *promise_tests; /* registered with model_add_promise_test() */
    _Atomic bool promise_doubted;       /* a promise of the table is broken, or cannot be confirmed */
    bool promise_broken;                /* it is broken */
    char promise_text[160];             /* which, and how */
    _Atomic bool counters_fail;         /* it is the promise about `counters` */
    _Atomic bool reads_clocks;          /* a step other than a request read the clock */
    _Atomic bool equal_times_differ;    /* a step would differ if requests had equal times */
    _Atomic bool leaves_topology;       /* a node sent where the algorithm's topology has no link */
};

/* 0 or CV_ENOMEM; free it in both cases. */
int model_init(struct model *model, const struct cv_scenario *scenario, const struct cv_check_options *options);
void model_free(struct model *model);

uint64_t model_bytes(const struct model *model);

/* The model owns the test from now on. */
void model_add_promise_test(struct model *model, struct promise_test *test);

/* A promise of the algorithm's table is broken, or cannot be confirmed. The first of each kind is kept. */
__attribute__((format(printf, 3, 4))) void model_doubt_promise(struct model *model, bool broken, const char *format,
                                                               ...);
/* What a node does, in words: "node 2 hearing request from 3". */
void model_describe(const struct model *model, cv_node node, enum cv_decision_type type,
                    const struct cv_message *message, char *text, size_t size);

static inline const struct node_state *model_node_state(const struct model *model, uint32_t number)
{
    return intern_bytes(&model->node_states, number);
}

/* What a node may do by itself. OWN_LEAVE also tells that it is inside. */
enum own_event { OWN_CALL = 1, OWN_REQUEST = 2, OWN_LEAVE = 4 };
#define OWN_EVENT_BITS (64 / CV_CHECK_MOST_NODES)
/* The first bit of every node's own events. */
#define EVERY_NODES_FIRST_BIT 0x1111111111111111ull
static_assert(OWN_EVENT_BITS == 4, "the distance of these bits");

static inline uint8_t model_own_events(const struct model *model, uint32_t number)
{
    return atomic_load_explicit(&model->own_events[number], memory_order_relaxed);
}

static inline const struct budgets *model_budgets(const struct model *model, uint32_t number)
{
    return intern_bytes(&model->budget_sets, number);
}

static inline const struct cv_message *model_message(const struct model *model, uint32_t number)
{
    return intern_bytes(&model->messages, number);
}

static inline const struct contents *model_contents(const struct model *model, uint32_t number)
{
    return intern_bytes(&model->contents, number);
}

/* What a node state, or the budgets, adds to the fingerprint of a state. */
static inline struct fingerprint slot_fingerprint(const struct model *model, uint32_t number, bool budgets)
{
    return intern_record(budgets ? &model->budget_sets : &model->node_states, number)->fingerprint;
}

/* What the contents of a channel add: a message and the contents after it. */
struct fingerprint contents_fingerprint(const struct model *model, uint32_t first, uint32_t rest);

/* The number of a value, new or known. Without memory: 0, and `out_of_memory` is set. */
uint32_t model_add_node_state(struct model *model, const struct node_state *node_state);
uint32_t model_add_budgets(struct model *model, const struct budgets *budgets);
/*
 * The message as its receiver sees it: its clock is as setting_clock() gives it. With bounded delays, which only
 * algorithms without clocks can have, it is the time that the message has left to arrive.
 */
uint32_t model_add_message(struct model *model, const struct cv_message *message, uint32_t alive);

/* The number of a message that another rank has numbered: it is as its receiver sees it already. */
uint32_t model_keep_message(struct model *model, const struct cv_message *message, size_t length);

/* The contents with a changed first message: still the first, or at its sorted position if there is no order. */
uint32_t model_put_back(struct model *model, uint32_t first, uint32_t rest);
/* The contents with one more message. */
uint32_t model_put(struct model *model, uint32_t contents, uint32_t message);
/* The contents without the message at that index. */
uint32_t model_take(struct model *model, uint32_t contents, uint32_t index);
/* Bounded delays: the contents after that time, which every message in it has left and more. */
uint32_t model_age(struct model *model, uint32_t contents, uint64_t time);
/* The slot of the channel between two nodes. */
uint32_t model_channel(struct model *model, cv_node from, cv_node to);

/* The fingerprint of a whole state. */
struct fingerprint model_fingerprint(const struct model *model, const uint32_t *state);

/* Does the algorithm's topology let that node send to another while these nodes are alive? */
bool model_may_send(const struct model *model, uint32_t node_state, uint32_t alive, cv_node to);

/* Can no fault and no recovery happen any more? */
static inline bool model_is_calm(const struct model *model, const struct budgets *budgets, uint32_t alive)
{
    const bool whole = (alive & ALIVE_MASK) == (1u << model->setting.nodes) - 1;
    return !budgets->crashes && !budgets->suspicions && !budgets->cuts && cv_links_are_none(&budgets->cut_links) &&
           (whole || !budgets->recoveries);
}

/* A bit for each live node. */
static inline uint32_t model_alive(const struct model *model, const uint32_t *state)
{
    uint32_t alive = 0;
    if (!model->setting.group.absence)
        return (1u << model->setting.nodes) - 1;
    if (model->setting.options.recoveries) /* dead nodes keep their clocks and requests, so they differ */
        for (cv_node node = 0; node < model->setting.nodes; node++)
            alive |= (model_node_state(model, state[node])->flags & NODE_ALIVE ? 1u : 0) << node;
    else
        for (cv_node node = 0; node < model->setting.nodes; node++)
            alive |= (uint32_t)(state[node] != model->dead[node]) << node;
    return alive;
}

#endif
