// SPDX-License-Identifier: MIT
/* `conclave recover`: a group that has lost its majority for good goes on with one of its members. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "core/parse.h"
#include "group/raft/recovery.h"

static const char help[] =
    "usage: conclave recover [OPTION...] DIRECTORY\n\n"
    "A group raft that has lost its majority for good goes on with this member, which is stopped: DIRECTORY is its\n"
    "[node] directory. What the others had agreed on without it is lost. The group gets a new identity; members of "
    "the\n"
    "old one that come back are refused, and replaced by conclave replace. Fences rise if they are told how far they\n"
    "got, or the others made less than 256 views without this member.\n\n"
    "  --the-others-are-lost   your word that a majority of the others runs no more and never will; without it "
    "nothing\n"
    "                          is changed\n"
    "  --fence-floor FENCE     the highest fence that anybody has seen: all new ones are higher\n"
    "  --help                  this page\n";

enum choice { LOST = 256, FLOOR, HELP };

static const struct option options[] = {
    {"the-others-are-lost", no_argument, NULL, LOST},
    {"fence-floor", required_argument, NULL, FLOOR},
    {"help", no_argument, NULL, HELP},
    {0},
};

/* -1: help was asked for. */
static int read_options(struct cv_group_recovery *recovery, bool *sure, int argc, char **argv)
{
    optind = 1;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        switch (option) {
        case LOST:
            *sure = true;
            break;
        case FLOOR:
            if (!cv_parse_number(cv_text(optarg), (1ull << 53) - 1, &recovery->fence_floor) || !recovery->fence_floor)
                return command_refuse("--fence-floor %s: expected a fence, a number of 1 to 2^53 - 1",
                                      cv_brief(optarg).text);
            break;
        case HELP:
            fputs(help, stdout);
            return -1;
        default:
            return command_refuse("%s: %s; see conclave recover --help", argv[optind - 1],
                                  option == ':' ? "expected a value" : "no such option");
        }
    }
    if (argc - optind != 1)
        return command_refuse("expected the directory of a node; see conclave recover --help");
    recovery->directory = argv[optind];
    return EXIT_HELD;
}

static void list_others(const struct cv_group_recovery *recovery, FILE *out)
{
    const char *separator = "";
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++)
        if (cv_set_has(recovery->others, node)) {
            fprintf(out, "%s%u", separator, recovery->ids[node]);
            separator = ", ";
        }
}

static int tell(const struct cv_group_recovery *recovery)
{
    printf("node %u goes on alone, after epoch %llu; fences begin above %llu\n", recovery->id,
           (unsigned long long)recovery->last_epoch, (unsigned long long)recovery->next_epoch << 40);
    if (recovery->others) {
        printf("start it; then replace the others, each with an empty directory: conclave replace ");
        list_others(recovery, stdout);
        printf("\n");
    }
    return EXIT_HELD;
}

static int ask_for_word(const struct cv_group_recovery *recovery)
{
    fprintf(stderr, "conclave: nothing is changed: node %u, which knows epoch %llu, would go on without node ",
            recovery->id, (unsigned long long)recovery->last_epoch);
    list_others(recovery, stderr);
    fprintf(stderr, "; --the-others-are-lost is your word that a majority of them runs no more and never will\n");
    return EXIT_UNKNOWN;
}

int command_recover(int argc, char **argv)
{
    struct cv_group_recovery recovery = {0};
    struct cv_complaint complaint;
    struct stat status;
    bool sure = false;
    const int code = read_options(&recovery, &sure, argc, argv);
    if (code != EXIT_HELD)
        return code < 0 ? EXIT_HELD : code;
    if (stat(recovery.directory, &status) || !S_ISDIR(status.st_mode)) /* it would be made */
        return command_refuse("%s: expected the directory of a node", cv_brief(recovery.directory).text);
    if (getrandom(&recovery.group, sizeof recovery.group, 0) != sizeof recovery.group || !recovery.group)
        return command_refuse("no random numbers");
    const int error = cv_group_recover(&recovery, !sure, &complaint);
    if (error)
        return command_fail(error, &complaint);
    return sure ? tell(&recovery) : ask_for_word(&recovery);
}
