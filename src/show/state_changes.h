// SPDX-License-Identifier: MIT
/* Compares a node's state with the last one seen of it, field by field. */
#ifndef CONCLAVE_SHOW_STATE_CHANGES_H
#define CONCLAVE_SHOW_STATE_CHANGES_H

#include "core/event.h"
#include "core/scenario/fields.h"

#define CV_CHANGE_TEXT 240u /* of a value, shown */

struct cv_state_changes {
    const struct cv_scenario *scenario;
    struct cv_seen_state *seen; /* per critical section and node */
    bool out_of_memory;
};

/* One field that has changed; if the node is seen for the first time, any field. */
struct cv_field_change {
    const struct cv_fields *field;
    const void *state;
    const char *text;   /* what it is now */
    const char *before; /* what it was; NULL: it was not seen before */
};

/* 0 or CV_ENOMEM; to be freed in both cases. */
int cv_state_changes_init(struct cv_state_changes *changes, const struct cv_scenario *scenario);
void cv_state_changes_free(struct cv_state_changes *changes);

/* Is it another state than the last one seen of that node? If it is, it is the last one from now on. */
bool cv_state_changes_look(struct cv_state_changes *changes, const struct cv_snapshot *snapshot);

/* The last state seen of that node, and the group to read it by; NULL: none, or there is nothing in it. */
const void *cv_state_changes_last(const struct cv_state_changes *changes, cv_node node, uint32_t name,
                                  struct cv_group *group);

/* How many states of that node were found to be others; the first is that with which it begins. */
uint64_t cv_state_changes_count(const struct cv_state_changes *changes, const struct cv_snapshot *snapshot);

/* What the last look has found; or all fields. */
void cv_state_changes_tell(const struct cv_state_changes *changes, const struct cv_snapshot *snapshot, bool all,
                           void (*tell)(void *context, const struct cv_field_change *change), void *context);

#endif
