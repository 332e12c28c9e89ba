// SPDX-License-Identifier: MIT
/* The inputs that the options of a plan name: other algorithms, and files of graphs, voting sets and clusters. */
#ifndef CONCLAVE_CORE_SCENARIO_PLAN_INPUTS_H
#define CONCLAVE_CORE_SCENARIO_PLAN_INPUTS_H

#include "core/scenario/plan.h"

/* A file's content, which the caller frees; or NULL and a complaint that names the option. */
typedef char *cv_read_file(void *context, const char *option, const char *path, struct cv_complaint *complaint);
typedef int cv_find_algorithm(const char *name, const struct cv_algorithm **algorithm, struct cv_complaint *complaint);

struct cv_plan_inputs {
    cv_find_algorithm *find;
    cv_read_file *read;
    void *context;        /* for `read` */
    const char *election; /* --election: the algorithm that elects a coordinator */
    const char *app;      /* --app: the algorithm that a synchronizer hosts */
    char *graph_text;     /* the content of the file of --graph */
    char *quorums_text;   /* the content of the file of --set quorums=FILE */
    char *clusters_text;  /* the content of the file of --set clusters=FILE */
};

/* A file that a plan's options name, and what it holds. */
struct cv_plan_file {
    const char *name, *text;
};
#define CV_MOST_PLAN_FILES 3u

/* The files of a plan whose inputs were read. Returns how many there are. The texts are the plan's. */
uint32_t cv_plan_files(const struct cv_plan *plan, struct cv_plan_file files[CV_MOST_PLAN_FILES]);

/* Finds the algorithms and reads the files. 0, CV_ENOMEM, CV_EINPUT or CV_EFILE. Free the inputs in any case. */
int cv_plan_read_inputs(struct cv_plan *plan, struct cv_plan_inputs *inputs, struct cv_complaint *complaint);
void cv_plan_inputs_free(struct cv_plan_inputs *inputs);

#endif
