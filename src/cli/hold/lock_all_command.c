// SPDX-License-Identifier: MIT
/* `conclave lock-all`: runs a command while several locks are held. */
#include <string.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/hold/hold_options.h"
#include "core/parse.h"

_Static_assert(CONCLAVE_NAMES == 24, "the help says so");

static const struct option_row rows[] = {
    {"wait", "TIME", OPTION_TAKE, 0, .help = "give up after this time; 0: try once (wait for as long as it takes)",
     .take = hold_take_wait},
    {"ttl", "TIME", OPTION_TAKE, 0,
     .help = "how long the locks last without contact to a server; they are renewed all the time; 0: they end "
             "with the session, and with the server (10s)",
     .take = hold_take_ttl},
    HOLD_ASK_BACK_ROW,
    HOLD_CLIENT_ROW,
    ASK_SERVER_ROWS(struct hold, server),
    {0},
};

const struct options lock_all_options = {
    .name = "lock-all",
    .failure = HOLD_TROUBLE,
    .usage = "NAME... [OPTION...] -- COMMAND [ARGUMENT...]",
    .about = "Holds all of the locks NAME, 24 at most, while COMMAND runs. It gets all of them or none, so commands "
             "that name the same "
             "locks in different orders do not wait for each other.",
    .rows = rows,
    .more = "TIME is in seconds, or has a unit: 250ms, 10s, 5m, 1h.\n"
            "COMMAND sees CONCLAVE_LOCK with a name on each line, CONCLAVE_FENCE with the fences in the same order and "
            "spaces between them, each fence also as CONCLAVE_FENCE_1 and so on, and CONCLAVE_DEADLINE.\n"
            "The exit codes are those of conclave lock: 122 means that one of them was lost.",
    .lenient = true,
};

/* Options and names come before the first --, and the command after it. */
int command_lock_all(int argc, char **argv)
{
    struct hold hold = {0};
    int code, end = 0;
    while (end < argc && strcmp(argv[end], "--") != 0)
        end++;
    const int next = options_take(&lock_all_options, end, argv, &hold, &code);
    if (!next)
        return code == EXIT_HELD ? EXIT_HELD : HOLD_TROUBLE;
    hold.names = (const char *const *)&argv[next];
    hold.name_count = (size_t)(end - next);
    hold.command = end + 1 < argc ? &argv[end + 1] : NULL;
    if (!hold.name_count || hold.name_count > CONCLAVE_NAMES)
        command_refuse("lock-all: %zu names, expected 1 to %d; see conclave lock-all --help", hold.name_count,
                       CONCLAVE_NAMES);
    else if (!hold.command)
        command_refuse("lock-all %s: expected -- and a COMMAND; see conclave lock-all --help",
                       cv_brief(hold.names[0]).text);
    else
        return hold_run(&hold);
    return HOLD_TROUBLE;
}
