// SPDX-License-Identifier: MIT
/*
 * The recordings of live nodes (cli/record.h), one text for each node. A recording tells of every name that the nodes
 * have locks or elections of, of views, and of grants to clients; times are microseconds.
 */
#ifndef CONCLAVE_EXPLORE_RECORDED_LINES_H
#define CONCLAVE_EXPLORE_RECORDED_LINES_H

#include "core/error.h"
#include "core/event.h"
#include "core/scenario/plan_inputs.h"
#include "explore/json_reader.h"

#define OF_NO_NAME UINT32_MAX
#define REMARK_OF_END 1u /* `detail` of the remark with which a node ends */

/* A line. */
struct recorded_line {
    struct cv_event event;      /* `message` is the number of the recording */
    struct cv_message *content; /* its own, or NULL */
    char *text;                 /* its own, or NULL */
    uint32_t name;              /* the name that it belongs to, or OF_NO_NAME */
    uint32_t type;              /* enum explored_type of the step that it begins; EVENT_TYPES: it is an effect */
};

/* A name that was recorded: of a lock, or of the group's own election. */
struct recorded_name {
    char *subject, *name;
    const struct cv_algorithm *algorithm;
    uint64_t lines;
};

/* What one node recorded. */
struct recorded_node {
    uint64_t first, end;  /* its lines */
    uint64_t last;        /* the time of the last one */
    uint64_t base;        /* of its last view */
    bool recorded, ended; /* it has a file; the file says how it ended */
};

/* A view that some node began. */
struct recorded_view {
    uint64_t base;
    cv_node *members;
    uint32_t count;
};

struct recorded_lines {
    cv_id *ids;
    uint32_t *attributes;
    struct recorded_node *each;
    uint32_t nodes;
    struct recorded_line *lines;
    uint64_t count, room;
    struct recorded_name *names;
    uint64_t name_count, name_room;
    struct recorded_view *views;
    uint64_t view_count, view_room;
    uint64_t began; /* the time of the first line */
};

/* Is that text one of them? */
bool recorded_lines_are(const char *text);

/*
 * Reads one text for each node. `find` knows algorithms by name, besides those that are built in; or it is NULL. 0,
 * CV_ENOMEM, or CV_EINPUT with a complaint. Free in any case.
 */
int recorded_lines_read(struct recorded_lines *lines, const struct json_value *texts, cv_find_algorithm *find,
                        struct cv_complaint *complaint);

/* Did the node die, as far as the others know: does its recording end, and do they go on without it? */
bool recorded_lines_died(const struct recorded_lines *lines, cv_node node);

void recorded_lines_free(struct recorded_lines *lines);

#endif
