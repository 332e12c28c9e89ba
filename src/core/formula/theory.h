// SPDX-License-Identifier: MIT
/*
 * The expected cost of a scenario: the formula that applies, and its value.
 *
 * Variables a formula may name, besides the algorithm's parameters:
 *   n  nodes            d  dead from the start      a  alive: n - d       k  live callers
 *   q  live nodes at least as good as the caller    h  live nodes better than the caller
 *   δ  steps along the ring of the living from the callers to the best, summed over the callers
 *   Σ  over the callers, steps along the ring of the living to the next better caller (all of it for the best)
 *   ρ  rounds of Franklin's algorithm               f  full phases of Peterson's
 *   E  edges            ecc  the caller's eccentricity      w  2 if a node that far out has another neighbour
 *   e  planned entries  x  those of others than the coordinator   V  over all entries, the votes of others they take
 *
 * To a synchronizer's formulas
 *   R  rounds           M  messages its app sends on a synchronous network
 *   D  the longest time a message takes, as far as the nodes know
 *   h  height of its tree, or of the tallest of its clusters' trees
 *   c  clusters         P  pairs of neighbouring clusters
 */
#ifndef CONCLAVE_CORE_FORMULA_THEORY_H
#define CONCLAVE_CORE_FORMULA_THEORY_H

#include "core/error.h"
#include "core/scenario/scenario.h"

struct cv_expectation {
    const struct cv_cost *cost; /* NULL: there is no formula for this scenario */
    double value;
};

/* The conditions (enum cv_condition) that hold for a scenario. */
uint32_t cv_theory_conditions(const struct cv_scenario *scenario);

/*
 * The value that the texts expect of that measure in this scenario, if they have one. They count the messages that a
 * node alone on a ring sends to itself; we do not. `app_sends` is M. CV_EINPUT only if the algorithm's own formula is
 * wrong.
 */
int cv_theory_expect(const struct cv_scenario *scenario, uint64_t app_sends, enum cv_measure measure,
                     struct cv_expectation *expectation, struct cv_complaint *complaint);

#endif
