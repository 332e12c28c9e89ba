// SPDX-License-Identifier: MIT
/* Reads the recordings of live nodes and merges them: for each name the events of all nodes, ordered by time. */
#ifndef CONCLAVE_CLI_STUDY_RECORDING_H
#define CONCLAVE_CLI_STUDY_RECORDING_H

#include "core/event.h"
#include "core/scenario/scenario.h"
#include "group/view.h"
#include "property/run.h"

/* A grant to a client, and when it ended. */
struct recording_grant {
    cv_node node;
    uint64_t session;
    uint64_t fence;
    uint64_t begun;
    uint64_t ended;    /* CV_NEVER: not yet */
    uint64_t ttl;      /* how long it lasts after the last renewal, even if the node dies; 0: it has no TTL */
    uint64_t replaces; /* UPGRADE, DOWNGRADE: the fence of the grant in whose place it came; 0: none */
    uint64_t kept;     /* until then it has to last, since another grant came in its place; 0: none has */
    bool shared;
    bool died; /* its node died */
};

/* A grant with a TTL was renewed or has ended, at any node. */
struct recording_renewal {
    uint64_t fence;
    uint64_t time;
    bool ends;
};

/* All that was recorded about one name. */
struct recording_story {
    char *subject; /* "lock", say */
    char *name;
    const struct cv_algorithm *algorithm;
    struct cv_event *events; /* `message` of an entry is the base of its view, `detail` of a leave when it ended */
    size_t count, room;
    struct recording_grant *grants;
    size_t grant_count, grant_room;
    struct recording_renewal *renewals; /* by fence and time after recording_tell() */
    size_t renewal_count, renewal_room;

    /* Filled in by recording_tell(). */
    struct cv_scenario scenario;
    struct cv_run run;
    struct cv_standing *standings;
    struct cv_entry *entries;
};

/* A node stopped recording without a last line, or started again. */
struct recording_break {
    cv_node node;
    bool back;
    bool asked; /* it was asked to end */
    bool last;  /* nothing is known of the node afterwards */
    uint64_t time;
};

/* What is known of a node. */
struct recording_node {
    bool recorded; /* the node has a file */
    bool ended;    /* the file says how the node ended */
    bool gone;     /* the others began a view without the node after its last line */
    uint64_t base; /* the base of the last view that it began */
};

/* A view that some node began. */
struct recording_view {
    uint64_t base;
    cv_set members;
};

struct recording {
    const struct cv_algorithm *const *own; /* the user's algorithms, besides those that are built in */
    uint32_t own_count;
    cv_id *ids;
    uint32_t *attributes;
    struct recording_node *known;
    uint32_t nodes;
    uint32_t missing; /* nodes without a file */
    uint32_t endless; /* nodes that still run, or were killed at the end before others noticed */
    struct recording_view *seen;
    size_t seen_count, seen_room;
    struct recording_story **stories;
    size_t story_count;
    struct recording_break *breaks;
    size_t break_count;
    uint64_t views;  /* the number of view changes, or the highest number of a view, whichever is larger */
    uint64_t *bases; /* the bases of the views, rising */
    size_t base_count;
    cv_node coordinator; /* the coordinator of the first view, or CV_NOBODY */
    uint64_t last;       /* the time of the last event */
    uint64_t curtain;    /* when the first node was asked to end; later events do not count */
};

/* Adds the file of one node. 0, CV_ENOMEM, CV_EINPUT or CV_EFILE. */
int recording_read(struct recording *recording, const char *path, struct cv_complaint *complaint);
/* Call this after the last file: finds out when the run ended. */
void recording_close(struct recording *recording);
/* Was the node in a view, but has no file? */
bool recording_lacks(const struct recording *recording, cv_node node);
void recording_free(struct recording *recording);

#endif
