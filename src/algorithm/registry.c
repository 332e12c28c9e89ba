// SPDX-License-Identifier: MIT
#include "algorithm/registry.h"

#include <string.h>

/* One line per algorithm; the order is that of `conclave list`. */
#define ALGORITHMS(X)                                                                                                  \
    X(cv_bully)                                                                                                        \
    X(cv_ring_list)                                                                                                    \
    X(cv_ring_basic)                                                                                                   \
    X(cv_chang_roberts)                                                                                                \
    X(cv_chang_roberts_token)                                                                                          \
    X(cv_franklin)                                                                                                     \
    X(cv_peterson)                                                                                                     \
    X(cv_multicast_election)                                                                                           \
    X(cv_multicast_lean)                                                                                               \
    X(cv_wireless)                                                                                                     \
    X(cv_central)                                                                                                      \
    X(cv_central_deny)                                                                                                 \
    X(cv_token_ring)                                                                                                   \
    X(cv_ricart_agrawala)                                                                                              \
    X(cv_lamport)                                                                                                      \
    X(cv_maekawa_plain)                                                                                                \
    X(cv_maekawa)                                                                                                      \
    X(cv_voting)                                                                                                       \
    X(cv_abd)                                                                                                          \
    X(cv_alpha)                                                                                                        \
    X(cv_beta)                                                                                                         \
    X(cv_gamma)                                                                                                        \
    X(cv_lockstep)                                                                                                     \
    X(cv_bellman_ford)                                                                                                 \
    X(cv_flood_max)                                                                                                    \
    X(cv_bfs_tree)                                                                                                     \
    X(cv_bellman_ford_async)

#define X(table) extern const struct cv_algorithm table;
ALGORITHMS(X)
#undef X

const struct cv_algorithm *const cv_algorithms[] = {
#define X(table) &table,
    ALGORITHMS(X)
#undef X
        NULL,
};

const struct cv_algorithm *cv_algorithm_find(const char *name)
{
    for (const struct cv_algorithm *const *each = cv_algorithms; *each; each++)
        if (strcmp((*each)->name, name) == 0)
            return *each;
    return NULL;
}
