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
    const struct sim_request *scenario; /* NULL: the page shows its gallery */
    int count;
    char **words;       /* of the scenario, as they were given */
    const char *replay; /* what a file holds that says what is run; NULL: there is none */
    bool served;        /* the program that serves the page is its engine, too */
};

/* The page with its start in it. 0, CV_ENOMEM, or CV_EFILE with a complaint if this program has no page. Free it. */
int explore_page_make(const struct explore_start *start, char **page, size_t *length, struct cv_complaint *complaint);

#endif
