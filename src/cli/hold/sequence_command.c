// SPDX-License-Identifier: MIT
/* `conclave sequence`: prints numbers that nobody else gets. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/hold/hold_options.h"
#include "client/acquire.h"
#include "core/parse.h"
#include "show/json.h"

#define MOST_NUMBERS 4096u /* that servers give at a time */

static const struct option_row rows[] = {
    {"wait", "TIME", OPTION_TAKE, 0, .help = "give up after this time, 2s at least (wait for as long as it takes)",
     .take = hold_take_wait},
    {"json", NULL, OPTION_SWITCH, offsetof(struct hold, json), .help = "print name, first and count as JSON"},
    ASK_SERVER_ROWS(struct hold, server),
    {0},
};

const struct options sequence_options = {
    .name = "sequence",
    .failure = HOLD_TROUBLE,
    .usage = "NAME [COUNT] [OPTION...]",
    .about =
        "Prints COUNT numbers (1), a line each, that nobody else gets for NAME. They are higher than all that were "
        "printed before, over every crash and restart.",
    .rows = rows,
    .more = "TIME is in seconds, or has a unit: 250ms, 10s, 5m, 1h.\n"
            "It waits while another client holds NAME as a lock.\n"
            "Exit codes: 0; 123 no server or no majority; 124 waited too long; 125 wrong usage, or a failure of "
            "conclave itself.",
    .lenient = true,
};

static void show(const struct hold *hold, uint64_t first, uint64_t count)
{
    struct cv_json json = {.out = stdout};
    if (!hold->json) {
        for (uint64_t i = 0; i < count; i++)
            printf("%" PRIu64 "\n", first + i);
        return;
    }
    cv_json_open(&json, NULL, '{');
    cv_json_text(&json, "name", hold->name);
    cv_json_count(&json, "first", first);
    cv_json_count(&json, "count", count);
    cv_json_close(&json, '}');
    putchar('\n');
}

int command_sequence(int argc, char **argv)
{
    struct hold hold = {0};
    struct conclave *session;
    uint64_t count = 1, first = 0;
    int code;
    const int next = options_take(&sequence_options, argc, argv, &hold, &code);
    if (!next)
        return code == EXIT_HELD ? EXIT_HELD : HOLD_TROUBLE;
    if (argc - next < 1 || argc - next > 2) {
        command_refuse("sequence: expected a NAME and a COUNT, and nothing else; see conclave sequence --help");
        return HOLD_TROUBLE;
    }
    hold.name = argv[next];
    if (argc - next == 2 && !(cv_parse_number(cv_text(argv[next + 1]), MOST_NUMBERS, &count) && count)) {
        command_refuse("sequence %s %s: expected a number of 1..%u", cv_brief(hold.name).text,
                       cv_brief(argv[next + 1]).text, MOST_NUMBERS);
        return HOLD_TROUBLE;
    }
    const int64_t wait_ms = hold.want.wait_ms || hold.want.try_once ? (int64_t)hold.want.wait_ms : -1;
    code = hold_open(&session, &hold);
    const int error = code ? 0 : cv_client_sequence(session, hold.name, (uint32_t)count, wait_ms, &first);
    if (error)
        code = hold_explain(session, cv_brief(hold.name).text, error);
    else if (!code)
        show(&hold, first, count);
    conclave_close(session);
    return code;
}
