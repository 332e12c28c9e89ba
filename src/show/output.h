// SPDX-License-Identifier: MIT
/*
 * A file that is there when it is complete, and not before: it is written beside its name and takes the name at
 * the end. A run that is killed, fails or meets a full disk leaves what was there before.
 */
#ifndef CONCLAVE_SHOW_OUTPUT_H
#define CONCLAVE_SHOW_OUTPUT_H

#include <stdio.h>

#include "core/error.h"

struct cv_output {
    FILE *file;
    char *name;    /* as the user gave it */
    char *target;  /* what the finished file is called: the name with links followed; NULL if written in place */
    char *partial; /* what it is called until then */
};

/*
 * 0, CV_ENOMEM or CV_EFILE with a complaint. "-" is the standard output; devices and pipes are written in place.
 */
int cv_output_open(struct cv_output *output, const char *name, struct cv_complaint *complaint);

/* Finishes the file and gives it its name. CV_EFILE with a complaint if any write failed; then nothing is left. */
int cv_output_commit(struct cv_output *output, struct cv_complaint *complaint);

/* Throws away what was written. Does nothing to an output that is not open. */
void cv_output_abort(struct cv_output *output);

#endif
