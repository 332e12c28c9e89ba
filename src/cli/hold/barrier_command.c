// SPDX-License-Identifier: MIT
/* `conclave barrier`: waits until so many have come. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/hold/hold_options.h"
#include "cli/hold/recipe_ask.h"
#include "core/parse.h"

static const struct option_row rows[] = {
    {"parties", "N", OPTION_NUMBER32, offsetof(struct hold, parties), .help = "how many have to come, 1 to 500",
     .least = 1, .most = 500},
    {"wait", "TIME", OPTION_TAKE, 0, .help = "give up after this time (wait for as long as it takes)",
     .take = hold_take_wait},
    HOLD_CLIENT_ROW,
    ASK_SERVER_ROWS(struct hold, server),
    {0},
};

const struct options barrier_options = {
    .name = "barrier",
    .failure = HOLD_TROUBLE,
    .usage = "NAME --parties N [OPTION...]",
    .about =
        "Waits until N clients of the group have come to the barrier NAME, and prints the number of the meeting, which "
        "is the same for all of them.",
    .rows = rows,
    .more =
        "TIME is in seconds, or has a unit: 250ms, 10s, 5m, 1h.\n"
        "Exit codes: 0 all have come; 123 no server or no majority; 124 waited too long; 125 wrong usage, others say "
        "another N, or a failure of conclave itself.",
};

int command_barrier(int argc, char **argv)
{
    struct hold hold = {0};
    struct conclave *session;
    char parties[16];
    int64_t meeting = 0;
    int code;
    const int next = options_take(&barrier_options, argc, argv, &hold, &code);
    if (!next)
        return code == EXIT_HELD ? EXIT_HELD : HOLD_TROUBLE;
    if (next + 1 != argc || !hold.parties) {
        command_refuse("barrier: expected NAME and --parties N; see conclave barrier --help");
        return HOLD_TROUBLE;
    }
    hold.name = argv[next];
    snprintf(parties, sizeof parties, "%" PRIu32, hold.parties);
    const struct cv_client_words ask = {.count = 3, .word = {"BARRIER", hold.name, parties}};
    code = hold_open(&session, &hold);
    if (!code)
        code = recipe_ask_number(session, &hold, &ask, true, &meeting);
    if (code == HOLD_TIMEOUT)
        command_refuse("barrier %s: waited too long", cv_brief(hold.name).text);
    else if (!code)
        printf("%" PRId64 "\n", meeting);
    conclave_close(session);
    return code;
}
