// SPDX-License-Identifier: MIT
/* What an algorithm costs, when, and by whose formula. */
#ifndef CONCLAVE_COST_H
#define CONCLAVE_COST_H

#include <stddef.h>
#include <stdint.h>

/* When a formula applies: if all its conditions hold. Of those that apply the first is used. */
enum cv_condition {
    CV_LISTED = 0,                 /* never: for `conclave list` and the comparisons */
    CV_ALWAYS = 1u << 0,           /* in every run */
    CV_STEADY = 1u << 1,           /* nothing fails, returns, is cut or suspected after time 0 */
    CV_ALL_ALIVE = 1u << 2,        /* no node is dead from the start */
    CV_ONE_CALLER = 1u << 3,       /* one live node calls */
    CV_ALL_CALL = 1u << 4,         /* every live node calls at time 0 */
    CV_UNIT_DELAY = 1u << 5,       /* every message takes one tick */
    CV_TOP_DEAD = 1u << 6,         /* the best of all nodes is dead from the start */
    CV_TOP_ALIVE = 1u << 7,        /* the best of all nodes is alive */
    CV_ONLY_TOP_DEAD = 1u << 8,    /* the best of all nodes is dead from the start, and every other node is alive */
    CV_TOP_CALLS = 1u << 9,        /* the caller is the best of all nodes */
    CV_ENOUGH_PATIENCE = 1u << 10, /* timeouts are no shorter than the network's own bound */
    CV_ALL_SEND = 1u << 11,        /* synchronous: every node tells every neighbour in every round */
    CV_SLOW_GADGET = 1u << 12,     /* paths: the gadget, from its first node, with the delays that belong to it */
    CV_USUAL = 1u << 13,           /* the algorithm's own numbers and choices are the defaults */
    CV_SERIAL_GADGET = 1u << 14    /* the same gadget with links that carry one message at a time */
};

/* That parameter of the algorithm's table, one of the first 16, is not the default. */
#define CV_CHOSEN(parameter) (1u << (16 + (parameter)))

enum cv_measure { CV_MESSAGES, CV_DELAY };

/* Whose formula it is. */
enum cv_source {
    CV_DERIVED, /* the author's: `where` is the page with the proof */
    CV_TEXT,    /* one of the five texts (docs/compare.md): `where` quotes it */
    CV_PAPER    /* the paper's: `where` names it */
};

/*
 * One row of the table of costs: its label, the formula, when it applies, and whose formula it is.
 *
 *     {"one caller", CV_MESSAGES_ARE("2a + δ"), CV_STEADY | CV_ONE_CALLER, CV_DERIVED_IN("docs/…")},
 *     {"some call", CV_DELAY_AT_MOST("3a − 1"), CV_STEADY | CV_UNIT_DELAY, CV_TEXT_SAYS("CS425: …")},
 *
 * The formula is evaluated as written (core/formula/formula.h). Besides the variables of core/formula/theory.h it may
 * name the algorithm's own parameters.
 */
struct cv_cost {
    const char *label;   /* "best", "worst", "one caller" */
    uint32_t measure;    /* enum cv_measure */
    uint32_t exact;      /* "=", otherwise "<=" */
    const char *formula; /* "2n + δ" */
    uint32_t when;       /* enum cv_condition, or'ed */
    uint32_t source;     /* enum cv_source */
    const char *where;   /* or NULL */
};

#define CV_MESSAGES_ARE(formula) CV_MESSAGES, 1, (formula)
#define CV_MESSAGES_AT_MOST(formula) CV_MESSAGES, 0, (formula)
#define CV_DELAY_IS(formula) CV_DELAY, 1, (formula)
#define CV_DELAY_AT_MOST(formula) CV_DELAY, 0, (formula)

#define CV_DERIVED_IN(page) CV_DERIVED, (page)
#define CV_DERIVED_HERE CV_DERIVED, NULL
#define CV_TEXT_SAYS(quotation) CV_TEXT, (quotation)
#define CV_PAPER_SAYS(citation) CV_PAPER, (citation)

#endif
