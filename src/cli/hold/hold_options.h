// SPDX-License-Identifier: MIT
/* Options that `conclave lock` and `conclave elect` share. */
#ifndef CONCLAVE_CLI_HOLD_HOLD_OPTIONS_H
#define CONCLAVE_CLI_HOLD_HOLD_OPTIONS_H

#include "cli/hold/hold.h"
#include "cli/options.h"

/* --wait TIME and --ttl TIME, for the option tables of a struct hold. */
int hold_take_wait(void *request, const char *value, struct cv_complaint *complaint);
int hold_take_ttl(void *request, const char *value, struct cv_complaint *complaint);

/* Reads the options, the name and where the command begins. False: end with *code. */
bool hold_read(const struct options *options, int argc, char **argv, struct hold *hold, int *code);

#endif
