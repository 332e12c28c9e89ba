// SPDX-License-Identifier: MIT
/*
 * The order of the requests by Lamport's clocks. If an algorithm uses the time only to order requests (CV_CLOCKS_ORDER,
 * CV_CLOCKS_REQUESTS), the checker fixes that order beforehand and searches every order by itself, without clocks that
 * tick. request_order.c says why that is sound.
 */
#ifndef CONCLAVE_CHECK_SETTING_REQUEST_ORDER_H
#define CONCLAVE_CHECK_SETTING_REQUEST_ORDER_H

#include "check/setting/link_set.h"

#define MOST_REQUESTS 12u
#define MOST_ORDERS 5000u

/*
 * Times of requests are multiples of this. Few other numbers are, and between two of them all messages of a step fit.
 */
#define ORDER_STEP 65536u

struct order {
    uint32_t callers; /* a bit for each node that requests */
    uint32_t entries; /* requests of each of them */
    bool strict;      /* no two requests have the same time */
    uint32_t ranks;
    uint32_t masks[MOST_REQUESTS]; /* by rank: a bit for each node that requests at that time */
};

/* The first order. False if there are too many requests to try every order. */
bool order_first(struct order *order, uint32_t callers, uint64_t entries, bool strict);

/* The next order; false after the last. */
bool order_next(struct order *order);

/* The time of a node's next request when it has this many left; 0: it has none. */
uint32_t order_time(const struct order *order, cv_node node, uint32_t left);

/* Replaces the times of requests by other numbers: rank r becomes base + r * gap. The rest within a rank stays. */
struct retiming {
    uint32_t base;
    uint32_t gap; /* 0: the times stay as they are */
};

uint64_t order_retime(const struct order *order, struct retiming retiming, uint64_t time);
/* The inverse of order_retime(). */
uint64_t order_retime_back(const struct order *order, struct retiming retiming, uint64_t time);

/* What a time becomes when the requests of the merged ranks (a bit for each) get the time of the rank before. */
uint64_t order_merge(const struct order *order, uint32_t merged, uint64_t time);

#endif
