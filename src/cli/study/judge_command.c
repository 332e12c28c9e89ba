// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/study/plugin.h"
#include "cli/study/recording_run.h"
#include "core/formula/theory_symbols.h"
#include "core/parse.h"
#include "core/printable.h"
#include "show/history.h"
#include "show/json.h"
#include "show/output.h"
#include "show/svg/svg.h"
#include "show/text/diagram.h"
#include "show/text/report.h"

struct request {
    const char *name, *svg;
    bool json, diagram;
    struct plugin_list own;
    struct recording recording;
    enum cv_verdict verdict; /* the worst of all */
};

static int take_own(void *request, const char *path, struct cv_complaint *complaint)
{
    return plugin_add(&((struct request *)request)->own, path, complaint);
}

#define FIELD(member) offsetof(struct request, member)

static const struct option_row rows[] = {
    {"name", "NAME", OPTION_TEXT, FIELD(name), .help = "judge this name only"},
    {"json", NULL, OPTION_SWITCH, FIELD(json), .help = "print JSON"},
    {"diagram", NULL, OPTION_SWITCH, FIELD(diagram), .help = "draw each run (with --name)"},
    {"svg", "FILE", OPTION_TEXT, FIELD(svg), .help = "write each run as SVG (with --name)"},
    {"with", "FILE", OPTION_TAKE, 0,
     .help = "an algorithm of your own that was recorded, in C or a shared object; repeatable", .take = take_own,
     .repeats = true},
    {0},
};

const struct options judge_options = {
    .name = "judge",
    .usage = "[OPTION...] FILE...",
    .about = "Judges what live nodes have recorded, one file for each node: every name by the claims of "
             "its algorithm, by the texts' formulas where they apply, and by the promises to clients.",
    .rows = rows,
    .more = "Exit codes: 0 held, 1 violated, 2 wrong usage or nothing can be said.",
    .lenient = true,
};

/* The index of the first file; 0: end with *code. */
static int read_options(struct request *request, int argc, char **argv, int *code)
{
    const int next = options_take(&judge_options, argc, argv, request, code);
    if (next == argc)
        *code = command_refuse("judge: expected the files that nodes recorded; see conclave judge --help");
    else if (next && (request->svg || request->diagram) && !request->name)
        *code = command_refuse("%s: expected with --name", request->svg ? "--svg" : "--diagram");
    else
        return next;
    return 0;
}

/* ---- output ---- */

static uint64_t entered(const struct cv_run *run)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < run->entry_count; i++)
        count += run->entries[i].entered != CV_NEVER;
    return count;
}

static void write_json(struct cv_json *json, const struct recording_story *story, const struct cv_judgement *judgement,
                       bool clients)
{
    const struct cv_run *run = &story->run;
    cv_json_open(json, NULL, '{');
    cv_json_text(json, "subject", story->subject);
    cv_json_text(json, "name", story->name);
    cv_json_text(json, "algorithm", story->algorithm->name);
    cv_json_text(json, "of", clients ? "clients" : "nodes");
    cv_json_text(json, "verdict", cv_verdict_name(judgement->verdict));
    cv_json_text(json, "reason", judgement->reason);
    cv_report_properties(json, judgement, cv_verdict_name(CV_UNFINISHED));
    cv_json_count(json, "entries", entered(run));
    cv_json_open(json, "messages", '{');
    cv_json_count(json, "total", run->total);
    cv_json_open(json, "by_kind", '{');
    for (uint32_t kind = 0; !clients && kind < cv_algorithm_kinds(story->algorithm); kind++)
        cv_json_count(json, story->algorithm->kinds[kind].name, run->count[kind]);
    cv_json_close(json, '}');
    cv_json_close(json, '}');
    cv_json_close(json, '}');
}

static void write_line(const struct recording_story *story, const struct cv_judgement *judgement, bool clients)
{
    const struct cv_run *run = &story->run;
    const bool election = story->algorithm->problem == CV_ELECTION;
    const struct cv_expectation *expected = &judgement->messages;
    char *what = NULL;
    char name[48] = "";
    cv_show_line(name, sizeof name, cv_text(story->name));
    if (asprintf(&what, "%s%s%s", story->subject, *name ? " " : "", name) < 0)
        return;
    printf("%-10s %-28s %-16s", cv_verdict_name(judgement->verdict), what,
           clients ? "its clients" : story->algorithm->name);
    free(what);
    if (clients)
        printf(" %llu grants", (unsigned long long)entered(run));
    else if (election)
        printf(" %llu calls, %llu messages", (unsigned long long)run->calls, (unsigned long long)run->total);
    else
        printf(" %llu entries, %llu messages", (unsigned long long)entered(run), (unsigned long long)run->total);
    if (expected->cost)
        printf(", %s: %s%s = %.10g", cv_source_phrase(expected->cost), expected->cost->exact ? "" : "at most ",
               expected->cost->formula, expected->value);
    if (judgement->verdict != CV_HELD)
        printf("; %s", judgement->reason);
    printf("\n");
}

/* ---- pictures ---- */

static int draw(const struct request *request, struct recording_story *story, const struct cv_judgement *judgement)
{
    struct cv_history history;
    struct cv_output svg = {0};
    struct cv_complaint complaint;
    const struct cv_diagram_options look = {.width = command_width(), .colour = command_colour()};
    const uint64_t first = story->count ? story->events[0].time : 0;
    int error = cv_history_init(&history, request->recording.nodes);
    for (size_t i = 0; !error && i < story->count; i++) {
        struct cv_event event = story->events[i];
        event.time -= first;
        if (!event.content)
            event.message = 0;
        cv_history_event(&history, &event);
    }
    if (!error && history.out_of_memory)
        error = CV_ENOMEM;
    if (!error && request->diagram)
        error = cv_diagram_write(stdout, &story->scenario, &history, &look);
    if (!error && request->svg)
        error = cv_output_open(&svg, request->svg, &complaint);
    if (!error && request->svg)
        error = cv_svg_write(svg.file, &story->run, judgement, &history, false);
    if (!error && request->svg)
        error = cv_output_commit(&svg, &complaint);
    cv_output_abort(&svg);
    cv_history_free(&history);
    return error ? command_fail(error, &complaint) : EXIT_HELD;
}

/* ---- judging ---- */

static void weigh(struct request *request, enum cv_verdict verdict)
{
    if (verdict == CV_VIOLATED || (verdict == CV_UNFINISHED && request->verdict == CV_HELD))
        request->verdict = verdict;
}

static int judge_story(struct request *request, struct cv_json *json, struct recording_story *story, bool clients)
{
    struct cv_judgement judgement;
    struct cv_complaint complaint;
    int error = recording_tell(&request->recording, story, clients);
    if (!error)
        error = cv_judge(&story->run, &judgement, &complaint);
    if (error)
        return command_fail(error, &complaint);
    weigh(request, judgement.verdict);
    if (request->json)
        write_json(json, story, &judgement, clients);
    else
        write_line(story, &judgement, clients);
    return (request->diagram || request->svg) && !clients ? draw(request, story, &judgement) : EXIT_HELD;
}

/* ---- gaps of the recording ---- */

static bool has_no_end(const struct recording *recording, cv_node node)
{
    const struct recording_node *it = &recording->known[node];
    return it->recorded && !it->ended && !it->gone;
}

static void write_ids(struct cv_json *json, const char *key, const struct recording *recording,
                      bool (*wanted)(const struct recording *recording, cv_node node))
{
    cv_json_open(json, key, '[');
    for (cv_node node = 0; node < recording->nodes; node++)
        if (wanted(recording, node))
            cv_json_count(json, NULL, recording->ids[node]);
    cv_json_close(json, ']');
}

static void write_gaps(const struct recording *recording)
{
    char what[32];
    for (cv_node node = 0; node < recording->nodes; node++) {
        snprintf(what, sizeof what, "node %u", recording->ids[node]);
        if (recording_lacks(recording, node))
            printf("%-10s %-28s its file is missing: expected those of all nodes\n", "unfinished", what);
        else if (has_no_end(recording, node))
            printf("%-10s %-28s its end was not recorded: it still runs, or was killed\n", "unfinished", what);
    }
}

static void report_gaps(const struct request *request, struct cv_json *json)
{
    if (request->json) {
        write_ids(json, "missing", &request->recording, recording_lacks);
        write_ids(json, "without_end", &request->recording, has_no_end);
    } else {
        write_gaps(&request->recording);
    }
}

static int judge_all(struct request *request)
{
    struct cv_json json = {.out = stdout};
    uint64_t judged = 0;
    int code = EXIT_HELD;
    if (request->json) {
        cv_json_open(&json, NULL, '{');
        cv_json_count(&json, "schema", 1);
        cv_json_count(&json, "views", request->recording.views);
        cv_json_open(&json, "names", '[');
    }
    for (size_t i = 0; code == EXIT_HELD && i < request->recording.story_count; i++) {
        struct recording_story *story = request->recording.stories[i];
        if (request->name && strcmp(request->name, story->name) != 0)
            continue;
        judged++;
        code = judge_story(request, &json, story, false);
        if (code == EXIT_HELD && story->grant_count)
            code = judge_story(request, &json, story, true);
    }
    if (request->recording.missing || request->recording.endless)
        weigh(request, CV_UNFINISHED);
    if (request->json)
        cv_json_close(&json, ']');
    report_gaps(request, &json);
    if (request->json) {
        cv_json_text(&json, "verdict", cv_verdict_name(request->verdict));
        cv_json_close(&json, '}');
        putchar('\n');
    }
    if (code == EXIT_HELD && request->name && !judged)
        return command_refuse("--name %s: no such name was recorded", cv_brief(request->name).text);
    return code == EXIT_HELD ? command_exit_code(request->verdict) : code;
}

int command_judge(int argc, char **argv)
{
    struct request request = {.verdict = CV_HELD};
    struct cv_complaint complaint;
    int code = EXIT_HELD;
    const int first = read_options(&request, argc, argv, &code);
    if (!first)
        return code;
    request.recording.own = request.own.algorithms;
    request.recording.own_count = request.own.count;
    for (int i = first; code == EXIT_HELD && i < argc; i++) {
        const int error = recording_read(&request.recording, argv[i], &complaint);
        code = error ? command_fail(error, &complaint) : EXIT_HELD;
    }
    recording_close(&request.recording);
    if (code == EXIT_HELD)
        code = judge_all(&request);
    recording_free(&request.recording);
    return code;
}
