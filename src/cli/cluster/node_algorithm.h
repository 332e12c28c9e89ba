// SPDX-License-Identifier: MIT
/* The algorithms that a node can host: those that are built in, and those of files that the operator names. */
#ifndef CONCLAVE_CLI_CLUSTER_NODE_ALGORITHM_H
#define CONCLAVE_CLI_CLUSTER_NODE_ALGORITHM_H

#include "live/settings/settings.h"

/* A cv_settings_find. */
int node_algorithm_find(const char *name, struct cv_found_algorithm *found, struct cv_complaint *complaint);

/*
 * The same for an option of a command that starts nodes. `value` may be a path, and *path becomes the absolute one, to
 * be freed; NULL if it is a name.
 */
int node_algorithm_take(const char *option, const char *value, enum cv_problem problem, char **path,
                        const struct cv_algorithm **algorithm, struct cv_complaint *complaint);

/* The path from the root, to be freed; NULL if there is no memory. Links stay. */
char *node_algorithm_path(const char *path);

#endif
