// SPDX-License-Identifier: MIT
/*
 * What live nodes wrote down, put together: for each name the events of all nodes in the order of time, as a run that
 * the properties can judge and the diagrams can draw.
 */
#ifndef CONCLAVE_CLI_STUDY_RECORDING_H
#define CONCLAVE_CLI_STUDY_RECORDING_H

#include "core/event.h"
#include "core/scenario/scenario.h"
#include "group/view.h"
#include "property/run.h"

/* What a client got, and when it was over. */
struct recording_grant {
    cv_node node;
    uint64_t session, fence;
    uint64_t begun, ended; /* CV_NEVER: not yet */
    uint64_t ttl; /* it lasts so long from when it was renewed last, whatever becomes of its node; 0: no longer */
    bool shared, died;
};

/* Something with a time to live was renewed, or has ended, at whichever node. */
struct recording_renewal {
    uint64_t fence, time;
    bool ends;
};

/* One name. */
struct recording_story {
    char *subject, *name;
    const struct cv_algorithm *algorithm;
    struct cv_event *events; /* `message` of an entry is the base of its view */
    size_t count, room;
    struct recording_grant *grants;
    size_t grant_count, grant_room;
    struct recording_renewal *renewals; /* in the order of fences and times once it is told */
    size_t renewal_count, renewal_room;

    /* Filled in by recording_tell(). */
    struct cv_scenario scenario;
    struct cv_run run;
    struct cv_standing *standings;
    struct cv_entry *entries;
};

/* A node stopped writing without saying so, or began again. */
struct recording_break {
    cv_node node;
    bool back;
    bool asked; /* it was asked to end */
    bool last;  /* nothing is known of it afterwards */
    uint64_t time;
};

/* What there is of a node. */
struct recording_node {
    bool recorded; /* there is a file */
    bool ended;    /* that says how it ended, */
    bool gone;     /* or the others began a view without the node afterwards */
    uint64_t base; /* of the last view it began */
};

/* A view that some node began. */
struct recording_view {
    uint64_t base;
    cv_set members;
};

struct recording {
    cv_id *ids;
    uint32_t *attributes;
    struct recording_node *known;
    uint32_t nodes;
    uint32_t missing; /* nodes without a file */
    uint32_t endless; /* nodes that still run, or were killed at the end: nobody has noticed yet */
    struct recording_view *seen;
    size_t seen_count, seen_room;
    struct recording_story **stories;
    size_t story_count;
    struct recording_break *breaks;
    size_t break_count;
    uint64_t views;  /* how often the room changed, or the highest number of a view, whichever is more */
    uint64_t *bases; /* of the views, rising */
    size_t base_count;
    cv_node coordinator; /* of the first view, or CV_NOBODY */
    uint64_t last;       /* the time of the last event */
    uint64_t curtain;    /* when the first of those who ended together did; what follows is no part of the run */
};

/* Reads one node's file; all of a run together make the recording. 0, CV_ENOMEM, CV_EINPUT or CV_EFILE. */
int recording_read(struct recording *recording, const char *path, struct cv_complaint *complaint);
/* All files are read: when did the run end? */
void recording_close(struct recording *recording);
/* It was in a view, but there is no file of it. */
bool recording_lacks(const struct recording *recording, cv_node node);
void recording_free(struct recording *recording);

#endif
