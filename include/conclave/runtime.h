// SPDX-License-Identifier: MIT
/*
 * The layouts that runtimes share with the functions of conclave/algorithm.h: the group, messages, and the node that
 * takes a step. An author needs none of this but `me->state`, `me->node`, `message->from` and `message->kind`.
 *
 * Before a step the runtime fills in struct cv_self. The handler records effects in it and appends messages to its
 * outbox. After the step the runtime carries the effects out.
 */
#ifndef CONCLAVE_RUNTIME_H
#define CONCLAVE_RUNTIME_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <conclave/names.h>

struct cv_algorithm;
struct cv_self;

/* ---- the group -------------------------------------------------------------------------------------- */

/* What every member knows from configuration. Nodes stand in ring order: the successor of i is i+1. */
struct cv_group {
    const cv_id *ids;                 /* of each node */
    const uint32_t *attributes;       /* of each node; NULL: the attribute is the id itself */
    const uint64_t *edges;            /* CV_GRAPH: the neighbours of i are neighbours[edges[i] .. edges[i+1]), sorted */
    const cv_node *neighbours;        /* of all nodes, one node after the other */
    const uint32_t *weights;          /* of neighbours[], or NULL: all 1 */
    const uint32_t *ends;             /* of neighbours[]: which neighbour of that one I am; for synchronizers */
    const uint64_t *quorums;          /* the voting set of i is voters[quorums[i] .. quorums[i+1]), sorted; or NULL */
    const cv_node *voters;            /* of all voting sets, one set after the other */
    const cv_node *members;           /* the members of the view, sorted; NULL: all nodes */
    const cv_node *parents;           /* clusters: the next node towards the head; a head is its own parent; or NULL */
    const unsigned char *preferred;   /* of neighbours[]: do two clusters talk over this edge? */
    const struct cv_algorithm *app;   /* the synchronous algorithm that a synchronizer hosts */
    const struct cv_group *app_group; /* this group, with that algorithm's parameters */
    const int64_t *parameters;        /* values in the order of the algorithm's parameter table */
    uint64_t bound;                   /* D, the longest time that a message takes, if the network has a bound */
    uint64_t epoch;                   /* the number of the view */
    uint64_t rounds;                  /* how many rounds a synchronous algorithm takes */
    uint64_t hosted_at;               /* where the app's state begins in a synchronizer's state */
    uint64_t slot_bytes;              /* bytes of a slot for a message of the app */
    uint32_t member_count;            /* entries of `members` */
    cv_node coordinator;              /* of this view, where the algorithm needs one */
    uint32_t nodes;                   /* n */
    uint32_t topology;                /* enum cv_topology */
    uint32_t absence;                 /* 0: no node is down, cut off or suspected, and the runtime need not be asked */
    uint32_t unused;
};

static inline cv_rank cv_group_rank(const struct cv_group *group, cv_node node)
{
    return cv_rank_make(group->attributes ? group->attributes[node] : group->ids[node], group->ids[node]);
}

/* ---- messages --------------------------------------------------------------------------------------- */

#define CV_CLOCK_BITS 40u /* of Lamport's clock */
#define CV_KIND_BITS 6u
#define CV_LENGTH_BITS 18u
#define CV_CLOCK_MASK ((1ull << CV_CLOCK_BITS) - 1)
#define CV_MAX_KINDS (1u << CV_KIND_BITS)
#define CV_MAX_WORDS ((1u << CV_LENGTH_BITS) - 1u)

/* A message as it travels: this header, then the body of `words` 32-bit words. */
struct cv_message {
    cv_node to;
    cv_node from;
    uint64_t clock : CV_CLOCK_BITS;  /* the sender's Lamport clock at the send */
    uint64_t kind : CV_KIND_BITS;    /* its index in the algorithm's table of kinds */
    uint64_t words : CV_LENGTH_BITS; /* of the body */
    uint64_t body[];
};

/* The bytes a message occupies in a queue: the header and the body, in whole 64-bit words. */
static inline size_t cv_message_bytes(const struct cv_message *message)
{
    return sizeof *message + ((size_t)message->words + 1) / 2 * 8;
}

static inline void cv_write_header(struct cv_message *message, cv_node to, cv_node from, uint64_t clock, uint32_t kind,
                                   uint32_t words)
{
    message->to = to;
    message->from = from;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    /* One store sets all bit-fields. Set one by one, each is read, changed and written. */
    const uint64_t fields = (clock & CV_CLOCK_MASK) | (uint64_t)(kind & (CV_MAX_KINDS - 1)) << CV_CLOCK_BITS |
                            (uint64_t)words << (CV_CLOCK_BITS + CV_KIND_BITS);
    memcpy(&message->from + 1, &fields, sizeof fields);
#else
    message->clock = clock & CV_CLOCK_MASK;
    message->kind = kind & (CV_MAX_KINDS - 1);
    message->words = words & CV_MAX_WORDS;
#endif
}

/* ---- one step of one node --------------------------------------------------------------------------- */

#define CV_MAX_TIMERS 4u

enum cv_effect {
    CV_DID_ELECT = 1u << 0,  /* elected: `elected` is the leader */
    CV_DID_FORGET = 1u << 1, /* no leader is known any more */
    CV_DID_CALL = 1u << 2,   /* began an election of its own */
    CV_DID_YIELD = 1u << 3,  /* its own election is over, without a result */
    CV_DID_RECALL = 1u << 4, /* called although its own election was still under way */
    CV_DID_ENTER = 1u << 5,  /* entered the critical section with `fence` */
    CV_DID_TIMER = 1u << 6,  /* armed or cancelled a timer */
    CV_DID_NOTE = 1u << 7,   /* `note` tells the trace what just happened */
    CV_DID_PULSE = 1u << 8,  /* began round `round`; after the last round: one more */
    CV_DID_RESULT = 1u << 9  /* has a new `result`, learnt from `via` */
};

/* What the functions of conclave/algorithm.h ask the runtime. */
struct cv_runtime {
    uint32_t (*choose)(struct cv_self *me, uint32_t ways);
    bool (*present)(const struct cv_self *me, cv_node node);
    bool (*suspected)(const struct cv_self *me, cv_id id);
    void (*grow)(struct cv_self *me, size_t bytes); /* makes room for so many more bytes in the outbox */
};

/* The node that takes a step, with the effects it has recorded so far. */
struct cv_self {
    void *state;                         /* the algorithm's state of this node */
    const struct cv_group *group;        /* the group, as this node knows it */
    const struct cv_runtime *runtime;    /* answers the questions of the algorithm */
    unsigned char *outbox;               /* messages, one after the other */
    size_t used;                         /* bytes of messages in the outbox */
    size_t room;                         /* bytes the outbox has */
    uint64_t clock;                      /* Lamport's clock */
    uint64_t fence;                      /* CV_DID_ENTER: of the entry */
    uint64_t round;                      /* CV_DID_PULSE: the round that began */
    uint64_t received;                   /* CV_DID_PULSE: messages of the round before that the app has received */
    uint64_t result;                     /* CV_DID_RESULT: the new result */
    const char *note;                    /* CV_DID_NOTE: the remark */
    uint64_t timer_delay[CV_MAX_TIMERS]; /* by timer, if this step armed it */
    uint32_t timers_armed;               /* a bit per timer that this step armed */
    uint32_t timers_cancelled;           /* a bit per timer that this step cancelled */
    uint32_t effects;                    /* enum cv_effect, or'ed */
    uint32_t calling;                    /* 1: an election of its own is under way */
    uint32_t knows;                      /* 1: it knows a leader, `elected` */
    cv_id elected;                       /* the leader; new if CV_DID_ELECT */
    cv_node node;                        /* the node that takes the step */
    cv_node via;                         /* CV_DID_RESULT: the neighbour that it learnt the result from */
    uint32_t region;                     /* enum cv_region: for `valid` alone */
    uint32_t rows;                       /* 1: messages to many nodes may be posted as a row */
};

/* Makes room in the outbox for a message of so many body bytes, and fills in its header. */
static inline struct cv_message *cv_post(struct cv_self *me, cv_node to, uint32_t kind, size_t bytes)
{
    assert(to < me->group->nodes && kind < CV_MAX_KINDS && bytes % 4 == 0 && bytes / 4 <= CV_MAX_WORDS);
    const size_t size = sizeof(struct cv_message) + (bytes + 7) / 8 * 8;
    if (__builtin_expect(me->room - me->used < size, 0))
        me->runtime->grow(me, size);
    struct cv_message *message = (struct cv_message *)(void *)(me->outbox + me->used);
    me->used += size;
    cv_write_header(message, to, me->node, me->clock, kind, (uint32_t)(bytes / 4));
    if (bytes % 8)
        message->body[bytes / 8] = 0; /* the unused half word: bytes are the value */
    return message;
}

/*
 * Messages to one node after the other, alike but for the receiver and the sender's clock. The first of them follows.
 * In an outbox a row is the body of a message to CV_NOBODY.
 */
struct cv_row {
    uint32_t further; /* messages after the first */
    uint32_t ticks;   /* of the sender's clock, from one to the next */
};

#define CV_ROW_BODY 64u /* bytes of the longest body in a row */

/* Posts a row to the nodes from `first` on, none of which is this one: only if `me->rows`. */
static inline void cv_post_row(struct cv_self *me, cv_node first, uint32_t count, uint32_t ticks, uint32_t kind,
                               const void *body, size_t bytes)
{
    assert(me->rows && bytes <= CV_ROW_BODY && (uint64_t)first + count <= me->group->nodes);
    if (!count)
        return;
    const size_t words = (bytes + 7) / 8;
    struct cv_message *post = cv_post(me, first, kind, sizeof(struct cv_row) + sizeof *post + words * 8);
    struct cv_row *row = (struct cv_row *)(void *)post->body;
    struct cv_message *message = (struct cv_message *)(void *)(row + 1);
    post->to = CV_NOBODY;
    *row = (struct cv_row){count - 1, ticks};
    cv_write_header(message, first, me->node, me->clock, kind, (uint32_t)(bytes / 4));
    if (bytes % 8)
        message->body[words - 1] = 0;
    if (bytes)
        memcpy(message->body, body, bytes);
}

#endif
