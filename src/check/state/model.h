// SPDX-License-Identifier: MIT
/*
 * A state of the whole group as a vector of small numbers:
 *
 *     [0 .. n-1]  the nodes: numbers of `struct place`
 *     [n]         everything that is not a node: the number of a `struct world`
 *     [n+1 ..]    the channels, in the order in which they were first used: numbers of contents, 0 if empty
 *
 * A channel's contents are a list, kept as (first message, contents behind it): taking the first costs one look.
 * Without order between messages the list is sorted, and any of them may be taken.
 */
#ifndef CONCLAVE_CHECK_STATE_MODEL_H
#define CONCLAVE_CHECK_STATE_MODEL_H

#include <stdatomic.h>

#include "check/state/fingerprint.h"
#include "check/state/intern.h"
#include "check/state/observed.h"
#include "check/state/sample.h"
#include "check/step/handler.h"

#define MOST_CHANNELS (CV_CHECK_MOST_NODES * CV_CHECK_MOST_NODES)
#define MOST_PARTS (CV_CHECK_MOST_NODES + 1 + MOST_CHANNELS)
#define NO_CHANNEL UINT32_MAX

struct contents {
    uint32_t first;    /* message */
    uint32_t rest;     /* contents */
    struct print here; /* what it adds to the fingerprint of a state */
    struct print gone; /* what taking the first message adds */
};

struct model {
    struct setting setting;
    struct intern node_states, messages, contents, budget_sets;
    struct observations observations;
    _Atomic uint8_t *glances;                 /* by the number of a place: what is asked of every node of every state */
    uint32_t dead[CV_CHECK_MOST_NODES];       /* the place of each node once it has died */
    pthread_mutex_t lock;                     /* of the channels' list */
    _Atomic uint32_t slots;                   /* of a state's vector */
    _Atomic uint32_t channels[MOST_CHANNELS]; /* part by from * nodes + to; 0: not in use yet */
    uint8_t from[MOST_PARTS], to[MOST_PARTS]; /* the ends of a channel, by part */
    uint64_t before;                          /* states of searches that are over, for other orders of requests */
    struct sample steps, names, renamings, times; /* what was tried with other names and times */
    struct mishap mishap;                         /* why a node could not begin */
    _Atomic bool out_of_memory;
    struct twins *twins;            /* of its order of requests: see twin.h; NULL: none */
    struct counting_test *counting; /* of its `counters`; NULL: none */
    _Atomic bool miscounted;        /* a promise about these is not kept: `unlike` as well, */
    _Atomic bool unlike;            /* nodes are not alike, or it cannot be confirmed that they are, */
    bool unlike_indeed;             /* the former, */
    char unlike_text[160];          /* and why */
    _Atomic bool timely;            /* a step that is no request looked at its clock */
    _Atomic bool tied;              /* a step would be another if requests had equal times */
    _Atomic bool strayed;           /* somebody sent where the algorithm's topology does not lead */
};

/* What an algorithm's table promises about names is not so (`indeed`), or may not be. The first time counts. */
__attribute__((format(printf, 3, 4))) void model_break_promise(struct model *model, bool indeed, const char *format,
                                                               ...);
/* What a node does, in words: "node 2 hearing request from 3". */
void model_describe(const struct model *model, cv_node node, enum cv_decision_type type,
                    const struct cv_message *message, char *text, size_t size);

int model_init(struct model *model, const struct cv_scenario *scenario, const struct cv_check_options *options);
void model_free(struct model *model);

/* The state before the first event. 0, CV_ENOMEM, or CV_EINPUT if a node cannot begin. */
int model_begin(struct model *model, uint32_t *state);

uint64_t model_bytes(const struct model *model);

static inline const struct node_state *model_node_state(const struct model *model, uint32_t number)
{
    return intern_bytes(&model->node_states, number);
}

/* What is there to see of a node at first glance: what it may do by itself, and so that it is inside. */
enum glance { GLANCE_CALL = 1, GLANCE_ASK = 2, GLANCE_LEAVE = 4 };
#define GLANCE_BITS (64 / CV_CHECK_MOST_NODES)

static inline uint8_t model_glance(const struct model *model, uint32_t number)
{
    return atomic_load_explicit(&model->glances[number], memory_order_relaxed);
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

/* What a node, or the world, adds to the fingerprint of a state. */
static inline struct print model_print(uint32_t number, bool budgets)
{
    return print_of(1u + budgets, number);
}

/* And the contents of a channel: a message and those behind it. */
static inline struct print model_contents_print(uint32_t first, uint32_t rest)
{
    return print_of(first + 3u, rest);
}

uint32_t model_add_node_state(struct model *model, const struct node_state *node_state);
uint32_t model_add_budgets(struct model *model, const struct budgets *budgets);
/* Only what its receiver can see counts: the time of sending as clock_of() sees it. */
uint32_t model_add_message(struct model *model, const struct cv_message *message, uint32_t alive);
/* Contents: a message and those behind it; with a message more; without the one at that place. */
uint32_t model_cons(struct model *model, uint32_t first, uint32_t rest);
/* A first message that has changed: still the first, or where it belongs if there is no order. */
uint32_t model_put_back(struct model *model, uint32_t first, uint32_t rest);
uint32_t model_put(struct model *model, uint32_t contents, uint32_t message);
uint32_t model_take(struct model *model, uint32_t contents, uint32_t node_state);
/* The part that is the channel between two nodes. */
uint32_t model_channel(struct model *model, cv_node from, cv_node to);

/* The fingerprint of a whole state. */
struct print model_fingerprint(const struct model *model, const uint32_t *state);

/* May that node send to another, by what its algorithm's topology says, when these live? */
bool model_may_send(const struct model *model, uint32_t node_state, uint32_t alive, cv_node to);

/* Can nothing fail any more, nor come back? */
static inline bool model_is_calm(const struct model *model, const struct budgets *budgets, uint32_t alive)
{
    const bool whole = (alive & LIVES) == (1u << model->setting.nodes) - 1;
    return !budgets->crashes && !budgets->suspicions && !budgets->cuts && cv_links_are_none(&budgets->apart) &&
           (whole || !budgets->recoveries);
}

/* Who lives. */
static inline uint32_t model_alive(const struct model *model, const uint32_t *state)
{
    uint32_t alive = 0;
    if (!model->setting.group.absence)
        return (1u << model->setting.nodes) - 1;
    if (model->setting.options.recoveries) /* the dead differ in what is left of them */
        for (cv_node node = 0; node < model->setting.nodes; node++)
            alive |= (model_node_state(model, state[node])->flags & NODE_ALIVE ? 1u : 0) << node;
    else
        for (cv_node node = 0; node < model->setting.nodes; node++)
            alive |= (uint32_t)(state[node] != model->dead[node]) << node;
    return alive;
}

#endif
