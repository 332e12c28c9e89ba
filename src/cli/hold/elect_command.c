// SPDX-License-Identifier: MIT
/* `conclave elect`: runs a command while this process leads, or shows the leader. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/hold/hold_json.h"
#include "cli/hold/hold_options.h"
#include "cli/hold/leader_command.h"
#include "core/parse.h"
#include "core/printable.h"

static const struct option_row rows[] = {
    {"priority", "P", OPTION_NUMBER32, offsetof(struct hold, priority),
     .help = "the candidate with the highest priority is preferred (0)", .most = INT32_MAX},
    {"value", "TEXT", OPTION_TEXT, offsetof(struct hold, value),
     .help = "what everybody is told while this process leads, such as host:port; at most 1024 bytes"},
    {"wait", "TIME", OPTION_TAKE, 0, .help = "give up after this time (wait for as long as it takes)",
     .take = hold_take_wait},
    {"ttl", "TIME", OPTION_TAKE, 0,
     .help = "how long the leadership lasts without contact to a server; it is renewed all the time; 0: it "
             "ends with the session, and with the server (10s)",
     .take = hold_take_ttl},
    {"observe", NULL, OPTION_SWITCH, offsetof(struct hold, observe),
     .help = "print the leader, and every later leader"},
    {"json", NULL, OPTION_SWITCH, offsetof(struct hold, json), .help = "print them as JSON, a line each"},
    HOLD_ASK_BACK_ROW,
    HOLD_CLIENT_ROW,
    ASK_SERVER_ROWS(struct hold, server),
    {0},
};

const struct options elect_options = {
    .name = "elect",
    .failure = HOLD_TROUBLE,
    .usage = "NAME [OPTION...] -- COMMAND [ARGUMENT...]\n"
             "--observe NAME [--json]",
    .about = "Stands for the election NAME and runs COMMAND while this process leads; or prints who leads, and every "
             "change.",
    .rows = rows,
    .more = "TIME is in seconds, or has a unit: 250ms, 10s, 5m, 1h.\n"
            "COMMAND and the exit codes are as with conclave lock: 122 means that this process no longer led.",
    .lenient = true,
    .runs_command = true,
};

/* `value` starts at NULL if the leader publishes none. */
static bool show(const struct hold *hold, const char *leader, uint64_t fence, struct cv_text value)
{
    char shown[HOLD_SHOWN_BYTES] = "";
    if (value.start)
        cv_show(shown, sizeof shown, value);
    if (hold->json) {
        leader_json(hold->name, leader, fence, value);
    } else if (*leader) {
        printf("%s leads (fence %llu)%s%s\n", cv_brief(leader).text, (unsigned long long)fence, value.start ? ": " : "",
               shown);
    } else {
        puts("nobody leads");
    }
    return fflush(stdout) == 0;
}

/* Runs until a signal ends it. There is nothing to clean up. */
static int observe(const struct hold *hold)
{
    struct conclave *session;
    struct conclave_leader leader;
    struct conclave_event event;
    int code = hold_open(&session, hold);
    int error = code ? 0 : conclave_observe(session, hold->name, &leader);
    if (error)
        code = hold_explain(session, cv_brief(hold->name).text, error);
    bool shown = !code && show(hold, leader.leader, leader.fence,
                               (struct cv_text){leader.has_value ? leader.value : NULL, leader.value_length});
    while (shown && !error) {
        const int result = conclave_next_event(session, &event, -1);
        if (result == 1 && event.kind == CONCLAVE_EVENT_LEADER)
            shown = show(hold, event.leader, event.fence,
                         (struct cv_text){event.has_value ? event.value : NULL, event.value_length});
        else if (result < 0)
            error = result;
    }
    if (error && !code)
        code = hold_explain(session, cv_brief(hold->name).text, error);
    conclave_close(session);
    if (!shown && !code)
        command_refuse("standard output: %s", strerror(errno));
    return code ? code : HOLD_TROUBLE;
}

int command_elect(int argc, char **argv)
{
    struct hold hold = {.campaign = true};
    int code;
    if (!hold_read(&elect_options, argc, argv, &hold, &code))
        return code;
    if (hold.observe && !hold.command)
        return observe(&hold);
    if (!hold.observe && !hold.json && hold.command) {
        if (!hold.value || strlen(hold.value) <= CONCLAVE_VALUE_BYTES)
            return hold_run(&hold);
        command_refuse("--value of %zu bytes: expected at most %d", strlen(hold.value), CONCLAVE_VALUE_BYTES);
        return HOLD_TROUBLE;
    }
    command_refuse("elect %s: expected -- and a COMMAND, or --observe without one; see conclave elect --help",
                   cv_brief(hold.name).text);
    return HOLD_TROUBLE;
}
