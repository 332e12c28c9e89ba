// SPDX-License-Identifier: MIT
/* Node processes on this machine, started, watched and ended together. */
#ifndef CONCLAVE_CLI_CLUSTER_CLUSTER_RUN_H
#define CONCLAVE_CLI_CLUSTER_CLUSTER_RUN_H

#include <sys/types.h>

#include "core/error.h"
#include "group/view.h"

struct cluster {
    uint32_t count;
    uint64_t port;              /* of the first node's clients; 0: sockets alone */
    const char *directory;      /* for configurations and sockets */
    const char *record;         /* a directory for recordings, or NULL */
    const char *group;          /* "raft" or "static"; NULL: the default */
    const char *election;       /* NULL: the default */
    const char **rules;         /* "PATTERN=ALGORITHM", ended by NULL; or NULL */
    const char **settings;      /* "SECTION.KEY=VALUE", ended by NULL; or NULL */
    pid_t pids[CV_MAX_MEMBERS]; /* 0: not running */
    char *sockets[CV_MAX_MEMBERS];
};

/* Writes the configurations and starts everybody. */
int cluster_start(struct cluster *cluster, struct cv_complaint *complaint);
/* One of them again. */
int cluster_start_node(struct cluster *cluster, uint32_t index, struct cv_complaint *complaint);
/* Waits until all that run are in one view together, with no others; the coordinator's index, or -1 if that takes too
 * long. */
int cluster_await(const struct cluster *cluster, int timeout_ms);
/* What a node that could not go on complained about, for want of a better guess why the others wait for it. */
struct cv_complaint cluster_last_words(const struct cluster *cluster);
/* Ends everybody, and waits until they are gone. */
void cluster_stop(struct cluster *cluster);

/* A new directory for temporary files; NULL if there is none to be had. To be freed, after cluster_remove(). */
char *cluster_make_directory(void);
void cluster_remove(const char *directory);

#endif
