// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/nearest.h"

static const struct command commands[] = {
    {"list", "the algorithms: what they assume, promise and cost", command_list},
    {"sim", "run an algorithm in the simulator", command_sim},
    {"check", "try every order of events of a small group", command_check},
    {"compare", "the texts' comparison tables, measured", command_compare},
    {"scenario", "replay an example of the texts", command_scenario},
    {"node", "serve locks and elections, alone or as a member of a group", command_node},
    {"lock", "run a command while a lock is held", command_lock},
    {"elect", "run a command while this process leads, or watch who does", command_elect},
    {"keygen", "make keys for a cluster and its clients", command_keygen},
    {"cluster", "start nodes on this machine, to try things out", command_cluster},
    {"status", "show a cluster: members, locks, messages", command_status},
    {"doctor", "explain what is wrong with a cluster, and what to do", command_doctor},
    {"join", "add a member to a running group", command_join},
    {"leave", "take a member out of a running group", command_leave},
    {"recover", "go on with one member of a group that has lost its majority", command_recover},
    {"replace", "make a machine that has lost its directory a new member", command_replace},
    {"set", "change what a running group has agreed on", command_set},
    {"step-down", "have another node coordinate", command_step_down},
    {"judge", "judge what live nodes have recorded", command_judge},
    {"demo", "five processes elect, fail over and take turns", command_demo},
    {"tour", "a short tour of the texts' examples", command_tour},
};

static void show_help(FILE *out)
{
    fputs("Conclave gives a group of processes one leader and one key-holder at a time.\n\n"
          "usage: conclave COMMAND [OPTION...]\n\n",
          out);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("  help       this page; conclave COMMAND --help tells more\n\n"
          "Exit codes: 0 held, 1 violated, 2 wrong usage or nothing can be said.\n",
          out);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        show_help(stderr);
        return EXIT_UNKNOWN;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0) {
        puts("conclave " CONCLAVE_VERSION);
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
        if (strcmp(name, commands[i].name) == 0)
            return command_flush(commands[i].run(argc - 1, argv + 1));
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        nearest_offer(&nearest, commands[i].name);
    return command_refuse("%s: no such command%s; see conclave help", name, nearest_question(&nearest, "").text);
}
