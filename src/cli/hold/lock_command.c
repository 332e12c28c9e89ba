// SPDX-License-Identifier: MIT
/* `conclave lock`: runs a command while a lock is held. */
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/hold/hold_options.h"
#include "core/parse.h"

static const struct option_row rows[] = {
    {"wait", "TIME", OPTION_TAKE, 0, .help = "give up after this time; 0: try once (wait for as long as it takes)",
     .take = hold_take_wait},
    {"ttl", "TIME", OPTION_TAKE, 0,
     .help = "how long the lock lasts without contact to a server; it is renewed all the time; 0: it ends "
             "with the session, and with the server (10s)",
     .take = hold_take_ttl},
    {"shared", NULL, OPTION_SWITCH, offsetof(struct hold, want.shared),
     .help = "share the lock with other shared holders"},
    {"permits", "N", OPTION_NUMBER32, offsetof(struct hold, want.permits),
     .help = "one of up to N holders, who all say the same N", .least = 1, .most = 1000000},
    HOLD_ASK_BACK_ROW,
    HOLD_CLIENT_ROW,
    ASK_SERVER_ROWS(struct hold, server),
    {0},
};

const struct options lock_options = {
    .name = "lock",
    .failure = HOLD_TROUBLE,
    .usage = "NAME [OPTION...] -- COMMAND [ARGUMENT...]",
    .about = "Holds the lock NAME while COMMAND runs.",
    .rows = rows,
    .more = "TIME is in seconds, or has a unit: 250ms, 10s, 5m, 1h.\n"
            "COMMAND sees CONCLAVE_LOCK, CONCLAVE_FENCE, and CONCLAVE_DEADLINE (milliseconds since 1970).\n"
            "Exit codes: COMMAND's own, 128 and the number of the signal that ended it; 122 the lock was lost and "
            "COMMAND ended for it; 123 no server or no majority; 124 waited too long; 125 wrong usage, or a failure of "
            "conclave itself; 126, 127 COMMAND cannot be run, or was not found.",
    .lenient = true,
    .runs_command = true,
};

int command_lock(int argc, char **argv)
{
    struct hold hold = {0};
    int code;
    if (!hold_read(&lock_options, argc, argv, &hold, &code))
        return code;
    if (hold.want.permits && hold.want.shared) {
        command_refuse("--permits %u: expected it without --shared", hold.want.permits);
        return HOLD_TROUBLE;
    }
    if (hold.command)
        return hold_run(&hold);
    command_refuse("lock %s: expected -- and a COMMAND; see conclave lock --help", cv_brief(hold.name).text);
    return HOLD_TROUBLE;
}
