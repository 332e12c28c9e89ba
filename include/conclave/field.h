// SPDX-License-Identifier: MIT
/*
 * What the fields of message bodies and of states are called and what they hold. So every output names them, and no
 * message with a field out of its range reaches a handler.
 *
 *     static const struct cv_field state_fields[] = {
 *         {CV_FIELD(struct state, mode, MODE), .words = "idle|waiting"},
 *         {CV_FIELD(struct state, leader, MAYBE)},
 *         {CV_FIELD(struct state, link[0], MARKS), .words = "awaited|child", .each = CV_EACH_NEIGHBOUR},
 *         {0},
 *     };
 */
#ifndef CONCLAVE_FIELD_H
#define CONCLAVE_FIELD_H

#include <stddef.h>
#include <stdint.h>

/* What a field holds. */
enum cv_field_type {
    CV_FIELD_NUMBER, /* any number up to `most`, or any at all if that is 0; the highest there is means infinity */
    CV_FIELD_FLAG,   /* 0 or 1 */
    CV_FIELD_MODE,   /* the index of one of the words of `words`: "left|right" */
    CV_FIELD_NODE,   /* a node */
    CV_FIELD_MAYBE,  /* a node, or CV_NOBODY */
    CV_FIELD_ID,     /* the id of a node */
    CV_FIELD_RANK,   /* the rank of a node, or 0 */
    CV_FIELD_NODES,  /* a set of nodes, a bit for each */
    CV_FIELD_CLOCK,  /* a time by Lamport's clock, in a message not later than it; the highest number means never */
    CV_FIELD_FENCE,  /* a fence of this view or of an earlier one, or a count of entries */
    CV_FIELD_LIST,   /* the list of ids after the body: the last of its fields */
    CV_FIELD_TAG,    /* an election: a number above the id of the node that called it, made like a rank; or 0 */
    CV_FIELD_MARKS,  /* any of the words of `words`, a bit for each: "awaited|child" */
    CV_FIELD_UNUSED, /* nothing: it fills a gap, and is always 0 */
    CV_FIELD_NUMBERS /* the numbers after the body, one of 32 bits for each node: only the list may follow */
};

/*
 * How often a field of a state comes, one after the other: a row. In a table it is `link[0]`, or `peers[0].request`
 * if the entries of the row are structures; all fields of an entry follow each other there.
 */
enum cv_each {
    CV_ONCE,
    CV_EACH_NODE,      /* for each node of the group; of a set of nodes (NODES) as many words as that takes */
    CV_EACH_NEIGHBOUR, /* for each neighbour */
    CV_EACH_VOTER,     /* for each member of the node's own voting set */
    CV_EACH_SET,       /* for each voting set that the node is in */
    CV_EACH_PLACE      /* for each word of `places`: "even|odd" */
};

/* One field of a body or of a state. */
struct cv_field {
    const char *name;
    uint32_t offset;    /* in the body, the state or the entry; of numbers and a list: the end of the body */
    uint32_t bytes;     /* 4 or 8; of numbers and a list: 0 */
    uint32_t type;      /* enum cv_field_type */
    uint32_t each;      /* enum cv_each; in a body CV_ONCE */
    uint64_t most;      /* CV_FIELD_NUMBER: the highest; 0: any */
    const char *words;  /* CV_FIELD_MODE, CV_FIELD_MARKS: "left|right" */
    const char *places; /* CV_EACH_PLACE: what each of them stands for */
    const char *row;    /* the name of a row that has no place of its own: it begins where all before it ends */
    uint64_t length;    /* of a queue: where in the state, not at its beginning, the 32-bit number of entries is */
};

/* {CV_FIELD(struct probe, rank, RANK)}, {CV_FIELD(struct probe, side, MODE), .words = "left|right"} */
#define CV_FIELD(structure, member, what)                                                                              \
    .name = #member, .offset = offsetof(structure, member), .bytes = sizeof(((structure *)NULL)->member),              \
    .type = CV_FIELD_##what
/* {CV_FIELD_IDS(struct ballot)}: the list after that body, and after its numbers */
#define CV_FIELD_IDS(structure) .name = "ids", .offset = sizeof(structure), .type = CV_FIELD_LIST
/* {CV_FIELD_ROW(struct token, "served")}: the numbers after that body */
#define CV_FIELD_ROW(structure, called) .name = (called), .offset = sizeof(structure), .type = CV_FIELD_NUMBERS

#endif
