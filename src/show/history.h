// SPDX-License-Identifier: MIT
/*
 * Remembers what a runtime tells: every event with its message, as long as the run is of a size that a person can
 * look at, and counts of all of it, however long it gets. Diagrams and transcripts are drawn from it.
 */
#ifndef CONCLAVE_SHOW_HISTORY_H
#define CONCLAVE_SHOW_HISTORY_H

#include "core/event.h"
#include "core/scenario/label.h"
#include "core/scenario/scenario.h"

#define CV_HISTORY_BINS 64u
#define CV_NO_EVENT SIZE_MAX

/* What a node did in all. */
struct cv_history_node {
    uint64_t sent, received;
    uint64_t crashed, recovered; /* when, the last time; CV_NEVER if not at all */
    cv_id leader;                /* whom it takes for the leader, when `knows` */
    bool knows, down;
    uint64_t entries;         /* how often it was inside */
    uint32_t waiting, inside; /* at how many critical sections it stands now */
    uint64_t result;          /* what it has come to, over `via`, when `came` */
    cv_node via;
    bool came;
};

struct cv_history {
    struct cv_event *events; /* their `content` belongs to the history */
    size_t count, capacity;
    bool truncated;     /* more happened than is kept: the first `count` events are here, the counts are complete */
    bool out_of_memory; /* and that is why; or the counts could not be kept either */

    struct cv_history_node *nodes;
    uint32_t node_count;

    /* Messages sent, by kind, in each of so many spans of time; a span is a power of two and grows with the run. */
    uint64_t sent[CV_MAX_KINDS][CV_HISTORY_BINS];
    uint64_t span;
    uint64_t last; /* the time of the last event */

    struct cv_history_chunk *chunks; /* the messages' contents */
    size_t bytes;
};

/* 0 or CV_ENOMEM; to be freed in both cases. */
int cv_history_init(struct cv_history *history, uint32_t nodes);
void cv_history_free(struct cv_history *history);

/* The observer: context is the history. */
void cv_history_event(void *context, const struct cv_event *event);

/* The way of one message through the events. */
struct cv_flight {
    size_t sent;    /* the index of its send */
    size_t arrived; /* of its receipt or loss, or CV_NO_EVENT: it was still on the way */
};

/* All messages that were seen being sent, in the order they were; NULL if there is no memory. Free it. */
struct cv_flight *cv_history_flights(const struct cv_history *history, size_t *count);

/* Is there a leader to be known? */
static inline bool cv_view_elects(const struct cv_scenario *scenario)
{
    return scenario->algorithm->problem == CV_ELECTION || cv_scenario_claims(scenario) & CV_AGREEMENT;
}

/* Does the message carry one of the app that a synchronizer hosts? The first of its kinds does. */
static inline bool cv_view_hosts(const struct cv_scenario *scenario, const struct cv_message *message)
{
    return scenario->app && message->kind == 0;
}

/* Who is meant. */
static inline cv_id cv_view_id(const struct cv_scenario *scenario, cv_node node)
{
    return scenario->group.ids[node];
}

static inline const char *cv_view_kind(const struct cv_scenario *scenario, const struct cv_message *message)
{
    return scenario->algorithm->kinds[message->kind].name;
}

#endif
