// SPDX-License-Identifier: MIT
/* `conclave leader`: prints what the leader of an election publishes. */
#include "cli/hold/leader_command.h"

#include <stdio.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/hold/hold_json.h"
#include "cli/hold/hold_options.h"
#include "core/parse.h"
#include "core/printable.h"
#include "core/wall_clock.h"
#include "show/json.h"

static const struct option_row rows[] = {
    {"wait", "TIME", OPTION_TAKE, 0, .help = "until somebody leads, for this time at most (do not wait)",
     .take = hold_take_wait},
    {"json", NULL, OPTION_SWITCH, offsetof(struct hold, json), .help = "print name, leader, fence and value as JSON"},
    ASK_SERVER_ROWS(struct hold, server),
    {0},
};

const struct options leader_options = {
    .name = "leader",
    .failure = HOLD_TROUBLE,
    .usage = "NAME [OPTION...]",
    .about = "Prints the value that the leader of the election NAME publishes, such as its address; without a value, "
             "its node and session.",
    .rows = rows,
    .more = "TIME is in seconds, or has a unit: 250ms, 10s, 5m, 1h.\n"
            "Exit codes: 0 somebody leads; 1 nobody does; 123 no server or no majority; 124 waited too long; 125 wrong "
            "usage, or a failure of conclave itself.",
    .lenient = true,
    .runs_command = true, /* a command is refused, and the name is read as theirs is */
};

void leader_json(const char *name, const char *leader, uint64_t fence, struct cv_text value)
{
    struct cv_json json = {.out = stdout};
    cv_json_open(&json, NULL, '{');
    cv_json_text(&json, "name", name);
    cv_json_text(&json, "leader", *leader ? leader : NULL);
    cv_json_count(&json, "fence", fence);
    hold_json(&json, "value", value);
    cv_json_close(&json, '}');
    putchar('\n');
}

/* Waits for the next leader; 0, or an error. */
static int await_leader(struct conclave *session, const struct hold *hold, struct conclave_leader *leader)
{
    const int64_t until_ms = cv_boot_ms() + (int64_t)hold->want.wait_ms;
    struct conclave_event event;
    int error = conclave_observe(session, hold->name, leader);
    while (!error && !*leader->leader) {
        const int64_t left_ms = until_ms - cv_boot_ms();
        if (left_ms <= 0)
            return CONCLAVE_TIMEOUT;
        const int result = conclave_next_event(session, &event, left_ms < INT32_MAX ? (int)left_ms : INT32_MAX);
        error = result < 0 ? result : 0;
        if (result == 1 && event.kind == CONCLAVE_EVENT_LEADER && *event.leader)
            error = conclave_who_leads(session, hold->name, leader);
    }
    return error;
}

/* A value that makes one harmless line is printed as it is. The other form could be a value, too, so it is told. */
static void show_value(const struct hold *hold, struct cv_text value)
{
    char shown[HOLD_SHOWN_BYTES];
    const size_t plain = cv_show_line(shown, sizeof shown, value);
    if (plain == value.length && memcmp(shown, value.start, plain) == 0) {
        puts(shown);
        return;
    }
    cv_show(shown, sizeof shown, value);
    puts(shown);
    fflush(stdout);
    fprintf(stderr,
            "conclave: election %s: the value is no harmless line of text, so some bytes are shown as \\x1b or "
            "\\u202e, and a backslash as two; --json has the value itself\n",
            cv_brief(hold->name).text);
}

static int show(const struct hold *hold, const struct conclave_leader *leader)
{
    const struct cv_text value = {leader->has_value ? leader->value : NULL, leader->value_length};
    if (hold->json)
        leader_json(hold->name, leader->leader, leader->fence, value);
    else if (*leader->leader && value.start)
        show_value(hold, value);
    else if (*leader->leader)
        puts(cv_brief(leader->leader).text);
    else
        command_refuse("election %s: nobody leads", cv_brief(hold->name).text);
    return *leader->leader ? EXIT_HELD : EXIT_VIOLATED;
}

int command_leader(int argc, char **argv)
{
    struct hold hold = {0};
    struct conclave *session;
    struct conclave_leader leader;
    int code;
    if (!hold_read(&leader_options, argc, argv, &hold, &code))
        return code;
    if (hold.command) {
        command_refuse("leader %s: expected nothing after it, and not '%s'", cv_brief(hold.name).text,
                       cv_brief(hold.command[0]).text);
        return HOLD_TROUBLE;
    }
    code = hold_open(&session, &hold);
    if (!code) {
        const int error =
            hold.want.wait_ms ? await_leader(session, &hold, &leader) : conclave_who_leads(session, hold.name, &leader);
        if (error == CONCLAVE_TIMEOUT) {
            command_refuse("election %s: waited too long for a leader", cv_brief(hold.name).text);
            code = HOLD_TIMEOUT;
        } else {
            code = error ? hold_explain(session, cv_brief(hold.name).text, error) : show(&hold, &leader);
        }
    }
    conclave_close(session);
    return code;
}
