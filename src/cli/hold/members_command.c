// SPDX-License-Identifier: MIT
/* `conclave members`: prints the members of a name, or runs a command while this process is one of them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/hold/hold_json.h"
#include "cli/hold/hold_options.h"
#include "core/parse.h"
#include "core/printable.h"
#include "show/json.h"

#define ANSWER_MS 2000 /* a server that takes longer is suspected */

static const struct option_row rows[] = {
    {"join", NULL, OPTION_SWITCH, offsetof(struct hold, joins), .help = "be a member while COMMAND runs"},
    {"value", "TEXT", OPTION_TEXT, offsetof(struct hold, value),
     .help = "with --join: what others see of this member, such as host:port; at most 1024 bytes"},
    {"watch", NULL, OPTION_SWITCH, offsetof(struct hold, observe), .help = "print the list again whenever it changes"},
    {"json", NULL, OPTION_SWITCH, offsetof(struct hold, json), .help = "print each list as JSON, on a line"},
    HOLD_CLIENT_ROW,
    ASK_SERVER_ROWS(struct hold, server),
    {0},
};

const struct options members_options = {
    .name = "members",
    .failure = HOLD_TROUBLE,
    .usage = "NAME [--watch] [--json] [OPTION...]\n"
             "NAME --join [--value TEXT] [OPTION...] -- COMMAND [ARGUMENT...]",
    .about = "Prints the members of NAME, in the order in which they joined; or runs COMMAND while this process is a "
             "member.",
    .rows = rows,
    .more = "A line has a member's number, its client's name and its value, separated by tabs; - stands for none.\n"
            "Exit codes: 0 printed; with a COMMAND and otherwise as conclave lock.",
    .lenient = true,
    .runs_command = true,
};

static const char *show_text(const struct cv_resp_item *item, char shown[HOLD_SHOWN_BYTES])
{
    cv_show(shown, HOLD_SHOWN_BYTES, item->text);
    return item->kind == CV_RESP_BULK ? shown : "-";
}

/* Starts at NULL if there is none. */
static struct cv_text text_of(const struct cv_resp_item *item)
{
    return item->kind == CV_RESP_BULK ? item->text : (struct cv_text){NULL, 0};
}

/* The array of members. False: standard output is broken. */
static bool show(const struct hold *hold, struct cv_text list)
{
    struct cv_json json = {.out = stdout};
    struct cv_resp_item item, number, client, value;
    char name[HOLD_SHOWN_BYTES], text[HOLD_SHOWN_BYTES];
    cv_resp_next(&list, &item);
    if (hold->json) {
        cv_json_open(&json, NULL, '{');
        cv_json_text(&json, "name", hold->name);
        cv_json_open(&json, "members", '[');
    }
    for (int64_t left = item.number; left > 0; left--) {
        cv_resp_next(&list, &item);
        cv_resp_next(&list, &number);
        cv_resp_next(&list, &client);
        if (!cv_resp_next(&list, &value))
            break;
        if (!hold->json) {
            printf("%" PRId64 "\t%s\t%s\n", number.number, show_text(&client, name), show_text(&value, text));
            continue;
        }
        cv_json_open(&json, NULL, '{');
        cv_json_count(&json, "number", (uint64_t)number.number);
        hold_json(&json, "client", text_of(&client));
        hold_json(&json, "value", text_of(&value));
        cv_json_close(&json, '}');
    }
    if (hold->json) {
        cv_json_close(&json, ']');
        cv_json_close(&json, '}');
        putchar('\n');
    } else if (hold->observe) {
        putchar('\n'); /* lists are paragraphs */
    }
    return fflush(stdout) == 0;
}

static int fail(const struct hold *hold, const char *why)
{
    command_refuse("members %s: %s", cv_brief(hold->name).text, why);
    return HOLD_NO_SERVER;
}

static int fail_to_open(const struct hold *hold, const struct ask *ask)
{
    char why[sizeof ask->why + 32];
    snprintf(why, sizeof why, "no server answers%s%s", *ask->why ? ": " : "", ask->why);
    return fail(hold, why);
}

/* "members", the name, the list. */
static struct cv_text list_of(struct cv_text push)
{
    struct cv_resp_item item;
    cv_resp_next(&push, &item);
    cv_resp_next(&push, &item);
    const bool ours = item.kind == CV_RESP_BULK && cv_text_is(item.text, "members");
    return ours && cv_resp_skip(&push) ? push : (struct cv_text){NULL, 0};
}

/* Until the server or a signal ends it. */
static int print(const struct hold *hold, struct ask *ask)
{
    const char *words[] = {"MEMBERS", hold->name, "WATCH"};
    struct cv_text list;
    if (!ask_words(ask, words, hold->observe ? 3 : 2, ANSWER_MS, &list))
        return fail(hold, "no server answers");
    if (list.start[0] == CV_RESP_ERROR) {
        char why[256];
        snprintf(why, sizeof why, "%.*s", (int)strcspn(list.start + 1, "\r"), list.start + 1);
        return fail(hold, why);
    }
    while (show(hold, list)) {
        if (!hold->observe)
            return EXIT_HELD;
        do
            if (!ask_push(ask, -1, &list))
                return fail(hold, "the server has gone");
        while (!(list = list_of(list)).start);
    }
    command_refuse("standard output: %s", strerror(errno));
    return HOLD_TROUBLE;
}

static int print_members(const struct hold *hold)
{
    struct ask ask = {.fd = -1};
    struct cv_complaint complaint;
    if (ask_with(&hold->server, &complaint)) {
        command_refuse("%s", complaint.text);
        return HOLD_TROUBLE;
    }
    const bool open = ask_open_any(&ask, ask_servers(hold->server.servers), ANSWER_MS);
    const int code = open ? print(hold, &ask) : fail_to_open(hold, &ask);
    ask_close(&ask);
    return code;
}

int command_members(int argc, char **argv)
{
    struct hold hold = {.want.ends_with_session = true};
    int code;
    if (!hold_read(&members_options, argc, argv, &hold, &code))
        return code;
    if (hold.joins && hold.command && !hold.observe && !hold.json &&
        (!hold.value || strlen(hold.value) <= CONCLAVE_VALUE_BYTES))
        return hold_run(&hold);
    if (!hold.joins && !hold.command && !hold.value)
        return print_members(&hold);
    if (hold.value && strlen(hold.value) > CONCLAVE_VALUE_BYTES)
        command_refuse("--value of %zu bytes: expected at most %d", strlen(hold.value), CONCLAVE_VALUE_BYTES);
    else
        command_refuse("members %s: expected --join with -- and a COMMAND, or neither; see conclave members --help",
                       cv_brief(hold.name).text);
    return HOLD_TROUBLE;
}
