// SPDX-License-Identifier: MIT
/*
 * In which order, by Lamport's clocks, do requests happen? If that order is all an algorithm makes of the time
 * (CV_CLOCKS_ORDER, CV_CLOCKS_REQUESTS), it may be laid down beforehand, and every order be searched by itself, without
 * clocks that tick. See order.c.
 */
#ifndef CONCLAVE_CHECK_STATE_REQUEST_ORDER_H
#define CONCLAVE_CHECK_STATE_REQUEST_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "check/check.h"

#define MOST_REQUESTS 12u
#define MOST_ORDERS 5000u

/* The times of requests are multiples of this: hardly anything else is, and there is room for all that a step sends. */
#define ORDER_STEP 65536u

/* Who asks first, who next: a bit for each node. Those of the same rank ask at the same time. */
struct order {
    uint32_t callers, entries;
    bool strict; /* no two at the same time */
    uint32_t ranks;
    uint32_t masks[MOST_REQUESTS];
};

/* False if there are too many requests to try every order; `strict`: every one without equal times. */
bool order_first(struct order *order, uint32_t callers, uint64_t entries, bool strict);

/* The next one; false after the last. */
bool order_next(struct order *order);

/* When a node asks the next time, of so many that are left; 0: never. */
uint32_t order_time(const struct order *order, cv_node node, uint32_t left);

/* Times as other numbers: those of the ranks `gap` apart, from `base` on, and what is less than that behind them. */
struct retiming {
    uint32_t base, gap; /* 0: they stay what they are */
};

uint64_t order_retime(const struct order *order, struct retiming retiming, uint64_t time);
/* The time that became this. */
uint64_t order_retime_back(const struct order *order, struct retiming retiming, uint64_t time);

/* What a time becomes if the requests of certain ranks (a bit for each) have the time of those before them. */
uint64_t order_merge(const struct order *order, uint32_t merged, uint64_t time);

#endif
