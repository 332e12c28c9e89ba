// SPDX-License-Identifier: MIT
/* Predicts, from what nodes were observed to do, to whom a node can send before it hears from certain others. */
#ifndef CONCLAVE_CHECK_REDUCE_POSSIBLE_SENDS_H
#define CONCLAVE_CHECK_REDUCE_POSSIBLE_SENDS_H

#include "check/state/memo.h"
#include "check/state/observed.h"

/* A thread's own. Answers stay the same during a search: see observed_publish(). */
struct possible_sends {
    const struct observations *observations;
    struct memo known;
};

/* 0 or CV_ENOMEM; free it in both cases. */
int possible_sends_init(struct possible_sends *sends, const struct observations *observations);
void possible_sends_free(struct possible_sends *sends);

/*
 * The possible receivers, a bit for each, while only these causes (a bit for each) make the node do anything. A node
 * that it was never observed to send to is none. Without memory: all nodes.
 */
uint32_t possible_receivers(struct possible_sends *sends, uint32_t node_state, uint32_t causes);

#endif
