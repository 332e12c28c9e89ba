// SPDX-License-Identifier: MIT
/* What a node's directory says of itself: the group that it belongs to, and the founders of that. */
#ifndef CONCLAVE_GROUP_IDENTITY_H
#define CONCLAVE_GROUP_IDENTITY_H

#include <stdint.h>

/* A member of a group that is being founded, and which directory it has. */
struct cv_founder {
    uint32_t id, directory;
};

#define CV_MOST_FOUNDERS 64u

/* The identity of a directory. */
struct cv_identity {
    uint64_t group;     /* a random number that was drawn when the group was founded; 0: it belongs to none */
    uint64_t former;    /* the group that this one was recovered from, or 0 */
    uint32_t directory; /* a random number that was drawn when the directory was made */
    uint32_t starts;    /* how often a node was started with it */
    uint64_t agreed;    /* the log is agreed up to this index, for certain */
    uint32_t founder_count;
    struct cv_founder founders[CV_MOST_FOUNDERS]; /* kept by the founder of the group until there is an entry */
};

#endif
