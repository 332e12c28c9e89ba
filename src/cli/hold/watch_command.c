// SPDX-License-Identifier: MIT
/* `conclave watch`: prints who holds a lock, and every change. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/hold/hold_options.h"
#include "core/parse.h"
#include "show/json.h"

static const struct option_row rows[] = {
    {"json", NULL, OPTION_SWITCH, offsetof(struct hold, json),
     .help = "print name, holder and fence as JSON, a line each"},
    ASK_SERVER_ROWS(struct hold, server),
    {0},
};

const struct options watch_options = {
    .name = "watch",
    .failure = HOLD_TROUBLE,
    .usage = "NAME [OPTION...]",
    .about =
        "Prints which client got the lock NAME last, and a line for every change, until it is interrupted. A short "
        "hold may be missed if the next grant is faster.",
    .rows = rows,
    .more = "Exit codes: 123 no server or no majority; 125 wrong usage, or a failure of conclave itself.",
    .lenient = true,
};

static bool show(const struct hold *hold, const char *holder, uint64_t fence)
{
    struct cv_json json = {.out = stdout};
    if (!hold->json) {
        if (*holder)
            printf("%s holds it (fence %llu)\n", cv_brief(holder).text, (unsigned long long)fence);
        else
            puts("nobody holds it");
        return fflush(stdout) == 0;
    }
    cv_json_open(&json, NULL, '{');
    cv_json_text(&json, "name", hold->name);
    cv_json_text(&json, "holder", *holder ? holder : NULL);
    cv_json_count(&json, "fence", fence);
    cv_json_close(&json, '}');
    putchar('\n');
    return fflush(stdout) == 0;
}

/* Runs until a signal ends it. There is nothing to clean up. */
static int watch(const struct hold *hold)
{
    struct conclave *session;
    struct conclave_leader holder;
    struct conclave_event event;
    int code = hold_open(&session, hold);
    int error = code ? 0 : conclave_watch(session, hold->name, &holder);
    bool shown = !code && !error && show(hold, holder.leader, holder.fence);
    while (shown && !error) {
        const int result = conclave_next_event(session, &event, -1);
        if (result == 1 && event.kind == CONCLAVE_EVENT_HOLDER)
            shown = show(hold, event.leader, event.fence);
        error = result < 0 ? result : 0;
    }
    if (error)
        code = hold_explain(session, cv_brief(hold->name).text, error);
    conclave_close(session);
    if (!shown && !code)
        command_refuse("standard output: %s", strerror(errno));
    return code ? code : HOLD_TROUBLE;
}

int command_watch(int argc, char **argv)
{
    struct hold hold = {0};
    int code;
    const int next = options_take(&watch_options, argc, argv, &hold, &code);
    if (!next)
        return code == EXIT_HELD ? EXIT_HELD : HOLD_TROUBLE;
    if (argc - next != 1) {
        command_refuse("watch: expected one NAME, and nothing else; see conclave watch --help");
        return HOLD_TROUBLE;
    }
    hold.name = argv[next];
    return watch(&hold);
}
