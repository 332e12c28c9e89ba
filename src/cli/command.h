// SPDX-License-Identifier: MIT
/* Functions that all subcommands share. */
#ifndef CONCLAVE_CLI_COMMAND_H
#define CONCLAVE_CLI_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/options.h"
#include "core/error.h"
#include "property/property.h"

/* Exit codes: a run held; it was violated; wrong usage, or no verdict; a node that is not a member of its group. */
enum { EXIT_HELD = 0, EXIT_VIOLATED = 1, EXIT_UNKNOWN = 2, EXIT_OUTSIDE = 3 };

/* A row of the table in main.c. */
struct command {
    const struct options *options; /* they have the command's name, too */
    const char *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the subcommand's name */
};

#define COMMAND(name)                                                                                                  \
    int command_##name(int argc, char **argv);                                                                         \
    extern const struct options name##_options
COMMAND(check);
COMMAND(cluster);
COMMAND(compare);
COMMAND(demo);
COMMAND(doctor);
COMMAND(elect);
COMMAND(explore);
COMMAND(guard);
COMMAND(once);
COMMAND(barrier);
COMMAND(latch);
COMMAND(members);
COMMAND(join);
COMMAND(judge);
COMMAND(keygen);
COMMAND(leader);
COMMAND(leave);
COMMAND(list);
COMMAND(lock);
COMMAND(lock_all);
COMMAND(new);
COMMAND(node);
COMMAND(recover);
COMMAND(replace);
COMMAND(run);
COMMAND(scenario);
COMMAND(sequence);
COMMAND(set);
COMMAND(sim);
COMMAND(status);
COMMAND(step_down);
COMMAND(tour);
COMMAND(tunnel);
COMMAND(watch);
#undef COMMAND

/* Prints one line on stderr and returns EXIT_UNKNOWN. */
int command_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
int command_fail(int error, const struct cv_complaint *complaint);
/* Prints a line and ends the program. */
_Noreturn void command_out_of_memory(void);
/* malloc() for libraries that do not check it: ends the program if memory runs out. */
void *command_allocate(size_t size);

/*
 * "conclave NAME" and its words as a shell reads them, without the options in `without` and their values. The caller
 * frees it; NULL if memory ran out.
 */
char *command_repeat(const char *name, int argc, char **argv, const char *const *without);

int command_exit_code(enum cv_verdict verdict);

/* May the output have colours? Only on a terminal, and without NO_COLOR. */
bool command_colour(void);
unsigned command_width(void);

/* The time of day in so many milliseconds from now, "07:31:05"; with its date, if that is not today's. */
#define COMMAND_CLOCK_BYTES 24u
const char *command_clock_in(int64_t ms, char text[COMMAND_CLOCK_BYTES]);

/* A line on a terminal about something that takes longer than two seconds. */
struct command_progress {
    double started; /* as cv_wall_seconds() has it */
    double told;    /* when the line was written last; 0: never */
    int length;     /* of the line that stands there */
};

/* Is another line due? */
bool command_progress_due(struct command_progress *progress);
/* Writes it over the last one, as much of it as the terminal is wide. */
void command_progress_tell(struct command_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void command_progress_end(const struct command_progress *progress);

/* Stands for the words of the command line after the program's name: ranks must have the same. */
extern uint64_t command_line;

/* Set once the user wants to stop. */
extern volatile sig_atomic_t command_interrupted;
void command_catch_signals(void);

/* Flushes standard output: a full disk or a closed pipe is an error. */
int command_flush(int code);
/* The same with another exit code for that error. */
int command_flush_or(int code, int failure);

/* Reads a whole text file; free it. NULL and a complaint if that fails. */
char *command_read_file(const char *option, const char *path, struct cv_complaint *complaint);

#endif
