// SPDX-License-Identifier: MIT
/* `conclave lock`: a command runs while a lock is held. */
#include <getopt.h>

#include "cli/command.h"
#include "cli/hold/hold.h"
#include "core/parse.h"

static const char usage[] =
    "usage: conclave lock NAME [OPTION...] -- COMMAND [ARGUMENT...]\n\n"
    "Holds the lock NAME while COMMAND runs.\n\n"
    "  --wait T         give up after this time; 0: try once (wait for as long as it takes)\n"
    "  --ttl T          the lock lasts so long without a server, as it is renewed all the time; 0: it ends with the\n"
    "                   session, and with the server (10s)\n"
    "  --shared         beside other shared holders\n" HOLD_SERVER_HELP "  --help           this page\n\n"
    "T is in seconds, or has a unit: 250ms, 10s, 5m, 1h.\n"
    "COMMAND sees CONCLAVE_LOCK, CONCLAVE_FENCE, and CONCLAVE_DEADLINE (milliseconds since 1970).\n"
    "Exit codes: COMMAND's own, 128 and the number of the signal that ended it; 122 the lock was lost and COMMAND\n"
    "ended for it; 123 no server or no majority; 124 waited too long; 125 wrong usage; 126, 127 COMMAND cannot be\n"
    "run, or was not found.\n";

static const struct option options[] = {
    {"wait", required_argument, NULL, HOLD_WAIT}, {"ttl", required_argument, NULL, HOLD_TTL},
    {"shared", no_argument, NULL, HOLD_SHARED},   HOLD_SERVER_OPTIONS,
    {"help", no_argument, NULL, HOLD_HELP},       {0},
};

int command_lock(int argc, char **argv)
{
    struct hold hold = {0};
    const int code = hold_read_options(argc, argv, options, usage, &hold);
    if (code >= 0)
        return code;
    if (hold.command)
        return hold_run(&hold);
    command_refuse("lock %s: expected -- and a COMMAND; see conclave lock --help", cv_brief(hold.name).text);
    return HOLD_TROUBLE;
}
