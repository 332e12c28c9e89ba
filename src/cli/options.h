// SPDX-License-Identifier: MIT
/*
 * The table of a command's options. The reader, --help, `conclave help --json`, the shell's completion and the test of
 * the manual pages all use it: a new option is a new row.
 *
 * Scripts rely on options. So the reader refuses shortened names, which a new option could make ambiguous, and an
 * option that is given twice. One line names each mistake.
 */
#ifndef CONCLAVE_CLI_OPTIONS_H
#define CONCLAVE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"

#define OPTIONS_MOST 64 /* rows of a table */

enum option_kind {
    OPTION_TITLE,    /* no option: `help` is a title above the rows that follow */
    OPTION_SWITCH,   /* a bool, made true */
    OPTION_TEXT,     /* a const char *: the value */
    OPTION_WORDS,    /* a struct cv_words: all values, in order */
    OPTION_NUMBER,   /* a uint64_t of least..most */
    OPTION_NUMBER32, /* a uint32_t of least..most */
    OPTION_TAKE      /* take() reads it */
};

struct option_row {
    const char *name;     /* without the dashes; NULL for a title */
    const char *argument; /* its name in the help; NULL: the option takes none */
    enum option_kind kind;
    size_t offset;    /* of the field that gets the value, in the command's request */
    const char *help; /* on as many lines as it takes; NULL ends the table */
    int (*take)(void *request, const char *value, struct cv_complaint *complaint); /* 0 or an error */
    uint64_t least;                                                                /* of a number */
    uint64_t most;                                                                 /* of a number */
    char letter;                                                                   /* -n; 0: there is none */
    bool repeats; /* may be given several times; OPTION_WORDS always may */
    bool how;     /* it says how to run or what to show, not what is run */
    bool writes;  /* names a file that is written */
};

/* A command's options and its help page. -h and --help need no row. */
struct options {
    const char *name;  /* of the command */
    const char *usage; /* what follows the name, a line for each form */
    const char *about; /* above the options */
    const char *more;  /* below them, or NULL */
    const struct option_row *rows;
    /* The exit code if this process itself fails; 0: EXIT_UNKNOWN. */
    int failure;
    /* The command takes no words besides options. */
    bool no_words;
    /* The command takes shortened names, and of several values the last. */
    bool lenient;
    /* The request begins with a const char *, which gets the first word. The second word begins a command with options
     * of its own. */
    bool runs_command;
    /* Gets every option as it was written, in one word or two; may be NULL. */
    void (*note)(void *request, const struct option_row *row, char **words, int count);
};

enum { OPTIONS_HELP = 0 };

/*
 * Fills in the request. Returns the index of the first word that is no option, from 1 on, with the other words after
 * it; OPTIONS_HELP if help is asked for; or an error.
 */
int options_read(const struct options *options, int argc, char **argv, void *request, struct cv_complaint *complaint);

/* Reads a time for an option: seconds, or a number with a unit. 0, or CV_EINPUT and a complaint. */
int options_read_time(const char *option, const char *value, uint64_t *time_ms, struct cv_complaint *complaint);

/* Prints the page. */
void options_help(const struct options *options, FILE *out);

/*
 * For commands that end with a line on stderr: as options_read(), but prints the complaint or the page itself. The
 * index, or 0 to end with that exit code.
 */
int options_take(const struct options *options, int argc, char **argv, void *request, int *code);

/* For commands that have read their options: prints the error or the page. True: neither, go on. */
bool options_settled(const struct options *options, int error, bool help, const struct cv_complaint *complaint,
                     int *code);

struct cv_json;
void options_json(const struct options *options, const char *summary, struct cv_json *json);

#endif
