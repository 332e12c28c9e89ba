// SPDX-License-Identifier: MIT
/*
 * Keeps what a runtime reports: every event with its message, up to a size that a person can look at, and counts of all
 * events. Diagrams and transcripts are made from it.
 */
#ifndef CONCLAVE_SHOW_HISTORY_H
#define CONCLAVE_SHOW_HISTORY_H

#include "core/event.h"
#include "core/scenario/label.h"
#include "core/scenario/scenario.h"
#include "show/state_changes.h"

#define CV_HISTORY_BINS 64u
#define CV_NO_EVENT SIZE_MAX

/* What a node did in all. */
struct cv_history_node {
    uint64_t sent;
    uint64_t received;
    uint64_t crashed;   /* when, the last time; CV_NEVER: it did not */
    uint64_t recovered; /* when, the last time; CV_NEVER: it did not */
    cv_id leader;       /* the leader that it knows, if `knows` */
    bool knows;         /* it knows a leader */
    bool down;
    uint64_t entries; /* how often it was inside */
    uint32_t waiting; /* for how many critical sections, now */
    uint32_t inside;  /* how many critical sections, now */
    uint64_t result;  /* its result, over `via`, if `came` */
    cv_node via;
    bool came;
};

/* What a step changed in the state of a node. */
struct cv_history_change {
    size_t event; /* the last of the step */
    cv_node node;
    const char *text;  /* "mode idle → waiting, leader 3 → -" */
    const char *brief; /* for pictures: the new words and numbers, "waiting"; empty if only rows have changed */
};

struct cv_history {
    struct cv_event *events; /* their `content` belongs to the history */
    size_t count, capacity;
    bool truncated;     /* only the first `count` events are kept; the counts are complete */
    bool out_of_memory; /* memory ran out; the counts may be wrong, too */

    struct cv_history_node *nodes;
    uint32_t node_count;

    /* Messages sent, by kind, in each of so many spans of time; a span is a power of two and grows with the run. */
    uint64_t sent[CV_MAX_KINDS][CV_HISTORY_BINS];
    uint64_t span;
    uint64_t last; /* the time of the last event */

    struct cv_history_change *changes; /* of states, by event, if somebody watches */
    size_t change_count, change_room;
    struct cv_state_changes states; /* the last of each node */

    struct cv_history_chunk *chunks; /* the messages' contents, and texts */
    size_t bytes;
};

/* 0 or CV_ENOMEM; to be freed in both cases. */
int cv_history_init(struct cv_history *history, uint32_t nodes);
void cv_history_free(struct cv_history *history);

/* The observer: context is the history. */
void cv_history_event(void *context, const struct cv_event *event);

/* From now on states are watched, too. 0 or CV_ENOMEM. */
int cv_history_watch(struct cv_history *history, const struct cv_scenario *scenario);

/* The observer of states: context is the history. */
void cv_history_state(void *context, const struct cv_snapshot *snapshot);

/* What the events from `first` to `end` - 1 changed in that node's state; NULL: nothing. */
const struct cv_history_change *cv_history_change(const struct cv_history *history, size_t first, size_t end,
                                                  cv_node node);

/* One message: its send, and its receipt or loss. */
struct cv_flight {
    size_t sent;    /* the index of its send */
    size_t arrived; /* the index of its receipt or loss; CV_NO_EVENT: still under way */
};

/* All messages, in the order of their sends; NULL if memory is out. Free it. */
struct cv_flight *cv_history_flights(const struct cv_history *history, size_t *count);

/* Does this problem have a leader? */
static inline bool cv_view_elects(const struct cv_scenario *scenario)
{
    return scenario->algorithm->problem == CV_ELECTION || cv_scenario_claims(scenario) & CV_AGREEMENT;
}

/* Does the message carry one of the app that a synchronizer hosts? The first of its kinds does. */
static inline bool cv_view_hosts(const struct cv_scenario *scenario, const struct cv_message *message)
{
    return scenario->app && message->kind == 0;
}

/* The id of a node. */
static inline cv_id cv_view_id(const struct cv_scenario *scenario, cv_node node)
{
    return scenario->group.ids[node];
}

static inline const char *cv_view_kind(const struct cv_scenario *scenario, const struct cv_message *message)
{
    return scenario->algorithm->kinds[message->kind].name;
}

#endif
