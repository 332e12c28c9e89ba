// SPDX-License-Identifier: MIT
/* Running a command while a lock is held or an election led: what `conclave lock` and `conclave elect` share. */
#ifndef CONCLAVE_CLI_HOLD_HOLD_H
#define CONCLAVE_CLI_HOLD_HOLD_H

#include <conclave/conclave.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/hold/guard.h"

/* Exit codes besides the command's own; of a command ended by a signal, 128 and its number. */
enum hold_exit {
    HOLD_LOST = 122,
    HOLD_NO_SERVER = 123,
    HOLD_TIMEOUT = 124,
    HOLD_TROUBLE = 125, /* wrong usage, or something went wrong here */
    HOLD_CANNOT_RUN = 126,
    HOLD_NOT_FOUND = 127,
    HOLD_SIGNAL = 128
};

struct hold {
    const char *name;
    struct conclave_options server;
    bool campaign; /* to lead, not to lock */
    struct conclave_want want;
    uint32_t priority;
    bool observe, json;
    char *const *command; /* NULL: none was given */
};

/* Does all of it and returns the exit code. */
int hold_run(const struct hold *hold);

/* A session, for those who only look. 0, or an exit code after one line on stderr. */
int hold_open(struct conclave **session, const struct hold *hold);

/* One line on stderr and the exit code for an error of libconclave. */
int hold_explain(const struct conclave *session, const char *what, int error);

/* ---- hold_options.c ---- */

/* Values for getopt's tables: which of these options a subcommand has. */
enum hold_option {
    HOLD_WAIT = 256,
    HOLD_TTL,
    HOLD_SHARED,
    HOLD_PRIORITY,
    HOLD_OBSERVE,
    HOLD_JSON,
    HOLD_SERVER,
    HOLD_KEY,
    HOLD_TLS_CA,
    HOLD_TLS_CERTIFICATE,
    HOLD_TLS_PRIVATE_KEY,
    HOLD_HELP
};

/* Which server, and what to prove oneself with: every subcommand has these. */
#define HOLD_SERVER_OPTIONS                                                                                            \
    {"server", required_argument, NULL, HOLD_SERVER}, {"key", required_argument, NULL, HOLD_KEY},                      \
        {"tls-ca", required_argument, NULL, HOLD_TLS_CA},                                                              \
        {"tls-certificate", required_argument, NULL, HOLD_TLS_CERTIFICATE},                                            \
    {                                                                                                                  \
        "tls-private-key", required_argument, NULL, HOLD_TLS_PRIVATE_KEY                                               \
    }
#define HOLD_SERVER_HELP                                                                                               \
    "  --server LIST    host:port or a socket's path, several with commas ($CONCLAVE_SERVER, then 127.0.0.1:7700)\n"   \
    "  --key FILE       made by conclave keygen; with it servers are spoken to by TLS ($CONCLAVE_KEY)\n"               \
    "  --tls-ca FILE, --tls-certificate FILE, --tls-private-key FILE\n"                                                \
    "                   the same by certificates ($CONCLAVE_TLS_CA, and so on)\n"
/* Takes one of them; false if it is another. */
bool hold_server_option(struct conclave_options *server, int option, const char *value);

/* Reads the options, the name and where the command begins. -1, or the code to exit with at once. */
struct option;
int hold_read_options(int argc, char **argv, const struct option *options, const char *usage, struct hold *hold);

/* ---- hold_terminal.c: the command as a job of the shell's terminal ---- */

struct hold_terminal {
    int fd;         /* -1: there is none */
    bool lent;      /* the command has it */
    bool returning; /* and should have it again when it goes on */
};

void hold_terminal_open(struct hold_terminal *terminal);
void hold_terminal_close(struct hold_terminal *terminal);

/* The command was stopped by this signal. Either it gets what it needs and goes on (false), or this process was stopped
   as well and now goes on again (true): then it must see whether the command still may. */
bool hold_terminal_stopped(struct hold_terminal *terminal, const struct guard *guard, pid_t command, int signal);

/* The command goes on. */
void hold_terminal_go_on(struct hold_terminal *terminal, const struct guard *guard, pid_t command);

#endif
