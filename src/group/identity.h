// SPDX-License-Identifier: MIT
/* The identity of a node's directory: its number, its group, and the group's founders. */
#ifndef CONCLAVE_GROUP_IDENTITY_H
#define CONCLAVE_GROUP_IDENTITY_H

#include <stdint.h>

/* A member of a group at its founding, and the number of its directory. */
struct cv_founder {
    uint32_t id;
    uint32_t directory;
};

#define CV_MOST_FOUNDERS 64u

struct cv_identity {
    uint64_t group;     /* a random number, drawn when the group was founded; 0: the directory belongs to none */
    uint64_t former;    /* the group that this one was recovered from, or 0 */
    uint32_t directory; /* a random number, drawn when the directory was made */
    uint32_t starts;    /* how often a node was started with this directory */
    uint64_t agreed;    /* the log is certainly agreed up to this index */
    uint32_t founder_count;
    struct cv_founder founders[CV_MOST_FOUNDERS]; /* the founding node keeps them until there is an entry */
};

#endif
