// SPDX-License-Identifier: MIT
/* Asks the nodes of a cluster and combines their answers. */
#ifndef CONCLAVE_CLI_CLUSTER_STATUS_GATHER_H
#define CONCLAVE_CLI_CLUSTER_STATUS_GATHER_H

#include "cli/ask.h"
#include "group/view.h"

struct status_member {
    int64_t id;
    char address[256];
    char at[128];   /* of several addresses, the one in use */
    char state[16]; /* as seen by the node that was asked first */
    int64_t last_heard_ms;
    bool answers;
    int64_t epoch;       /* its own answer */
    int64_t coordinator; /* its own answer */
    int64_t lease_ms;    /* -1: it has none, or needs none */
    uint64_t clients;
    uint64_t suspicions; /* how often it suspected a peer */
    uint64_t mistakes;   /* how often that peer was alive */
    char page[320];      /* where a browser finds its page; empty: it has none */
};

struct status_lock {
    char *name;
    char kind[16];
    char algorithm[32];
    char holder[48]; /* empty: the lock is free */
    int64_t fence;
    uint64_t waiters;
    uint64_t shared;       /* how many share it */
    char client[160];      /* the holder's name for itself; empty: it has none */
    int64_t held_ms;       /* for how long */
    int64_t asked_back_ms; /* for how long somebody has been asking for it back; -1: nobody has */
    bool forced;           /* an operator has ended it */
};

/* Messages of a kind, sent by all nodes. */
struct status_kind {
    char name[96]; /* pattern/algorithm.kind */
    uint64_t sent;
};

struct status {
    char refusal[192]; /* why there is no answer, or the error that the server sent instead of one */
    int64_t epoch;
    int64_t coordinator; /* -1: there is none */
    char election[32];   /* the algorithm */
    char mode[16];
    int64_t raft_leader; /* of `group raft`; -1: there is none */
    int64_t raft_term;   /* of `group raft` */
    int64_t grace_ms;    /* what is left of it; the largest of all answers */
    struct status_member members[CV_MAX_MEMBERS];
    uint32_t member_count;
    struct status_lock *locks; /* by name */
    size_t lock_count;
    struct status_kind *kinds;
    size_t kind_count;
};

/* Asks one of the servers for the members, then asks each member. False if no server answers, or it refuses. */
bool status_gather(struct status *status, const char *servers);
void status_free(struct status *status);

#endif
