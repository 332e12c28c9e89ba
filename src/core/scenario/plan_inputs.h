// SPDX-License-Identifier: MIT
/* What the options of a plan name: other algorithms, files with graphs, voting sets and clusters. */
#ifndef CONCLAVE_CORE_SCENARIO_PLAN_INPUTS_H
#define CONCLAVE_CORE_SCENARIO_PLAN_INPUTS_H

#include "core/scenario/plan.h"

/* A file's content, to be freed; or NULL and a complaint that names the option. */
typedef char *cv_read_file(void *context, const char *option, const char *path, struct cv_complaint *complaint);
typedef int cv_find_algorithm(const char *name, const struct cv_algorithm **algorithm, struct cv_complaint *complaint);

struct cv_plan_inputs {
    cv_find_algorithm *find;
    cv_read_file *read;
    void *context;        /* for `read` */
    const char *election; /* --election: the algorithm that elects a coordinator */
    const char *app;      /* --app: what a synchronizer hosts */
    char *graph_text;     /* what the file of --graph holds */
    char *quorums_text;   /* what the file of --set quorums=FILE holds */
    char *clusters_text;  /* what the file of --set clusters=FILE holds */
};

/* Finds the algorithms and reads the files. 0, CV_ENOMEM, CV_EINPUT or CV_EFILE. Free the inputs in any case. */
int cv_plan_read_inputs(struct cv_plan *plan, struct cv_plan_inputs *inputs, struct cv_complaint *complaint);
void cv_plan_inputs_free(struct cv_plan_inputs *inputs);

#endif
