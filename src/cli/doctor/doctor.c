// SPDX-License-Identifier: MIT
#include "cli/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/command.h"
#include "cli/doctor/doctor_group.h"
#include "cli/doctor/doctor_nodes.h"
#include "core/printable.h"
#include "show/json.h"

#define SECOND_LOOK_NS 700000000L /* long enough for a view to begin */

struct request {
    struct conclave_options server;
    char *addresses; /* all of them, separated by commas */
    struct doctor_limits limits;
    uint64_t held_s;
    bool json;
};

/* ---- options ---- */

static int take_address(void *context, const char *address, struct cv_complaint *complaint)
{
    struct request *request = context;
    char *all = NULL;
    if (!*address)
        return cv_complain(complaint, "--connect: expected host:port or the path of a socket");
    if (asprintf(&all, "%s%s%s", request->addresses ? request->addresses : "", request->addresses ? "," : "", address) <
        0)
        return CV_ENOMEM;
    free(request->addresses);
    request->addresses = all;
    return 0;
}

#define FIELD(member) offsetof(struct request, member)

static const struct option_row rows[] = {
    {"connect", "ADDRESS", OPTION_TAKE, 0,
     .help = "ask this node, too; repeatable. Members with a client address in [members] are found",
     .take = take_address, .repeats = true},
    {"waiting", "N", OPTION_NUMBER, FIELD(limits.waiting),
     .help = "warn if so many clients wait for one name at a node (100)", .most = UINT32_MAX},
    {"held", "SECONDS", OPTION_NUMBER, FIELD(held_s), .help = "warn if a lock is held longer (3600)",
     .most = UINT32_MAX},
    {"json", NULL, OPTION_SWITCH, FIELD(json), .help = "print JSON"},
    ASK_SERVER_ROWS(struct request, server),
    {0},
};

const struct options doctor_options = {
    .name = "doctor",
    .usage = "[OPTION...]",
    .about = "Asks every member of a cluster, and explains what is wrong and what to do, the most severe "
             "first. It looks twice before it reports a problem, so that a change of view is no alarm.",
    .rows = rows,
    .more = "Exit codes: 0 healthy, 1 not, 2 wrong usage, or no node can be asked.",
    .no_words = true,
    .lenient = true,
};

/* False: the command ends with *code. */
static bool read_options(struct request *request, int argc, char **argv, int *code)
{
    struct cv_complaint complaint;
    if (!options_take(&doctor_options, argc, argv, request, code))
        return false;
    request->limits.hold_ms = request->held_s * 1000;
    int error = ask_with(&request->server, &complaint);
    if (!error && (request->server.servers || !request->addresses))
        error = take_address(request, ask_servers(request->server.servers), &complaint);
    if (error)
        *code = command_fail(error, &complaint);
    return !error;
}

/* ---- findings ---- */

void doctor_find(struct doctor_report *report, const char *check, enum doctor_severity severity, const char *remedy,
                 const char *format, ...)
{
    struct doctor_finding *findings = realloc(report->findings, (report->count + 1) * sizeof *findings);
    va_list arguments;
    if (!findings)
        command_out_of_memory();
    report->findings = findings;
    struct doctor_finding finding = {.check = check, .severity = severity, .remedy = remedy};
    va_start(arguments, format);
    if (vasprintf(&finding.text, format, arguments) < 0)
        command_out_of_memory();
    va_end(arguments);
    /* The most severe first; equal ones stay in the order of the checks. */
    size_t place = report->count++;
    for (; place > 0 && findings[place - 1].severity < severity; place--)
        findings[place] = findings[place - 1];
    findings[place] = finding;
    report->healthy &= severity == DOCTOR_WELL;
}

static void examine(const struct doctor_group *group, const struct doctor_limits *limits, struct doctor_report *report)
{
    doctor_check *const *const rooms[] = {doctor_group_checks, doctor_node_checks};
    *report = (struct doctor_report){.healthy = true};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        for (doctor_check *const *check = rooms[i]; *check; check++)
            (*check)(group, limits, report);
}

static void discharge(struct doctor_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        free(report->findings[i].text);
    free(report->findings);
    *report = (struct doctor_report){0};
}

/* ---- for people ---- */

/* Prints which members hear each other, a row for each member that answers. */
static void show_matrix(const struct doctor_group *group)
{
    bool any = false;
    for (uint32_t i = 0; i < group->count; i++)
        for (uint32_t j = 0; j < group->members[i].seen; j++)
            any |= group->members[i].sees[j].suspected;
    if (!any)
        return;
    printf("\nwho hears whom (x: not)\n%8s", "");
    for (uint32_t j = 0; j < group->count; j++)
        printf(" %6lld", (long long)group->members[j].id);
    putchar('\n');
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *observer = &group->members[i];
        printf("%8lld", (long long)observer->id);
        for (uint32_t j = 0; j < group->count; j++) {
            const struct doctor_sight *sight = doctor_sees(observer, group->members[j].id);
            printf(" %6s", i == j ? "-" : !sight ? "?" : sight->suspected ? "x" : "yes");
        }
        putchar('\n');
    }
}

static void show(const struct doctor_group *group, const struct doctor_report *report)
{
    static const char *const names[] = {"ok", "warning", "problem"}, *const colours[] = {"\033[32m", "\033[33m",
                                                                                         "\033[31m"};
    const bool colour = command_colour();
    puts(report->healthy ? "healthy" : "not healthy");
    for (size_t i = 0; i < report->count; i++) {
        const struct doctor_finding *it = &report->findings[i];
        char text[4096]; /* it quotes text from nodes */
        cv_show_line(text, sizeof text, cv_text(it->text));
        printf("%s%-8s%s %s: %s\n", colour ? colours[it->severity] : "", names[it->severity], colour ? "\033[0m" : "",
               it->check, text);
        if (it->remedy)
            printf("         what to do: %s\n", it->remedy);
    }
    show_matrix(group);
    if (command_interrupted)
        puts("\ninterrupted: not all were asked");
}

/* ---- for programs ---- */

static void write_members(struct cv_json *json, const struct doctor_group *group)
{
    cv_json_open(json, "members", '[');
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        cv_json_open(json, NULL, '{');
        cv_json_count(json, "id", (uint64_t)it->id);
        cv_json_text(json, "address", *it->address ? it->address : NULL);
        cv_json_truth(json, "answers", it->answers);
        cv_json_open(json, "suspects", '[');
        for (uint32_t j = 0; j < it->seen; j++)
            if (it->sees[j].suspected)
                cv_json_count(json, NULL, (uint64_t)it->sees[j].id);
        cv_json_close(json, ']');
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

static void write_json(const struct doctor_group *group, const struct doctor_report *report)
{
    static const char *const names[] = {"ok", "warning", "problem"};
    struct cv_json json = {.out = stdout};
    cv_json_open(&json, NULL, '{');
    cv_json_count(&json, "schema", 1);
    cv_json_truth(&json, "healthy", report->healthy);
    cv_json_open(&json, "findings", '[');
    for (size_t i = 0; i < report->count; i++) {
        const struct doctor_finding *it = &report->findings[i];
        cv_json_open(&json, NULL, '{');
        cv_json_text(&json, "check", it->check);
        cv_json_text(&json, "severity", names[it->severity]);
        cv_json_text(&json, "text", it->text);
        cv_json_text(&json, "remedy", it->remedy);
        cv_json_close(&json, '}');
    }
    cv_json_close(&json, ']');
    write_members(&json, group);
    cv_json_close(&json, '}');
    putchar('\n');
}

/* ---- the visit ---- */

static bool look(const struct request *request, struct doctor_group *group, struct doctor_report *report)
{
    *report = (struct doctor_report){0};
    if (!doctor_gather(group, request->addresses))
        return false;
    examine(group, &request->limits, report);
    return true;
}

static int explain(const struct request *request, const struct doctor_group *group)
{
    const char *why =
        group->dead_end_count ? group->dead_ends[group->dead_end_count - 1].why : "expected host:port or a path";
    if (*group->refusal)
        return command_refuse("%s: %s", request->addresses, group->refusal);
    return command_refuse("%s: no node answers%s%s", request->addresses, *why ? ": " : "", why);
}

static int visit(const struct request *request, struct doctor_group *group)
{
    struct doctor_report report;
    bool told = look(request, group, &report);
    if (told && !report.healthy && !command_interrupted) {
        discharge(&report);
        doctor_free(group);
        nanosleep(&(struct timespec){0, SECOND_LOOK_NS}, NULL);
        told = look(request, group, &report);
    }
    if (!told)
        return explain(request, group);
    if (request->json)
        write_json(group, &report);
    else
        show(group, &report);
    const int code = report.healthy ? EXIT_HELD : EXIT_VIOLATED;
    discharge(&report);
    return code;
}

int command_doctor(int argc, char **argv)
{
    struct request request = {.held_s = 3600, .limits.waiting = 100};
    struct doctor_group *group = calloc(1, sizeof *group);
    if (!group)
        return command_fail(CV_ENOMEM, NULL);
    int code;
    if (read_options(&request, argc, argv, &code)) {
        command_catch_signals();
        code = visit(&request, group);
        doctor_free(group);
    }
    free(request.addresses);
    free(group);
    return code;
}
