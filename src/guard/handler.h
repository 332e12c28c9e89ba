// SPDX-License-Identifier: MIT
/* One call of one handler of a guarded algorithm, for the files of this room. */
#ifndef CONCLAVE_GUARD_HANDLER_H
#define CONCLAVE_GUARD_HANDLER_H

#include <conclave/algorithm.h>

#include "guard/shared_object.h"

/* The handlers that take a node alone, or a node and a number. */
#define NODE_HANDLERS(ROW, more)                                                                                       \
    ROW(init, more) ROW(start, more) ROW(recover, more) ROW(request, more) ROW(release, more) ROW(finish, more)
#define NUMBER_HANDLERS(ROW, more)                                                                                     \
    ROW(timeout, uint32_t, more) ROW(suspect, cv_node, more) ROW(trust, cv_node, more) ROW(pulse, uint64_t, more)

enum handler {
#define NAME(name, ...) HANDLER_##name,
    NODE_HANDLERS(NAME, _) NUMBER_HANDLERS(NAME, _)
#undef NAME
        HANDLER_adopt,
    HANDLER_receive,
    HANDLER_valid,
    HANDLER_invariant
};

/* A table that stands for an algorithm's own. */
struct guarded {
    struct cv_algorithm table;      /* what the runtimes call */
    const struct cv_algorithm *own; /* what it stands for */
    struct cv_kind kinds[CV_MAX_KINDS];
    struct shared_object object;
    uint32_t kind_count, timer_count;
};

struct handler_use {
    const struct guarded *guarded;
    enum handler handler;
    struct cv_self *me; /* the runtime's */
    uint64_t argument;  /* the timer, the node, the round, the holder */
    uint64_t fence;     /* of adopt */
    const struct cv_message *message;

    bool valid;            /* the answer of `valid` */
    const char *complaint; /* and of `invariant` */
};

/* Handlers that answer, and change nothing. */
static inline bool handler_only_looks(enum handler handler)
{
    return handler == HANDLER_valid || handler == HANDLER_invariant;
}

#endif
