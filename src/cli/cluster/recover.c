// SPDX-License-Identifier: MIT
/* `conclave recover`: a group that has lost its majority for good goes on with one of its members. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "core/parse.h"
#include "group/raft/recovery.h"

struct request {
    struct cv_group_recovery recovery;
    bool sure;
};

static int take_floor(void *context, const char *value, struct cv_complaint *complaint)
{
    uint64_t *floor = &((struct request *)context)->recovery.fence_floor;
    if (cv_parse_number(cv_text(value), (1ull << 53) - 1, floor) && *floor)
        return 0;
    return cv_complain(complaint, "--fence-floor %s: expected a fence, a number of 1 to 2^53 - 1",
                       cv_brief(value).text);
}

static const struct option_row rows[] = {
    {"the-others-are-lost", NULL, OPTION_SWITCH, offsetof(struct request, sure),
     .help = "your promise that a majority of the others has stopped for good; without it nothing is "
             "changed"},
    {"fence-floor", "FENCE", OPTION_TAKE, 0,
     .help = "the highest fence that any client has seen: all new ones are higher", .take = take_floor},
    {0},
};

const struct options recover_options = {
    .name = "recover",
    .usage = "[OPTION...] DIRECTORY",
    .about = "Continues a group raft that has lost its majority for good with this member, which must be "
             "stopped. DIRECTORY is its [node] directory. What the others agreed on without it is lost. "
             "The group gets a new identity; it refuses old members that come back, until conclave replace "
             "makes them new ones. Fences keep rising if --fence-floor gives the highest, or if the others "
             "made fewer than 256 views without this member.",
    .rows = rows,
    .lenient = true,
};

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
           (unsigned long long)recovery->last_epoch, (unsigned long long)cv_view_agreed_base(recovery->next_epoch));
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
    fprintf(stderr, "; --the-others-are-lost is your promise that a majority of them has stopped for good\n");
    return EXIT_UNKNOWN;
}

int command_recover(int argc, char **argv)
{
    struct request request = {0};
    struct cv_group_recovery *recovery = &request.recovery;
    struct cv_complaint complaint;
    struct stat status;
    int code;
    const int next = options_take(&recover_options, argc, argv, &request, &code);
    if (!next)
        return code;
    if (argc - next != 1)
        return command_refuse("expected the directory of a node; see conclave recover --help");
    recovery->directory = argv[next];
    if (stat(recovery->directory, &status) || !S_ISDIR(status.st_mode)) /* otherwise it would be created */
        return command_refuse("%s: expected the directory of a node", cv_brief(recovery->directory).text);
    if (getrandom(&recovery->group, sizeof recovery->group, 0) != sizeof recovery->group || !recovery->group)
        return command_refuse("the system gives no random numbers");
    const int error = cv_group_recover(recovery, !request.sure, &complaint);
    if (error)
        return command_fail(error, &complaint);
    return request.sure ? tell(recovery) : ask_for_word(recovery);
}
