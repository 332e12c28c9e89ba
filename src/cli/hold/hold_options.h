// SPDX-License-Identifier: MIT
/* Options that `conclave lock` and `conclave elect` share. */
#ifndef CONCLAVE_CLI_HOLD_HOLD_OPTIONS_H
#define CONCLAVE_CLI_HOLD_HOLD_OPTIONS_H

#include "cli/hold/hold.h"
#include "cli/options.h"

/* --wait TIME and --ttl TIME, for the option tables of a struct hold. */
int hold_take_wait(void *request, const char *value, struct cv_complaint *complaint);
int hold_take_ttl(void *request, const char *value, struct cv_complaint *complaint);

/* --on-askback ACTION, and its row. */
int hold_take_ask_back(void *request, const char *value, struct cv_complaint *complaint);

/* --client NAME, and its row. */
int hold_take_client(void *request, const char *value, struct cv_complaint *complaint);

#define HOLD_CLIENT_ROW                                                                                                \
    {                                                                                                                  \
        "client", "NAME", OPTION_TAKE, 0,                                                                              \
            .help = "how LOCKS and conclave status name this process (user@host:pid:command)",                         \
            .take = hold_take_client                                                                                   \
    }
#define HOLD_ASK_BACK_ROW                                                                                              \
    {                                                                                                                  \
        "on-askback", "ACTION", OPTION_TAKE, 0,                                                                        \
            .help = "if somebody asks for it back, by ASKBACK: ignore, or a signal for COMMAND: term, int, hup, "      \
                    "usr1, usr2 (ignore)",                                                                             \
            .take = hold_take_ask_back                                                                                 \
    }

/* Reads the options, the name and where the command begins. False: end with *code. */
bool hold_read(const struct options *options, int argc, char **argv, struct hold *hold, int *code);

#endif
