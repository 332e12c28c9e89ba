// SPDX-License-Identifier: MIT
/*
 * The state of a node by its named fields, as people read them: "mode" is "waiting", "leader" is "h". Nodes have their
 * labels, if the scenario has any.
 *
 *     char text[200];
 *     for (struct cv_fields at = cv_fields_begin(scenario, NULL, node); cv_fields_next(&at);)
 *         printf("%s: %s\n", at.name, cv_fields_text(&at, state, text, sizeof text));
 *
 * The state of a synchronizer has its own fields, the round, the fields of its app, and the messages of the app that
 * are kept until their round is over; a field of the app that has the name of another begins with the app's name,
 * "bfs-tree.parent". A state whose algorithm names no fields has one that says so.
 */
#ifndef CONCLAVE_CORE_SCENARIO_FIELDS_H
#define CONCLAVE_CORE_SCENARIO_FIELDS_H

#include "core/scenario/scenario.h"

#define CV_FIELD_NAME_BYTES 48u

/* One field of a node's state after the other. A row is one field, whatever the number and the parts of its entries. */
struct cv_fields {
    char name[CV_FIELD_NAME_BYTES]; /* as people read it: "last to" */
    uint32_t type;                  /* enum cv_field_type; of a row of structures, that of the first part */
    uint32_t each;                  /* enum cv_each */
    uint32_t count;                 /* how many entries there are */
    size_t offset, bytes;           /* where in the state it is, and how much of it */
    bool gaps;                      /* set it, and what fills gaps (CV_FIELD_UNUSED) is not left out */

    /* For fields.c and field_check.c alone. */
    const struct cv_scenario *scenario;
    const struct cv_group *group; /* of the algorithm whose fields are read: the app's has its own */
    const struct cv_group *host_group;
    const struct cv_field *first, *next; /* the first part of this field, and what comes after the last */
    size_t base, end, size;              /* where that algorithm's state begins, what was read ends, the state ends */
    size_t stride;                       /* from an entry to the next */
    cv_node node;
    uint32_t part; /* which part of a synchronizer's state it is */
};

/* Before the first field. The group is that of the node's view, or NULL: the scenario's own. */
struct cv_fields cv_fields_begin(const struct cv_scenario *scenario, const struct cv_group *group, cv_node node);

/* The next field; false: there is none. */
bool cv_fields_next(struct cv_fields *at);

/* Its value in the state that the node has, cut short with "…" where there is no room. Returns the text. */
const char *cv_fields_text(const struct cv_fields *at, const void *state, char *text, size_t room);

/* The number itself, of a field that is there once. */
uint64_t cv_fields_number(const struct cv_fields *at, const void *state);

/* Are both parts of the entries of one row? */
bool cv_field_same_row(const struct cv_field *one, const struct cv_field *other);

/* Does the algorithm, and the app it hosts, name the fields of all the state it keeps? */
bool cv_fields_named(const struct cv_scenario *scenario);

#endif
