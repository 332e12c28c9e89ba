// SPDX-License-Identifier: MIT
/* A state as the naive checker keeps it, and the same as bytes. */
#ifndef CONCLAVE_TESTS_CHECK_FULL_H
#define CONCLAVE_TESTS_CHECK_FULL_H

#include "core/scenario/scenario.h"

/* The most nodes; bytes of a node's state; messages on a channel; bytes of a message. */
enum { N = 8, STATE = 640, MAIL = 40, BODY = 128 };

struct letter {
    uint32_t kind, words;
    uint64_t clock;
    uint64_t body[BODY / 8];
};

struct node {
    uint32_t alive, fresh, started, knows, calling, waiting, inside, leader, suspects;
    uint32_t left;        /* requests still to make */
    uint32_t asked;       /* the clock of its request */
    uint32_t missed_loss; /* a bit for each node that was lost and came back before it was told */
    uint32_t owed_return; /* a bit for each node that came back; it is still to be told */
    uint32_t via;         /* of its result */
    uint64_t result;      /* plus 1; 0: none */
    uint64_t clock, timers[CV_MAX_TIMERS];
    uint64_t state[STATE / 8];
};

/* A state of the whole group. */
struct full {
    struct node node[N];
    uint32_t count[N][N];
    struct letter letter[N][N][MAIL];
    uint64_t highest;                                               /* fence */
    uint32_t crashes, misses, suspicions, missed, recoveries, cuts; /* what is left of the budgets; the missed nodes */
    uint32_t cut[N]; /* by node: a bit for each node to which the link is cut */
};

/* Copies the state of that many nodes, without the unused part of the channels. */
void full_copy(struct full *to, const struct full *from, uint32_t nodes);

int letter_compare(const void *one, const void *other);

/* Writes it as bytes, their number first, and returns that. If channels keep no order, messages are sorted. */
uint32_t full_pack(const struct cv_scenario *scenario, struct full *full, unsigned char *out);
void full_unpack(const struct cv_scenario *scenario, struct full *full, const unsigned char *in);

#endif
