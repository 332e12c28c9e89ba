// SPDX-License-Identifier: MIT
/* The command as a job of the shell's terminal. */
#ifndef CONCLAVE_CLI_HOLD_HOLD_TERMINAL_H
#define CONCLAVE_CLI_HOLD_HOLD_TERMINAL_H

#include "cli/hold/guard.h"
#include <stdbool.h>
#include <sys/types.h>

struct hold_terminal {
    int fd;         /* -1: there is none */
    bool lent;      /* the command has it */
    bool returning; /* the command gets it back when it goes on */
};

void hold_terminal_open(struct hold_terminal *terminal);
void hold_terminal_close(struct hold_terminal *terminal);

/*
 * The command was stopped by this signal. False: it got the terminal and goes on. True: this process was stopped as
 * well and has been continued; the caller must check whether the command may still run.
 */
bool hold_terminal_stopped(struct hold_terminal *terminal, const struct guard *guard, pid_t command, int signal);

/* Continues the command. */
void hold_terminal_go_on(struct hold_terminal *terminal, const struct guard *guard, pid_t command);

#endif
