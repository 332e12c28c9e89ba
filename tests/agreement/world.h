// SPDX-License-Identifier: MIT
/*
 * A group in one process: virtual time, a bad network, disks that forget, members that are killed, paused and cut off,
 * all by one seed. Every step checks what must never happen; `wrong` keeps the first violation.
 */
#ifndef CONCLAVE_TESTS_AGREEMENT_WORLD_H
#define CONCLAVE_TESTS_AGREEMENT_WORLD_H

#include "../unit/fake_files.h"
#include "core/random.h"
#include "group/raft/agreement.h"

#define MAX_NODES 7u
#define MAX_TERMS 4096u
#define MAX_INDEX 8192u
#define ENTRY_BYTES 12u

/* A message under way. */
struct packet {
    uint64_t arrives_ms;
    uint32_t from, to;
    size_t length;
    unsigned char *bytes;
};

struct node {
    struct world *world;
    uint32_t number; /* its id is one more */
    struct cv_agreement *agreement;
    struct fake_files disk;
    uint64_t paused_until_ms, stalled_until_ms, tick_ms; /* all of it is paused, only its disk is */
    uint32_t disk_chance;                                /* in 100, that a piece of work is done in a millisecond */
    bool joins;                                          /* it was not there at the beginning */
    bool failed;
    uint64_t incarnation;

    /* What it has said, in all its lives. */
    uint64_t highest_term;
    uint8_t votes[MAX_TERMS]; /* by term: the member it voted for */
    uint64_t last_index;      /* told in this life */
    uint64_t claim_ms;        /* until then no other member can lead in a later term */
    uint64_t claim_term;
    uint64_t led_term, led_commit; /* when it was looked at last, if it led */
    struct proposal {
        uint64_t number, entry;
    } pending[16]; /* in this life, by number modulo 16 */
};

struct world {
    uint64_t seed, now_ms;
    struct cv_random random;
    uint32_t count, voters;
    uint32_t election_ms, heartbeat_ms;
    struct node nodes[MAX_NODES];
    bool cut[MAX_NODES][MAX_NODES];
    uint64_t loss_32, duplicate_32;
    uint32_t delay_ms;
    struct packet *packets;
    size_t packet_count, packet_capacity;

    uint8_t leaders[MAX_TERMS];  /* by term */
    uint64_t entries[MAX_INDEX]; /* by index: the entry that every member must be told */
    uint64_t highest_index;
    uint64_t proposed;
    bool acknowledged[MAX_INDEX];                   /* by entry */
    uint64_t acknowledged_index, acknowledged_term; /* the highest acknowledged entry, and its term */
    bool seen[MAX_INDEX];                           /* by entry: a member was told that it is committed */
    uint64_t acknowledgements, elections, crashes, restarts, snapshots_sent, changes, transfers;
    char wrong[256];
};

void world_open(struct world *world, uint64_t seed, uint32_t voters, uint32_t joiners);
void world_close(struct world *world);

/* One millisecond. */
void world_step(struct world *world);
void world_crash(struct world *world, uint32_t number);
void world_start(struct world *world, uint32_t number);
void world_heal(struct world *world);

/* The member that believes that it leads, or NULL; of several, the one of the highest term. */
struct node *world_leader(struct world *world);
/* Proposes the next entry. */
bool world_propose(struct node *node);

void world_wrong(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
