// SPDX-License-Identifier: MIT
/* The explorer's page, as scripts/page.py makes it, and what it begins with. */
#ifndef CONCLAVE_CLI_STUDY_EXPLORE_PAGE_H
#define CONCLAVE_CLI_STUDY_EXPLORE_PAGE_H

#include <stddef.h>

#include "cli/study/sim_options.h"

/* The page in the program; no bytes if it was built without one. */
extern const char explore_page_begin[];
extern const char explore_page_end[];

/* What the page begins with. */
struct explore_start {
    int count;                  /* of words or of recordings */
    char **words;               /* of a scenario, as they were given; NULL: there is none */
    char **recordings;          /* of live nodes, as they were read; NULL: there are none */
    const char *replay;         /* what a file holds that says what is run; NULL: there is none */
    const struct cv_plan *plan; /* has the files that the words name; NULL: there are none */
    bool served;                /* the program that serves the page is its engine, too */
};

/* The page with its start in it. 0, CV_ENOMEM, or CV_EFILE with a complaint if this program has no page. Free it. */
int explore_page_make(const struct explore_start *start, char **page, size_t *length, struct cv_complaint *complaint);

#endif
