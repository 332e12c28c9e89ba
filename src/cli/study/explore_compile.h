// SPDX-License-Identifier: MIT
/* Compiles an algorithm of the user's own: `conclave explore ./mine.c`. */
#ifndef CONCLAVE_CLI_STUDY_EXPLORE_COMPILE_H
#define CONCLAVE_CLI_STUDY_EXPLORE_COMPILE_H

#include <limits.h>
#include <stdbool.h>

#include "core/error.h"

/* A shared object in a directory of its own. Zeroed: there is none. */
struct explore_object {
    char *directory;
    char *path;
};

/* Is the word the path of a C file? */
bool explore_is_source(const char *word);

/* The directory of the public headers, which stands beside the program's. 0 or CV_EFILE. */
int explore_find_headers(char path[PATH_MAX + 16]);

/* Compiles it with cc. 0, CV_ENOMEM, or CV_EINPUT with a complaint, after what the compiler says. Remove the object in
 * any case. */
int explore_compile(const char *source, struct explore_object *object, struct cv_complaint *complaint);
void explore_object_remove(struct explore_object *object);

#endif
