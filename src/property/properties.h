// SPDX-License-Identifier: MIT
/*
 * The table of all properties. Judges, checker and command line read names, kinds and claims here.
 *
 * A new property is a row here and a judgement in the file of its problem: election.c, mutex.c, synchrony.c or
 * paths.c. If every state of a search can show its violation, step_properties.h judges it, too.
 */
#ifndef CONCLAVE_PROPERTY_PROPERTIES_H
#define CONCLAVE_PROPERTY_PROPERTIES_H

#include <conclave/algorithm.h>

#define CV_ANY_PROBLEM UINT32_MAX

/*
 * X(constant, name, kind, problem, claim, checked)
 *
 *     kind     always: at every time; eventually: at the end; sometimes: at least once
 *     problem  whose property it is
 *     claim    judged only if the algorithm claims it; 0: judged always
 *     checked  the checker judges it
 */
#define CV_PROPERTIES(X)                                                                                               \
    X(CV_PROPERTY_AGREEMENT, "agreement", "always", CV_ELECTION, CV_AGREEMENT, true)                                   \
    X(CV_PROPERTY_BEST_WINS, "best-wins", "always", CV_ELECTION, CV_BEST_WINS, true)                                   \
    X(CV_PROPERTY_EVERYONE_LEARNS, "everyone-learns", "eventually", CV_ELECTION, CV_EVERYONE_LEARNS, true)             \
    X(CV_PROPERTY_COMES_TO_REST, "comes-to-rest", "eventually", CV_ELECTION, 0, true)                                  \
    X(CV_PROPERTY_ANY_CALLER, "any-caller", "always", CV_ELECTION, CV_ANY_CALLER, true)                                \
    X(CV_PROPERTY_ONE_ELECTION, "one-election", "always", CV_ELECTION, CV_ONE_CALL, true)                              \
    X(CV_PROPERTY_SOMEBODY_CALLS, "somebody-calls", "sometimes", CV_ELECTION, 0, false)                                \
    X(CV_PROPERTY_EXCLUSION, "exclusion", "always", CV_MUTEX, CV_EXCLUSION, true)                                      \
    X(CV_PROPERTY_FENCES_RISE, "fences-rise", "always", CV_MUTEX, CV_FENCES_RISE, true)                                \
    X(CV_PROPERTY_NO_DEADLOCK, "no-deadlock", "always", CV_MUTEX, CV_NO_DEADLOCK, true)                                \
    X(CV_PROPERTY_EVERY_REQUEST, "every-request", "eventually", CV_MUTEX, CV_EVERY_REQUEST, true)                      \
    X(CV_PROPERTY_BOUNDED_WAITING, "bounded-waiting", "always", CV_MUTEX, CV_BOUNDED_WAITING, false)                   \
    X(CV_PROPERTY_REQUEST_ORDER, "request-order", "always", CV_MUTEX, CV_REQUEST_ORDER, false)                         \
    X(CV_PROPERTY_SOMEBODY_ENTERS, "somebody-enters", "sometimes", CV_MUTEX, 0, false)                                 \
    X(CV_PROPERTY_WHOLE_ROUNDS, "whole-rounds", "always", CV_SYNCHRONIZER, CV_WHOLE_ROUNDS, true)                      \
    X(CV_PROPERTY_CLOSE_ROUNDS, "close-rounds", "always", CV_SYNCHRONIZER, CV_CLOSE_ROUNDS, true)                      \
    X(CV_PROPERTY_EVERY_ROUND, "every-round", "eventually", CV_SYNCHRONIZER, 0, true)                                  \
    X(CV_PROPERTY_LIKE_SYNCHRONOUS, "like-synchronous", "eventually", CV_SYNCHRONIZER, CV_LIKE_SYNCHRONOUS, true)      \
    X(CV_PROPERTY_SHORTEST_PATHS, "shortest-paths", "eventually", CV_PATHS, CV_SHORTEST_PATHS, true)                   \
    X(CV_PROPERTY_FEWEST_HOPS, "fewest-hops", "eventually", CV_PATHS, CV_FEWEST_HOPS, true)                            \
    X(CV_PROPERTY_INVARIANT, "invariant", "always", CV_ANY_PROBLEM, 0, true)                                           \
    X(CV_PROPERTY_TEXTBOOK_MESSAGES, "textbook-messages", "always", CV_ANY_PROBLEM, 0, false)                          \
    X(CV_PROPERTY_TEXTBOOK_DELAY, "textbook-delay", "always", CV_ANY_PROBLEM, 0, false)                                \
    X(CV_PROPERTY_PROMISES, "promises", "always", CV_ANY_PROBLEM, 0, false)

enum cv_property_number {
#define X(constant, name, kind, problem, claim, checked) constant,
    CV_PROPERTIES(X)
#undef X
        CV_PROPERTY_COUNT
};

struct cv_property {
    const char *name;
    const char *kind;
    uint32_t problem; /* enum cv_problem, or CV_ANY_PROBLEM */
    uint32_t claim;   /* enum cv_claim, or 0 */
    bool checked;
};

/* A row of the table. */
const struct cv_property *cv_property(enum cv_property_number number);

/* Is it the name of a property that the checker judges? */
bool cv_property_is_checked(const char *name);

#endif
