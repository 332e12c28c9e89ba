// SPDX-License-Identifier: MIT
/* A comparison of algorithms: measurements beside formulas, and problems shown by runs. */
#ifndef CONCLAVE_SHOW_COMPARISON_H
#define CONCLAVE_SHOW_COMPARISON_H

#include <signal.h>
#include <stdio.h>

#include "property/property.h"

/* One number: an algorithm, a load, a size, a quantity. */
struct cv_measurement {
    const char *algorithm;
    const char *load;     /* "one" or "all" ask; the token is "here"; a "round" of an app; the "gadget" */
    const char *quantity; /* "messages", "idle", "delay", "synchronization", "time", "control", "updates" */
    uint32_t nodes;
    bool known; /* false: the run got stuck, and nothing was measured */
    double measured;
    const char *formula; /* NULL: there is none */
    char *own_formula;   /* the same, if it was made for this row */
    uint32_t source;     /* enum cv_source */
    const char *where;   /* the source of the formula, or the page that proves it */
    const char *remark;  /* what a text has instead, and why it differs; or NULL */
    double expected;
    bool exact; /* the formula is the number itself, otherwise a bound */
    bool holds;
    char *command; /* what repeats the run */
};

/* A run, or several seeds of one, that shows a problem or its remedy. */
struct cv_demonstration {
    const char *problem; /* as the texts' tables name it */
    const char *algorithm;
    const char *circumstance;
    enum cv_verdict verdict;
    enum cv_verdict expected;
    char outcome[200];
    char *command;
};

/* A table of the report: all measurements of one quantity under one load. */
struct cv_section {
    const char *title;
    const char *quantity;  /* as in struct cv_measurement */
    const char *load;      /* as in struct cv_measurement */
    bool drawn;            /* the first two drawn sections are plotted */
    const char *against;   /* the plot's x axis, for the largest size; NULL: the size */
    const uint32_t *sizes; /* up to 0; NULL: those of the comparison */
};

/* Texts of measurements that were made elsewhere. */
struct cv_kept_bytes {
    struct cv_kept_bytes *next;
    unsigned char bytes[];
};

struct cv_comparison {
    const char *problem; /* "mutex", "election" or "synchronizers" */
    const char *title;
    uint64_t seed;
    const uint32_t *sizes;             /* up to 0 */
    const struct cv_section *sections; /* up to one without a title */
    const char *const *notes;          /* up to NULL */
    struct cv_measurement *rows;       /* algorithm by algorithm */
    size_t row_count, row_room;
    struct cv_demonstration *demonstrations;
    size_t demonstration_count, demonstration_room;
    bool interrupted;
    const volatile sig_atomic_t *halted; /* while it is measured: when it becomes true, no more is wanted */
    struct cv_kept_bytes *kept;
};

/* The measurement of that section, algorithm and size, or NULL. */
const struct cv_measurement *cv_compare_find(const struct cv_comparison *comparison, const struct cv_section *section,
                                             const char *algorithm, uint32_t nodes);

/* The sizes a section is about, up to 0. */
static inline const uint32_t *cv_compare_sizes(const struct cv_comparison *comparison, const struct cv_section *section)
{
    return section->sizes ? section->sizes : comparison->sizes;
}

/* Does the row belong to the section, and is it the first of its algorithm there? */
bool cv_compare_begins(const struct cv_comparison *comparison, const struct cv_section *section, size_t row);

/* Was every formula met, and did every demonstration end as expected? */
bool cv_compare_holds(const struct cv_comparison *comparison);

void cv_compare_text(FILE *out, const struct cv_comparison *comparison, bool colour, unsigned width);

#endif
