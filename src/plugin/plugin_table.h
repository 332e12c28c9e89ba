// SPDX-License-Identifier: MIT
/* Is the table of an algorithm in a shared object one that can be used? */
#ifndef CONCLAVE_PLUGIN_PLUGIN_TABLE_H
#define CONCLAVE_PLUGIN_PLUGIN_TABLE_H

#include <conclave/algorithm.h>

#include "core/error.h"

/* The interface's version, the parts that every algorithm has, and the tables of fields. */
int plugin_table_check(const char *path, const struct cv_algorithm *algorithm, struct cv_complaint *complaint);
/* The same, and what a node needs besides: handlers that it calls, messages that fit a frame, names without blanks. */
int plugin_table_check_for_node(const char *path, const struct cv_algorithm *algorithm, struct cv_complaint *complaint);

#endif
