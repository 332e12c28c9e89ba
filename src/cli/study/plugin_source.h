// SPDX-License-Identifier: MIT
/* The shared object of an algorithm of the user's own, which may be a C file: `conclave sim ./mine.c`. */
#ifndef CONCLAVE_CLI_STUDY_PLUGIN_SOURCE_H
#define CONCLAVE_CLI_STUDY_PLUGIN_SOURCE_H

#include <limits.h>

#include "core/error.h"

/*
 * A C file is compiled by cc when it is first named; the object is kept in memory until the process ends, and there is
 * no file of it. Any other path is that of an object. 0, CV_ENOMEM, or CV_EINPUT with a complaint, after what the
 * compiler says.
 */
int plugin_object(const char *path, const char **object, struct cv_complaint *complaint);

/* The directory of the public headers, which stands beside the program's. 0 or CV_EFILE. */
int plugin_find_headers(char path[PATH_MAX + 16]);

#endif
