// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/nearest.h"
#include "saved/checkpoint.h"
#include "show/json.h"

#define COMMAND(name, summary)                                                                                         \
    {                                                                                                                  \
        &name##_options, summary, command_##name                                                                       \
    }

static const struct command commands[] = {
    COMMAND(list, "the algorithms: what they assume, promise and cost"),
    COMMAND(sim, "run an algorithm in the simulator"),
    COMMAND(run, "run it between real processes"),
    COMMAND(check, "try every order of events of a small group"),
    COMMAND(compare, "the texts' comparison tables, measured"),
    COMMAND(scenario, "replay an example of the texts"),
    COMMAND(new, "begin an algorithm of your own"),
    COMMAND(explore, "take a run step by step in the browser"),
    COMMAND(node, "serve locks and elections, alone or as a member of a group"),
    COMMAND(lock, "run a command while a lock is held"),
    COMMAND(lock_all, "run a command while several locks are held"),
    COMMAND(elect, "run a command while this process leads, or watch who does"),
    COMMAND(leader, "print what the leader of an election publishes"),
    COMMAND(watch, "print who holds a lock, and every change"),
    COMMAND(sequence, "print numbers that nobody else gets"),
    COMMAND(guard, "replace a file by a command's output, unless a higher fence was there"),
    COMMAND(once, "run a command once in each period, in the whole group"),
    COMMAND(barrier, "wait until so many have come"),
    COMMAND(latch, "wait until others have counted it down"),
    COMMAND(members, "print who has joined a name, or run a command as a member"),
    COMMAND(keygen, "make keys for a cluster and its clients"),
    COMMAND(tunnel, "speak with a server over standard input and output"),
    COMMAND(cluster, "start nodes on this machine, to try things out"),
    COMMAND(status, "show a cluster: members, locks, messages"),
    COMMAND(doctor, "explain what is wrong with a cluster, and what to do"),
    COMMAND(join, "add a member to a running group"),
    COMMAND(leave, "take a member out of a running group"),
    COMMAND(recover, "go on with one member of a group that has lost its majority"),
    COMMAND(replace, "make a machine that has lost its directory a new member"),
    COMMAND(set, "change what a running group has agreed on"),
    COMMAND(step_down, "have another node coordinate"),
    COMMAND(judge, "judge what live nodes have recorded"),
    COMMAND(demo, "five processes elect, fail over and take turns"),
    COMMAND(tour, "a short tour of the texts' examples"),
};

/* All commands and their options, for programs. */
static void show_json(void)
{
    struct cv_json json = {.out = stdout};
    cv_json_open(&json, NULL, '{');
    cv_json_count(&json, "schema", 1);
    cv_json_open(&json, "commands", '[');
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        options_json(commands[i].options, commands[i].summary, &json);
    cv_json_close(&json, ']');
    cv_json_close(&json, '}');
    putchar('\n');
}

static void show_help(FILE *out)
{
    fputs("Conclave gives a group of processes one leader and one key-holder at a time.\n\n"
          "usage: conclave COMMAND [OPTION...]\n\n",
          out);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(out, "  %-10s %s\n", commands[i].options->name, commands[i].summary);
    fputs("  help       this page; conclave COMMAND --help tells more\n\n"
          "Exit codes: 0 held, 1 violated, 2 wrong usage or nothing can be said.\n",
          out);
}

static uint64_t hash_of(int count, char **words)
{
    uint64_t hash = (uint64_t)count;
    for (int i = 0; i < count; i++)
        hash = cv_checkpoint_hash(words[i], strlen(words[i]) + 1, hash);
    return hash;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        show_help(stderr);
        return EXIT_UNKNOWN;
    }
    command_line = hash_of(argc - 1, argv + 1);
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0) {
        puts("conclave " CONCLAVE_VERSION);
        return command_flush(EXIT_HELD);
    }
    if (strcmp(name, "help") == 0 && argc > 2 && strcmp(argv[2], "--json") == 0) {
        show_json();
        return command_flush(EXIT_HELD);
    }
    if (strcmp(name, "help") == 0 && argc > 2) {
        static char help[] = "--help";
        name = argv[2];
        argv[2] = help;
        argc = 3;
        argv[1] = (char *)(uintptr_t)name;
    } else if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        show_help(stdout);
        return command_flush(EXIT_HELD);
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].options->name) == 0) {
            const int failure = commands[i].options->failure;
            return command_flush_or(commands[i].run(argc - 1, argv + 1), failure ? failure : EXIT_UNKNOWN);
        }
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        nearest_offer(&nearest, commands[i].options->name);
    return command_refuse("%s: no such command%s; see conclave help", name, nearest_question(&nearest, "").text);
}
