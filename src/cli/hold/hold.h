// SPDX-License-Identifier: MIT
/* Runs a command while a lock is held or an election is led. `conclave lock` and `conclave elect` share it. */
#ifndef CONCLAVE_CLI_HOLD_HOLD_H
#define CONCLAVE_CLI_HOLD_HOLD_H

#include <conclave/conclave.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/hold/guard.h"

/* Exit codes besides the command's own. For a command ended by a signal: 128 plus its number. */
enum hold_exit {
    HOLD_STALE = 121, /* a higher fence has been seen */
    HOLD_LOST = 122,
    HOLD_NO_SERVER = 123,
    HOLD_TIMEOUT = 124,
    HOLD_TROUBLE = 125, /* wrong usage, or a failure of this process */
    HOLD_CANNOT_RUN = 126,
    HOLD_NOT_FOUND = 127,
    HOLD_SIGNAL = 128
};

struct hold {
    const char *name;         /* first: see struct options; of several names, none */
    const char *const *names; /* several locks at once */
    size_t name_count;        /* how many; 0: one */
    struct conclave_options server;
    bool campaign; /* to lead, not to lock */
    struct conclave_want want;
    uint64_t every_ms; /* once in each period, not a lock; 0: it is not */
    bool joins;        /* to be a member of a name, not to lock */
    uint32_t parties;  /* of a barrier */
    uint32_t priority;
    const char *value;    /* that the leader or the member publishes, or NULL */
    const char *client;   /* the name by which servers show this process; NULL: one that tells who it is */
    int on_ask_back;      /* the signal that the command gets if somebody asks for the lock; 0: none */
    bool observe;         /* print the leader or the members, and every change; run no command */
    bool json;            /* print it as JSON */
    char *const *command; /* NULL: none was given */
};

/* Takes the lock or leads, runs the command, and returns the exit code. */
int hold_run(const struct hold *hold);

/* Opens a session. 0, or an exit code after one line on stderr. */
int hold_open(struct conclave **session, const struct hold *hold);

/* Prints one line on stderr for an error of libconclave; returns the exit code. */
int hold_explain(const struct conclave *session, const char *what, int error);

#endif
