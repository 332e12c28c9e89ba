// SPDX-License-Identifier: MIT
/* `conclave once`: runs a command once in each period, in the whole group. */
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/hold/hold_options.h"
#include "core/parse.h"

static int take_every(void *request, const char *value, struct cv_complaint *complaint)
{
    struct hold *hold = request;
    const int error = options_read_time("--every", value, &hold->every_ms, complaint);
    return error || hold->every_ms ? error : cv_complain(complaint, "--every %s: expected more than 0", value);
}

static const struct option_row rows[] = {
    {"every", "TIME", OPTION_TAKE, 0,
     .help = "how long a period is; periods are counted from the beginning of 1970, UTC", .take = take_every},
    HOLD_CLIENT_ROW,
    ASK_SERVER_ROWS(struct hold, server),
    {0},
};

const struct options once_options = {
    .name = "once",
    .failure = HOLD_TROUBLE,
    .usage = "NAME --every TIME [OPTION...] -- COMMAND [ARGUMENT...]",
    .about = "Runs COMMAND unless another client of the group does it, or has done it, in this period.",
    .rows = rows,
    .more =
        "TIME is in seconds, or has a unit: 250ms, 10s, 5m, 1h.\n"
        "COMMAND sees CONCLAVE_LOCK and CONCLAVE_FENCE. If it ends with 0 it is done; otherwise the next one that asks "
        "runs it.\n"
        "Exit codes: COMMAND's own, 0 if it is done already; the others are those of conclave lock.",
    .lenient = true,
    .runs_command = true,
};

int command_once(int argc, char **argv)
{
    struct hold hold = {.want.ends_with_session = true};
    int code;
    if (!hold_read(&once_options, argc, argv, &hold, &code))
        return code;
    if (hold.command && hold.every_ms)
        return hold_run(&hold);
    command_refuse("once %s: expected --every TIME, -- and a COMMAND; see conclave once --help",
                   cv_brief(hold.name).text);
    return HOLD_TROUBLE;
}
