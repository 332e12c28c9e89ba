// SPDX-License-Identifier: MIT
/* A set of links. A link is a pair of nodes. */
#ifndef CONCLAVE_CHECK_SETTING_LINK_SET_H
#define CONCLAVE_CHECK_SETTING_LINK_SET_H

#include <conclave/algorithm.h>

#define CV_CHECK_MOST_NODES 16u

struct cv_links {
    uint64_t bits[2]; /* a bit for each pair of CV_CHECK_MOST_NODES nodes */
};

static inline uint32_t cv_link_number(cv_node one, cv_node other)
{
    const cv_node low = one < other ? one : other, high = one < other ? other : one;
    return high * (high - 1) / 2 + low;
}

static inline bool cv_links_have(const struct cv_links *links, cv_node one, cv_node other)
{
    const uint32_t number = cv_link_number(one, other);
    return one != other && links->bits[number / 64] >> number % 64 & 1;
}

static inline void cv_links_flip(struct cv_links *links, cv_node one, cv_node other)
{
    const uint32_t number = cv_link_number(one, other);
    links->bits[number / 64] ^= 1ull << number % 64;
}

static inline bool cv_links_are_none(const struct cv_links *links)
{
    return !(links->bits[0] | links->bits[1]);
}

#endif
