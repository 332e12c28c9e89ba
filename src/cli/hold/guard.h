// SPDX-License-Identifier: MIT
/*
 * A command under guard: whatever it starts ends with it, and all of it ends when it may no longer run.
 *
 *     conclave lock ---- guard ---- command, in a process group of its own
 *       (session)     \                \-- whatever it starts
 *                      orders and reports
 *
 * The guard is a process of its own so that it outlives a `conclave` that is killed, and acts for one that is stopped:
 * it ends the command at the moment it was last told, unless it is told a later one. Orphans of the command become the
 * guard's children, so that even those that left the process group are found. If the guard is killed, the command dies
 * with it and `conclave` ends the rest.
 */
#ifndef CONCLAVE_CLI_HOLD_GUARD_H
#define CONCLAVE_CLI_HOLD_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define GUARD_NEVER INT64_MAX

struct guard {
    pid_t pid;
    int fd; /* where its reports come from */
};

enum guard_report_kind {
    GUARD_STARTED, /* value: the command's process id */
    GUARD_FAILED,  /* value: why it could not be started, an errno */
    GUARD_STOPPED, /* value: the signal that stopped it */
    GUARD_ENDED    /* value: its wait status; no process of the command is left */
};

struct guard_report {
    enum guard_report_kind kind;
    int32_t value;
    bool overdue; /* it was ended because its time was over */
};

/* What the guard does after everything has ended, if the conclave process is gone or stopped. */
struct guard_heir {
    void (*let_go)(void *context);
    void *context;
};

/* Starts the command with this signal mask. False, with errno set, if the guard cannot be started. */
bool guard_start(struct guard *guard, char *const *command, const sigset_t *mask, const struct guard_heir *heir);

/* Sends a signal to the whole process group. */
void guard_signal(const struct guard *guard, int signal);

/* Sets when the guard sends SIGTERM and then SIGKILL to the command. A later call replaces the times. */
void guard_limit(const struct guard *guard, int64_t term_ms, int64_t kill_ms);

/* The next report; false if the guard is gone. */
bool guard_hear(const struct guard *guard, struct guard_report *report);

/* Ends the process group and all children of this process. For when the guard cannot. */
void guard_end_all(pid_t group);

#endif
