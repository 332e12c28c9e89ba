// SPDX-License-Identifier: MIT
/*
 * The board: memory that the experiment and all its processes share. Nodes talk over sockets alone; the board is for
 * what only an observer of all of them can know, above all whether the run is over.
 *
 * A process has a slot. A node that comes back gets another slot, so that no message for the process that died reaches
 * the new one.
 *
 * When is the run over? Whatever must still happen is opened by one process and closed by one: a message is opened by
 * its sender, before it is written, and closed by its receiver, after the step; a timer, a request to come, a message
 * that waits at its sender are opened and closed by their own process. A step opens what follows from it before it
 * closes what it was called for. So if all that was closed, read first, equals all that was opened, read after that,
 * there was a moment between at which nothing was open, and nothing can happen any more.
 */
#ifndef CONCLAVE_RUN_BOARD_H
#define CONCLAVE_RUN_BOARD_H

#include <stdatomic.h>

#include "core/scenario/scenario.h"

#define NO_SLOT UINT32_MAX

enum slot_state {
    SLOT_EMPTY, /* its process has not begun */
    SLOT_LIVE,
    SLOT_DYING, /* it dies as planned, in the middle of a step: it sends what it has sent before, and ends */
    SLOT_DEAD
};

struct process_slot {
    cv_node node;
    _Atomic uint32_t state;         /* enum slot_state */
    _Atomic uint32_t started;       /* it has made its first steps: calls and requests of time 0 */
    _Atomic uint64_t closed;        /* messages to this slot that are over */
    _Atomic uint64_t own_opened;    /* what the process itself must still do */
    _Atomic uint64_t own_closed;    /* what it has done of that */
    _Atomic uint64_t client_opened; /* of that, requests until the node has left again */
    _Atomic uint64_t client_closed;
    _Atomic uint64_t last_ns; /* when its last step began */
    _Atomic uint64_t clock;   /* Lamport's, for the process that comes after this one */
    _Atomic uint32_t handles; /* enum cv_event_type: what its present step is about, should it fail there */
    _Atomic uint32_t kind;    /* CV_EVENT_RECEIVE: of the message */
    _Atomic uint32_t failed;  /* an errno: a system call failed, and the process ended */
    _Atomic(const char *) failed_call;
};

/* A handler that fails before the first event, or later. */
enum run_failure { RUN_SOUND, RUN_FAILED, RUN_CANNOT_BEGIN };

struct board {
    size_t bytes; /* of the whole mapping */
    uint32_t nodes, slots, names;
    _Atomic uint64_t epoch_ns;   /* CLOCK_MONOTONIC at time 0 of the run */
    _Atomic uint32_t failed;     /* enum run_failure: a handler of some process has failed, and the run ends */
    struct process_slot *slot;   /* by slot */
    _Atomic uint32_t *current;   /* by node: its slot, or NO_SLOT while it is down */
    _Atomic uint64_t *sent;      /* by receiving and sending slot: messages written */
    _Atomic uint64_t *remaining; /* by node and name: entries to come of a closed loop */
};

/* NULL if memory is out. */
struct board *board_make(const struct cv_scenario *scenario, uint32_t slots);
void board_free(struct board *board);

/* Is nothing open? `clients`: are all requests over, whatever else goes on? */
bool board_quiet(const struct board *board);
bool board_clients_done(const struct board *board);

static inline _Atomic uint64_t *board_sent(const struct board *board, uint32_t to, uint32_t from)
{
    return &board->sent[(size_t)to * board->slots + from];
}

/* CLOCK_MONOTONIC. */
uint64_t monotonic_ns(void);
/* Nanoseconds since the run began. */
uint64_t board_now(const struct board *board);

#define NS_PER_MS UINT64_C(1000000)

#endif
