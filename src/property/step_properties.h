// SPDX-License-Identifier: MIT
/* The properties that a single step of a node can violate. The checker judges every step by them. */
#ifndef CONCLAVE_PROPERTY_STEP_PROPERTIES_H
#define CONCLAVE_PROPERTY_STEP_PROPERTIES_H

#include "property/properties.h"

/* What a step shows. */
struct cv_step_facts {
    bool broken;        /* the invariant, or an assertion, fails */
    bool entered;       /* mutex: the node entered, */
    bool others_inside; /* while a node was inside */
    bool fence_rises;   /* its fence is higher than all before, or the algorithm claims no such thing */
    bool recalled;      /* election: the node called while its own election was under way */
    bool misled;        /* election without timeouts: while nothing has failed, its leader is not the best node */
    bool disagrees;     /* election: while nothing has failed, another node has another leader */
    bool hasty;         /* synchronizer: a round began before all messages of the last had arrived */
    bool apart;         /* synchronizer: the rounds of neighbours differ by more than one */
};

/* A bit for each property that the step violates. */
static inline uint32_t cv_judge_step(const struct cv_step_facts *facts)
{
    return (uint32_t)(facts->entered && facts->others_inside) << CV_PROPERTY_EXCLUSION |
           (uint32_t)(facts->entered && !facts->fence_rises) << CV_PROPERTY_FENCES_RISE |
           (uint32_t)facts->broken << CV_PROPERTY_INVARIANT | (uint32_t)facts->recalled << CV_PROPERTY_ONE_ELECTION |
           (uint32_t)facts->misled << CV_PROPERTY_BEST_WINS | (uint32_t)facts->disagrees << CV_PROPERTY_AGREEMENT |
           (uint32_t)facts->hasty << CV_PROPERTY_WHOLE_ROUNDS | (uint32_t)facts->apart << CV_PROPERTY_CLOSE_ROUNDS;
}

/* These properties; of several violations in one step, the first here is reported. */
static const enum cv_property_number cv_step_properties[] = {
    CV_PROPERTY_EXCLUSION, CV_PROPERTY_FENCES_RISE, CV_PROPERTY_INVARIANT,    CV_PROPERTY_ONE_ELECTION,
    CV_PROPERTY_BEST_WINS, CV_PROPERTY_AGREEMENT,   CV_PROPERTY_WHOLE_ROUNDS, CV_PROPERTY_CLOSE_ROUNDS};
#define CV_STEP_PROPERTIES (sizeof cv_step_properties / sizeof *cv_step_properties)

#endif
