// SPDX-License-Identifier: MIT
/*
 * The trace of a run as JSON Lines, written as it happens: a header, a line per event with its Lamport and vector
 * clock, a line per step with what it changed in the node's state, an end. A multicast is one line. Nodes are told by
 * their ids.
 */
#ifndef CONCLAVE_SHOW_TRACE_H
#define CONCLAVE_SHOW_TRACE_H

#include <stdio.h>

#include "core/event.h"
#include "core/scenario/plan_inputs.h"
#include "property/property.h"
#include "show/clocks.h"
#include "show/json.h"
#include "show/state_changes.h"

struct cv_trace {
    FILE *out;
    const struct cv_scenario *scenario;
    struct cv_clocks clocks;
    /* The last send, to which the next ones may belong as a multicast. */
    struct cv_event send;
    struct cv_message *content;
    size_t content_room;
    struct cv_trace_target *targets;
    size_t target_count, target_room;
    struct cv_state_changes changes;
    bool out_of_memory;
};

/* What is needed to run the same again. Either the words of a scenario are known, or the file that is replayed. */
struct cv_trace_source {
    const struct cv_words *words; /* the algorithm, and the options that say what is run */
    const struct cv_plan *plan;   /* which has the files that they name */
    const char *replay;           /* the content of the file that is replayed, or NULL */
};

/* "files":{"NAME":"content"}: those that the options of a plan name. */
void cv_json_plan_files(struct cv_json *json, const struct cv_plan *plan);

/* Writes the header; the source may be NULL. 0 or CV_ENOMEM; to be ended in both cases. The FILE stays the caller's. */
int cv_trace_begin(struct cv_trace *trace, FILE *out, const struct cv_scenario *scenario,
                   const struct cv_trace_source *source);

/* The observer: context is the trace. */
void cv_trace_event(void *context, const struct cv_event *event);

/* The observer of states: context is the trace. Writes the fields that have changed. */
void cv_trace_state(void *context, const struct cv_snapshot *snapshot);

/* Writes the end, unless `run` is NULL, and frees. CV_ENOMEM if the trace is not complete. */
int cv_trace_end(struct cv_trace *trace, const struct cv_run *run, const struct cv_judgement *judgement);

#endif
