// SPDX-License-Identifier: MIT
/*
 * What an experiment and its places tell each other, over ssh or a TCP connection. A place is a process on another
 * machine that starts the nodes' processes there.
 *
 *     experiment                          place
 *                             ←  HELLO    version and interface
 *     SETUP                   →           command line, files, secret, who plays where
 *                             ←  READY    the ports of its processes
 *     TABLE                   →           where everybody listens
 *     PING                    ⇄  PONG     by which the experiment learns how far the clocks are apart
 *     SLOT, START, TELL, …    →           a process begins, has ended, is told, killed, stopped
 *                             ←  DIED, HOLDS, FAILED
 *     POLL                    ⇄  COUNTS   what is open and closed: see run/machines.c
 *     FINISH                  ⇄  LOG, DONE
 */
#ifndef CONCLAVE_RUN_PLACE_WIRE_H
#define CONCLAVE_RUN_PLACE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "core/scenario/scenario.h"
#include "secure/key.h"

#define PLACE_MAGIC UINT32_C(0x434c5631)
#define PLACE_PATIENCE_S 15u /* after such a silence the other side is gone */

enum place_message {
    PLACE_HELLO,
    PLACE_SETUP,
    PLACE_READY,
    PLACE_TABLE,
    PLACE_PING,
    PLACE_PONG,
    PLACE_EPOCH,
    PLACE_SLOT,
    PLACE_START,
    PLACE_TELL,
    PLACE_KILL,
    PLACE_SIGNAL,
    PLACE_DIED,
    PLACE_HOLDS,
    PLACE_FAILED,
    PLACE_POLL,
    PLACE_COUNTS,
    PLACE_FINISH,
    PLACE_LOG,
    PLACE_DONE
};

struct place_frame {
    uint32_t magic;
    uint16_t type; /* enum place_message */
    uint16_t unused;
    uint32_t slot;
    uint32_t number;
    uint64_t bytes; /* that follow */
};

struct place_wire {
    int in, out;
    bool bounded; /* `out` is a socket, and writing to it may not take longer than the patience */
    bool ended;   /* the other side has closed it */
    unsigned char *bytes;
    size_t taken, used, room;
};

/* What a place says of itself. */
struct place_hello {
    char version[32];
    char machine[32];
    char address[64]; /* by which ssh reached it, or "" */
    uint32_t abi;
    uint32_t layout; /* the sizes of what travels */
};

/* Then come the words and the files of the command line, and the place of each node. */
struct place_setup {
    struct cv_key secret;
    char address[64]; /* where its processes listen */
    uint32_t index;   /* of the place */
    uint32_t nodes;
    uint32_t word_count, file_count;
    uint32_t traced;
    uint32_t unused;
};

struct place_start {
    cv_node node;
    uint32_t returned;
    uint64_t clock; /* Lamport's, of the process whose place it takes */
};

/* What a slot's process has opened and closed: see run/board.h. */
struct place_counts {
    uint32_t slot, state, started;
    uint32_t failed; /* enum run_failure: of all processes there */
    uint64_t closed, own_opened, own_closed, client_opened, client_closed;
};

void place_hello_make(struct place_hello *hello);

/* Sends a frame. False: the other side is gone. */
bool place_send(struct place_wire *wire, enum place_message type, uint32_t slot, uint32_t number,
                const struct iovec *pieces, int count);
bool place_send_bytes(struct place_wire *wire, enum place_message type, uint32_t slot, uint32_t number,
                      const void *bytes, size_t count);
/* Reads what has come, after waiting for at most so many ms. */
void place_read(struct place_wire *wire, int timeout_ms);
/* The next frame that has come as a whole, and what follows its head; valid until the next place_read(). */
bool place_next(struct place_wire *wire, struct place_frame *frame, const unsigned char **content);
/* Bytes that are no frame of ours. */
bool place_is_foreign(const struct place_wire *wire);
void place_wire_free(struct place_wire *wire);

#endif
