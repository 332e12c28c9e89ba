// SPDX-License-Identifier: MIT
/* Finds an algorithm by name, or loads one of the user's own. */
#ifndef CONCLAVE_CLI_STUDY_PLUGIN_H
#define CONCLAVE_CLI_STUDY_PLUGIN_H

#include "core/error.h"
#include <conclave/algorithm.h>

/* The user's algorithms of a command that takes several: --with FILE. */
#define PLUGIN_MOST 8u
struct plugin_list {
    const struct cv_algorithm *algorithms[PLUGIN_MOST];
    const char *paths[PLUGIN_MOST];
    uint32_t count;
};

/* Adds one. */
int plugin_add(struct plugin_list *list, const char *path, struct cv_complaint *complaint);
/* Complains of those of another problem, and of those that have the name of one that is built in. */
int plugin_list_check(const struct plugin_list *list, enum cv_problem problem, struct cv_complaint *complaint);

/* From now on plugin_find() finds these by their names, too, and first. The list stays the caller's. */
void plugin_know(const struct plugin_list *list);

/* An algorithm by name; from a shared object or a C file if the name has a slash. 0, CV_ENOMEM or CV_EINPUT. */
int plugin_find(const char *name, const struct cv_algorithm **algorithm, struct cv_complaint *complaint);

#endif
