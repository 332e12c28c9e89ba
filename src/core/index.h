// SPDX-License-Identifier: MIT
/* Maps ids to nodes. */
#ifndef CONCLAVE_CORE_INDEX_H
#define CONCLAVE_CORE_INDEX_H

#include <conclave/algorithm.h>

struct cv_index {
    uint64_t *pairs; /* (id, node), sorted */
    uint32_t count;
};

/* 0 or CV_ENOMEM. */
int cv_index_make(struct cv_index *index, const cv_id *ids, uint32_t count);
void cv_index_free(struct cv_index *index);

/* The node of that id, or CV_NOBODY. */
cv_node cv_index_find(const struct cv_index *index, cv_id id);

/* Finds an id that occurs twice, if there is one. */
bool cv_index_duplicate(const struct cv_index *index, cv_id *id);

#endif
