// SPDX-License-Identifier: MIT
/*
 * How commands that take long go on. A checkpoint has an identity, lines that say what the work is about: only the same
 * work by the same program goes on from there.
 */
#ifndef CONCLAVE_CLI_STUDY_RESUMPTION_H
#define CONCLAVE_CLI_STUDY_RESUMPTION_H

#include "cli/options.h"
#include "saved/checkpoint.h"

/* Adds a line about an option, however it was written. On this, as below, *identity is NULL if memory ran out. */
void resumption_add_option(char **identity, const struct option_row *row, char **words, int count);

/* Adds which program and which plugin: another one would go on with states that it does not understand. */
void resumption_add_program(char **identity, const char *algorithm);

/* Adds a name and a number that stands for something larger. */
void resumption_add_hash(char **identity, const char *name, uint64_t hash);

/* Tells on standard error that the checkpoint could not be written. */
void resumption_tell_failure(const struct cv_checkpoint *checkpoint);

/* The command that goes on from a checkpoint, as a shell reads it; NULL if memory ran out. */
char *resumption_command(const char *command, const char *path);

#endif
