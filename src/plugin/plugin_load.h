// SPDX-License-Identifier: MIT
/* Algorithms from shared objects. What was loaded stays: its tables and strings are used until the process ends. */
#ifndef CONCLAVE_PLUGIN_PLUGIN_LOAD_H
#define CONCLAVE_PLUGIN_PLUGIN_LOAD_H

#include <conclave/algorithm.h>

#include "core/error.h"
#include "secure/digest.h"

struct cv_plugin {
    const struct cv_algorithm *algorithm;
    char *path; /* as the operator wrote it */
    struct cv_digest digest;
    struct cv_plugin *next;
};

/*
 * Loads a file for an experiment of the user who names it, whoever owns the file. `path` is what the user knows it by,
 * which is another if the file was made of it.
 */
int cv_plugin_load(const char *file, const char *path, const struct cv_algorithm **algorithm,
                   struct cv_complaint *complaint);

/*
 * Loads a file for a node, which runs its code for others: only if nobody but root and the node's user can have written
 * it, and only if a node can host the algorithm. What is loaded is exactly what was checked and hashed. A path is
 * loaded once: later the same plugin is found again, also if there is another file by then.
 */
int cv_plugin_load_for_node(const char *path, const struct cv_plugin **plugin, struct cv_complaint *complaint);

#endif
