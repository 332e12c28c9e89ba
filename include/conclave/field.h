// SPDX-License-Identifier: MIT
/* The fields of a message: what each is called, where it lies in the body, and what it may hold. */
#ifndef CONCLAVE_FIELD_H
#define CONCLAVE_FIELD_H

#include <stddef.h>
#include <stdint.h>

/* What a field of a message holds. */
enum cv_field_type {
    CV_FIELD_NUMBER, /* any number up to `most`, or any at all if that is 0 */
    CV_FIELD_FLAG,   /* 0 or 1 */
    CV_FIELD_MODE,   /* the place of one of the words of `words`: "left|right" */
    CV_FIELD_NODE,   /* a node */
    CV_FIELD_MAYBE,  /* a node, or CV_NOBODY */
    CV_FIELD_ID,     /* the id of a node */
    CV_FIELD_RANK,   /* the rank of a node, or 0 */
    CV_FIELD_NODES,  /* a set of nodes, a bit for each */
    CV_FIELD_CLOCK,  /* a time by Lamport's clock, not later than the message */
    CV_FIELD_FENCE,  /* a fence of this view or of an earlier one, or a count of entries */
    CV_FIELD_LIST,   /* the list of ids behind the body: the last of its fields */
    CV_FIELD_TAG     /* which election of whom: a number above the id of a node, made like a rank; or 0 */
};

/* One field of a body: what it is called, where it lies, and what it may hold. */
struct cv_field {
    const char *name;
    uint32_t offset, bytes; /* 4 or 8 bytes; of a list: where it begins, and 0 */
    uint32_t type;          /* enum cv_field_type */
    uint32_t unused;
    uint64_t most;
    const char *words;
};

/* {CV_FIELD(struct probe, side), .type = CV_FIELD_MODE, .words = "left|right"} */
#define CV_FIELD(structure, member)                                                                                    \
    .name = #member, .offset = offsetof(structure, member), .bytes = sizeof(((structure *)NULL)->member)
/* {CV_FIELD_IDS(struct ballot)}: the list behind that body */
#define CV_FIELD_IDS(structure) .name = "ids", .offset = sizeof(structure), .type = CV_FIELD_LIST

#endif
