// SPDX-License-Identifier: MIT
/*
 * A file that appears only when it is complete. It is written under another name and renamed at the end. A run that is
 * killed, fails or meets a full disk leaves the old file.
 */
#ifndef CONCLAVE_SHOW_OUTPUT_H
#define CONCLAVE_SHOW_OUTPUT_H

#include <stdio.h>

#include "core/error.h"

struct cv_output {
    FILE *file;
    char *name;    /* as the user gave it */
    char *target;  /* the final name, with links followed; NULL if written in place */
    char *partial; /* its name until then */
};

/*
 * 0, CV_ENOMEM or CV_EFILE with a complaint. "-" is the standard output; devices and pipes are written in place.
 */
int cv_output_open(struct cv_output *output, const char *name, struct cv_complaint *complaint);

/* Completes the file and gives it its name. CV_EFILE with a complaint if a write failed; then the file is removed. */
int cv_output_commit(struct cv_output *output, struct cv_complaint *complaint);

/* Removes the file. Does nothing to an output that is not open. */
void cv_output_abort(struct cv_output *output);

#endif
