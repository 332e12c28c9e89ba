// SPDX-License-Identifier: MIT
/* What a cluster's nodes say of themselves, put together. */
#ifndef CONCLAVE_CLI_CLUSTER_STATUS_GATHER_H
#define CONCLAVE_CLI_CLUSTER_STATUS_GATHER_H

#include "cli/ask.h"
#include "group/view.h"

struct status_member {
    int64_t id;
    char address[256];
    char at[128];   /* where there are several: the one in use between it and the node that was asked */
    char state[16]; /* as the node that was asked first sees it */
    int64_t last_heard_ms;
    bool answers;
    int64_t epoch, coordinator; /* as it says itself */
    int64_t lease_ms;           /* -1: it has none, or needs none */
    uint64_t clients, suspicions, mistakes;
};

struct status_lock {
    char *name;
    char kind[16], algorithm[32], holder[48];
    int64_t fence;
    uint64_t waiters, shared;
};

/* Messages of a kind, sent by all. */
struct status_kind {
    char name[96]; /* pattern/algorithm.kind */
    uint64_t sent;
};

struct status {
    char refusal[128]; /* what the server said instead of answering */
    int64_t epoch, coordinator;
    char election[32], mode[16];
    int64_t raft_leader, raft_term; /* of `group raft` */
    int64_t grace_ms;               /* that are left, by the member that says most */
    struct status_member members[CV_MAX_MEMBERS];
    uint32_t member_count;
    struct status_lock *locks; /* by name */
    size_t lock_count;
    struct status_kind *kinds;
    size_t kind_count;
};

/* Asks one of the servers who there is, and then everybody. False if no server answers, or it refuses to. */
bool status_gather(struct status *status, const char *servers);
void status_free(struct status *status);

#endif
