// SPDX-License-Identifier: MIT
/*
 * Serves the explorer's page on loopback: GET / is the page. If an algorithm of one's own is explored, POST
 * /call/SESSION/NAME is a call of the native engine, with the arguments as its body; a page has a session for each of
 * its engines.
 */
#ifndef CONCLAVE_CLI_STUDY_EXPLORE_SERVE_H
#define CONCLAVE_CLI_STUDY_EXPLORE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

struct explore_site {
    const char *page;
    size_t length;
    bool engine;   /* calls of the native engine are answered */
    uint32_t port; /* 0: the first that is free */
    void (*ready)(void *context, uint32_t port);
    void *context;
};

/* Until INT or TERM comes. 0, CV_ENOMEM or CV_EINPUT with a complaint. */
int explore_serve(const struct explore_site *site, struct cv_complaint *complaint);

#endif
