// SPDX-License-Identifier: MIT
/* All there is of a state, as the naive checker keeps it, and the bytes it is known by. */
#ifndef CONCLAVE_TESTS_CHECK_FULL_H
#define CONCLAVE_TESTS_CHECK_FULL_H

#include "core/scenario/scenario.h"

enum { N = 8, STATE = 640, MAIL = 40, BODY = 128 };

struct letter {
    uint32_t kind, words;
    uint64_t clock;
    uint64_t body[BODY / 8];
};

struct node {
    uint32_t alive, fresh, started, knows, calling, waiting, inside, leader, suspects, left, asked;
    uint32_t missed_loss, owed_return, unused; /* per other node: gone and back before it was told; its return untold */
    uint64_t clock, timers[CV_MAX_TIMERS];
    uint64_t state[STATE / 8];
};

/* Everything there is. */
struct full {
    struct node node[N];
    uint32_t count[N][N];
    struct letter letter[N][N][MAIL];
    uint64_t highest;
    uint32_t crashes, misses, suspicions, missed, recoveries, cuts;
    uint32_t cut[N]; /* a bit for each node to whom the link is cut */
};

/* Of so many nodes. What is not under way is not copied. */
void full_copy(struct full *to, const struct full *from, uint32_t nodes);

int letter_compare(const void *one, const void *other);

/* To bytes, and how many: their number comes first. Without order between messages they are sorted. */
uint32_t full_pack(const struct cv_scenario *scenario, struct full *full, unsigned char *out);
void full_unpack(const struct cv_scenario *scenario, struct full *full, const unsigned char *in);

#endif
