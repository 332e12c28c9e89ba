// SPDX-License-Identifier: MIT
/*
 * Options as scripts may rely on them: none shortened, since a script outlives what is unambiguous today; none with two
 * values; and whatever is wrong is told in one line that names it.
 */
#ifndef CONCLAVE_CLI_OPTIONS_H
#define CONCLAVE_CLI_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>

#include "core/error.h"

#define OPTIONS_FIRST 256 /* the number of the first option that has no letter */
#define OPTIONS_MOST 320

enum { OPTIONS_END = -1, OPTIONS_WRONG = -2 };

struct options {
    const char *command; /* whose --help is recommended */
    const char *letters; /* as getopt has them, beginning with ':' */
    const struct option *table;
    int argc;
    char **argv;
    bool (*repeats)(int option); /* may it have several values? NULL: none may */
    bool given[OPTIONS_MOST];
};

void options_begin(struct options *options);

/* The next option, whose value is `optarg`; OPTIONS_END, and then the words from `optind` on; or OPTIONS_WRONG. */
int options_next(struct options *options, struct cv_complaint *complaint);

struct options_text {
    char text[128];
};

/* What is wrong with the word at which getopt stopped, returning '?' or ':'. */
struct options_text options_wrong(const struct option *table, int stopped, const char *word);

/* The option at hand as it stands on the command line, with its value if that is in the same word. */
const char *options_written(const struct options *options);

#endif
