// SPDX-License-Identifier: MIT
/* What an algorithm costs, when, and who says so. */
#ifndef CONCLAVE_COST_H
#define CONCLAVE_COST_H

#include <stdint.h>

/* When a formula applies. A formula is evaluated if all its conditions hold; the first that applies is used. */
enum cv_condition {
    CV_LISTED = 0,                 /* never: for `conclave list` and the comparisons */
    CV_ALWAYS = 1u << 0,           /* in every run */
    CV_STEADY = 1u << 1,           /* nothing fails, returns, is cut or suspected after time 0 */
    CV_ALL_ALIVE = 1u << 2,        /* nobody is dead from the start */
    CV_ONE_CALLER = 1u << 3,       /* one live node calls */
    CV_ALL_CALL = 1u << 4,         /* every live node calls at time 0 */
    CV_UNIT_DELAY = 1u << 5,       /* every message takes one tick */
    CV_TOP_DEAD = 1u << 6,         /* the best of all nodes is dead from the start */
    CV_TOP_ALIVE = 1u << 7,        /* the best of all nodes is alive */
    CV_ONLY_TOP_DEAD = 1u << 8,    /* and everybody else is alive */
    CV_TOP_CALLS = 1u << 9,        /* the caller is the best of all nodes */
    CV_ENOUGH_PATIENCE = 1u << 10, /* timeouts are no shorter than the network's own bound */
    CV_ALL_SEND = 1u << 11,        /* synchronous: every node tells every neighbour in every round */
    CV_SLOW_GADGET = 1u << 12,     /* paths: the gadget, from its first node, with the delays that belong to it */
    CV_USUAL = 1u << 13,           /* the algorithm's own numbers and choices are the defaults */
    CV_SERIAL_GADGET = 1u << 14    /* the same gadget with links that carry one message at a time */
};

/* The parameter at that place of the algorithm's table is not the default: of the first 16. */
#define CV_CHOSEN(parameter) (1u << (16 + (parameter)))

enum cv_measure { CV_MESSAGES, CV_DELAY };

/* Whose formula it is. */
enum cv_source {
    CV_DERIVED, /* the author's: `where` is the page with the proof */
    CV_TEXT,    /* one of the five texts (docs/compare.md): `where` quotes it */
    CV_PAPER    /* the paper's: `where` names it */
};

/*
 * A cost. The formula is evaluated as written (core/formula/formula.h): "2n + δ". Besides the variables of
 * core/formula/theory.h it may name the algorithm's own parameters.
 */
struct cv_cost {
    const char *label; /* "best", "worst", "one caller" */
    const char *formula;
    uint32_t measure;  /* enum cv_measure */
    uint32_t exact;    /* "=", otherwise "<=" */
    uint32_t when;     /* enum cv_condition, or'ed */
    uint32_t source;   /* enum cv_source */
    const char *where; /* or NULL */
};

#endif
