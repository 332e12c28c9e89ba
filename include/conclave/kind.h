// SPDX-License-Identifier: MIT
/* The kinds of messages: what each is called, its body, the fields of the body, and the handler that receives it. */
#ifndef CONCLAVE_KIND_H
#define CONCLAVE_KIND_H

#include <stddef.h>
#include <stdint.h>

struct cv_self;
struct cv_message;

/* What a field of a message holds. */
enum cv_field_type {
    CV_FIELD_NUMBER, /* any number up to `most`, or any at all if that is 0 */
    CV_FIELD_FLAG,   /* 0 or 1 */
    CV_FIELD_MODE,   /* the index of one of the words of `words`: "left|right" */
    CV_FIELD_NODE,   /* a node */
    CV_FIELD_MAYBE,  /* a node, or CV_NOBODY */
    CV_FIELD_ID,     /* the id of a node */
    CV_FIELD_RANK,   /* the rank of a node, or 0 */
    CV_FIELD_NODES,  /* a set of nodes, a bit for each */
    CV_FIELD_CLOCK,  /* a time by Lamport's clock, not later than the message */
    CV_FIELD_FENCE,  /* a fence of this view or of an earlier one, or a count of entries */
    CV_FIELD_LIST,   /* the list of ids after the body: the last of its fields */
    CV_FIELD_TAG     /* an election: a number above the id of the node that called it, made like a rank; or 0 */
};

/* One field of a body. */
struct cv_field {
    const char *name;
    uint32_t offset; /* in the body; of a list: where it begins */
    uint32_t bytes;  /* 4 or 8; of a list: 0 */
    uint32_t type;   /* enum cv_field_type */
    uint32_t unused;
    uint64_t most;     /* CV_FIELD_NUMBER: the highest; 0: any */
    const char *words; /* CV_FIELD_MODE: "left|right" */
};

/* {CV_FIELD(struct probe, rank, RANK)}, {CV_FIELD(struct probe, side, MODE), .words = "left|right"} */
#define CV_FIELD(structure, member, what)                                                                              \
    .name = #member, .offset = offsetof(structure, member), .bytes = sizeof(((structure *)NULL)->member),              \
    .type = CV_FIELD_##what
/* {CV_FIELD_IDS(struct ballot)}: the list after that body */
#define CV_FIELD_IDS(structure) .name = "ids", .offset = sizeof(structure), .type = CV_FIELD_LIST

struct cv_kind {
    const char *name;
    uint64_t bytes; /* of the body, without its list */
    void (*receive)(struct cv_self *me, const struct cv_message *message);
    const struct cv_field *fields; /* of the body, up to one without a name; or NULL */
};

/* [REQUEST] = CV_KIND("request", struct stamp, on_request, stamp_fields) */
#define CV_KIND(kind_name, structure, handler, table)                                                                  \
    {                                                                                                                  \
        .name = (kind_name), .bytes = sizeof(structure), .receive = (handler), .fields = (table)                       \
    }
/* [OK] = CV_SIGNAL("ok", on_ok): a message that is nothing but its kind */
#define CV_SIGNAL(kind_name, handler)                                                                                  \
    {                                                                                                                  \
        .name = (kind_name), .receive = (handler)                                                                      \
    }

#endif
