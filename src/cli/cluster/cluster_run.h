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
    uint64_t http;              /* the port of the first node's page; 0: no pages */
    const char *directory;      /* for configurations and sockets */
    const char *record;         /* a directory for recordings, or NULL */
    const char *group;          /* "raft" or "static"; NULL: the default */
    const char *election;       /* NULL: the default */
    const char **rules;         /* "PATTERN=ALGORITHM", ended by NULL; or NULL */
    const char **settings;      /* "SECTION.KEY=VALUE", ended by NULL; or NULL */
    pid_t pids[CV_MAX_MEMBERS]; /* 0: not running */
    char *sockets[CV_MAX_MEMBERS];
    int ports[CV_MAX_MEMBERS]; /* bound, so that the nodes' ports stay theirs; 0: none */
};

/* Writes the configurations and starts all nodes. */
int cluster_start(struct cluster *cluster, struct cv_complaint *complaint);
/* Starts one of them again. */
int cluster_start_node(struct cluster *cluster, uint32_t index, struct cv_complaint *complaint);
/*
 * Waits until all running nodes are in one view, with no others. Returns the coordinator's index, or -1 after the
 * timeout.
 */
int cluster_await(const struct cluster *cluster, int timeout_ms);
/* The last complaint of a node that has ended: the likely reason why the others wait. */
struct cv_complaint cluster_last_words(const struct cluster *cluster);
/* Ends all nodes and waits for them. */
void cluster_stop(struct cluster *cluster);

/* Makes a temporary directory; NULL if that fails. Free the name after cluster_remove(). */
char *cluster_make_directory(void);
void cluster_remove(const char *directory);

#endif
