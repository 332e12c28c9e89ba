// SPDX-License-Identifier: MIT
/* `conclave new`: an algorithm to begin with, and a test for it. Both are made of an example. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algorithm/registry.h"
#include "cli/command.h"
#include "cli/study/embedded_files.h"
#include "cli/study/plugin_source.h"
#include "core/parse.h"

#define LONGEST_NAME 40u

/* What one can begin with. */
struct beginning {
    const char *problem;
    const char *example; /* its file */
    const char *name;    /* the algorithm's, as the example has it */
    const char *title;   /* and this */
    const char *object;  /* what the example's comment compiles it to */
    const char *test;    /* commands of the test; $mine is the compiled algorithm */
};

static const struct beginning beginnings[] = {
    {"election", "roll_call", "roll-call", "Roll call", "mine.so",
     "for nodes in 1 2 5 16; do\n"
     "    try sim \"$mine\" -n $nodes\n"
     "    try sim \"$mine\" -n $nodes --start all --ids random --delay 1..20 --runs 100\n"
     "done\n"
     "try check \"$mine\" -n 3\n"
     "try run \"$mine\" -n 3\n"},
    {"mutex", "suzuki_kasami", "suzuki-kasami", "Suzuki and Kasami's broadcast algorithm", "sk.so",
     "for nodes in 1 2 5 16; do\n"
     "    try sim \"$mine\" -n $nodes --entries 3\n"
     "    try sim \"$mine\" -n $nodes --entries 3 --delay 1..20 --runs 100\n"
     "done\n"
     "try check \"$mine\" -n 3\n"
     "try run \"$mine\" -n 3\n"},
    {"synchronous", "independent_set", "independent-set", "An independent set", "set.so",
     "for graph in line ring star complete; do\n"
     "    for host in lockstep abd alpha beta gamma; do\n"
     "        try sim $host --app \"$mine\" -n 6 --graph $graph\n"
     "    done\n"
     "    try sim alpha --app \"$mine\" -n 6 --graph $graph --delay 1..20 --runs 50\n"
     "done\n"
     "try check alpha --app \"$mine\" -n 3 --graph line\n"
     "try run alpha --app \"$mine\" -n 3 --graph line\n"},
};

struct request {
    const char *directory;
    const struct beginning *beginning;
    const char *name;                                     /* "my-election" */
    char file[LONGEST_NAME + 1], title[LONGEST_NAME + 1]; /* "my_election", "My election" */
};

static const struct option_row rows[] = {
    {"directory", "DIR", OPTION_TEXT, offsetof(struct request, directory), .help = "where the files go (here)"},
    {0},
};

const struct options new_options = {
    .name = "new",
    .usage = "PROBLEM NAME",
    .about =
        "Writes NAME.c, an algorithm that compiles and runs, and NAME_test.sh, which compiles it, runs it under many "
        "schedules and between real processes, and has the checker try every order of events. Make it yours from "
        "there. PROBLEM is election, mutex or synchronous. No file is overwritten.",
    .rows = rows,
    .lenient = true,
};

/* ---- what was asked for ---- */

static bool is_name(const char *name)
{
    const size_t length = strlen(name);
    return length && length <= LONGEST_NAME && *name >= 'a' && *name <= 'z' && name[length - 1] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

static void name_things(struct request *request)
{
    const size_t length = strlen(request->name);
    for (size_t i = 0; i <= length; i++) {
        request->file[i] = request->name[i] == '-' ? '_' : request->name[i];
        request->title[i] = request->name[i] == '-' ? ' ' : request->name[i];
    }
    request->title[0] = (char)(request->title[0] - 'a' + 'A');
}

/* False: the command ends with *code. */
static bool read_request(struct request *request, int argc, char **argv, int *code)
{
    const int next = options_take(&new_options, argc, argv, request, code);
    if (!next)
        return false;
    *code = EXIT_UNKNOWN;
    if (argc - next != 2) {
        command_refuse("new: expected PROBLEM and NAME; see conclave new --help");
        return false;
    }
    request->name = argv[next + 1];
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strcmp(beginnings[i].problem, argv[next]) == 0)
            request->beginning = &beginnings[i];
    if (!request->beginning)
        command_refuse("new %s: expected election, mutex or synchronous", cv_brief(argv[next]).text);
    else if (!is_name(request->name))
        command_refuse("new %s %s: expected a name of up to %u letters a to z, digits and '-', a letter first",
                       argv[next], cv_brief(request->name).text, LONGEST_NAME);
    else if (cv_algorithm_find(request->name))
        command_refuse("new %s %s: is the name of one that is built in; expected another", argv[next], request->name);
    else
        return name_things(request), true;
    return false;
}

/* ---- the files ---- */

/* Words of the example, and what they become. */
struct change {
    const char *from, *to;
};

static void write_changed(FILE *out, const char *text, const struct change *changes)
{
    while (*text) {
        const struct change *change = changes;
        while (change->from && strncmp(text, change->from, strlen(change->from)) != 0)
            change++;
        if (change->from) {
            fputs(change->to, out);
            text += strlen(change->from);
        } else {
            putc(*text++, out);
        }
    }
}

/* A file that did not exist; NULL after a complaint. */
static FILE *create(const char *path, unsigned mode)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    FILE *out = file < 0 ? NULL : fdopen(file, "w");
    if (!out)
        command_refuse("new: %s: %s; expected a file that can be made", path, strerror(errno));
    return out;
}

/* Half a file is none. */
static int close_file(FILE *out, const char *path)
{
    const bool failed = ferror(out);
    if (!fclose(out) && !failed)
        return EXIT_HELD;
    command_refuse("new: %s: %s", path, strerror(errno));
    unlink(path);
    return EXIT_UNKNOWN;
}

static int write_source(const struct request *request, const char *path, const char *headers)
{
    const struct beginning *beginning = request->beginning;
    const struct embedded_file *file = example_files;
    char example[64], object[LONGEST_NAME + 8], source[LONGEST_NAME + 8], option[PATH_MAX + 32];
    snprintf(example, sizeof example, "examples/%s.c", beginning->example);
    snprintf(object, sizeof object, "%s.so", request->file);
    snprintf(source, sizeof source, "%s.c", request->file);
    snprintf(option, sizeof option, "-I %s ", headers);
    const struct change changes[] = {
        {example, source},
        {beginning->object, object},
        {"-I include ", option},
        {beginning->name, request->name},
        {beginning->title, request->title},
        {NULL, NULL},
    };
    FILE *out = create(path, 0666);
    if (!out)
        return EXIT_UNKNOWN;
    while (strcmp(file->name, beginning->example) != 0)
        file++;
    write_changed(out, file->text, changes);
    return close_file(out, path);
}

static int write_test(const struct request *request, const char *path, const char *headers)
{
    FILE *out = create(path, 0777);
    if (!out)
        return EXIT_UNKNOWN;
    fprintf(out,
            "#!/bin/sh\n"
            "# Compiles %s.c and tries it: the exit code is 0 if every run held.\n"
            "set -eu\n"
            "cd \"$(dirname \"$0\")\"\n"
            "mine=$(mktemp -d)/%s.so\n"
            "trap 'rm -r \"$(dirname \"$mine\")\"' EXIT\n"
            "\n"
            "try() {\n"
            "    ${CONCLAVE:-conclave} \"$@\" >\"$mine.said\" 2>&1 || { echo \"failed: conclave $*\"; cat "
            "\"$mine.said\"; exit 1; }\n"
            "}\n"
            "\n"
            "${CC:-cc} -std=c17 -Wall -Wextra -Wpadded -Werror -shared -fPIC -I \"${CONCLAVE_INCLUDE:-%s}\" -o "
            "\"$mine\" %s.c\n"
            "%s"
            "echo \"%s: every run held\"\n",
            request->file, request->file, headers, request->file, request->beginning->test, request->name);
    return close_file(out, path);
}

int command_new(int argc, char **argv)
{
    struct request request = {.directory = "."};
    char beside[PATH_MAX + 16], headers[PATH_MAX], source[PATH_MAX], test[PATH_MAX];
    int code;
    if (!read_request(&request, argc, argv, &code))
        return code;
    if (plugin_find_headers(beside) || !realpath(beside, headers))
        snprintf(headers, sizeof headers, "include");
    const bool here = strcmp(request.directory, ".") == 0;
    const char *place = here ? "" : request.directory, *slash = here ? "" : "/";
    if (snprintf(source, sizeof source, "%s%s%s.c", place, slash, request.file) >= (int)sizeof source ||
        snprintf(test, sizeof test, "%s%s%s_test.sh", place, slash, request.file) >= (int)sizeof test)
        return command_refuse("--directory %s: expected a shorter path", cv_brief(request.directory).text);
    if (access(test, F_OK) == 0)
        return command_refuse("new: %s: File exists; expected a file that can be made", test);
    code = write_source(&request, source, headers);
    if (code == EXIT_HELD) {
        code = write_test(&request, test, headers);
        if (code != EXIT_HELD)
            unlink(source);
    }
    if (code == EXIT_HELD)
        printf("%s: an algorithm to begin with\n%s: compiles and tries it; run it now, and after each change\n", source,
               test);
    return code;
}
