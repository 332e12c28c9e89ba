// SPDX-License-Identifier: MIT
/* Labels of nodes: letters or words that people read instead of ids, if --labels gives them. */
#ifndef CONCLAVE_CORE_SCENARIO_LABEL_H
#define CONCLAVE_CORE_SCENARIO_LABEL_H

#include "core/error.h"
#include "core/scenario/scenario.h"

#define CV_LONGEST_LABEL 12u

/* The name of a node for people: its label, or else its id in digits. */
struct cv_name {
    char text[CV_LONGEST_LABEL + 1];
};

struct cv_name cv_name(const struct cv_scenario *scenario, cv_node node);

/* The same for an id. */
struct cv_name cv_name_of(const struct cv_scenario *scenario, cv_id id);

/* The length of the longest name, in characters. */
size_t cv_longest_name(const struct cv_scenario *scenario);

/* Reads --labels: "a..j" or "red,green,blue", one for each node. 0, CV_ENOMEM, or CV_EINPUT and what is wrong. */
int cv_labels_read(const char *text, struct cv_scenario *scenario, struct cv_complaint *complaint);

#endif
