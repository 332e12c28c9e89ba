// SPDX-License-Identifier: MIT
#include "cli/study/check_report.h"

#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "explore/decision_text.h"
#include "show/json.h"
#include "show/text/report.h"

/* ---- JSON ---- */

static void json_decision(struct cv_json *json, const struct cv_scenario *scenario, const struct cv_trail *trail,
                          uint64_t index)
{
    const struct cv_decision *decision = &trail->decisions[index];
    cv_json_open(json, NULL, '{');
    cv_json_count(json, "step", index + 1);
    cv_json_text(json, "decision", decision_name(decision->type));
    cv_json_count(json, "node", scenario->group.ids[decision->node]);
    if (decision->peer != CV_NOBODY)
        cv_json_count(json, "peer", scenario->group.ids[decision->peer]);
    if (decision->type == CV_DECIDE_TIMEOUT)
        cv_json_text(json, "timer", scenario->algorithm->timers[decision->which]);
    if (decision->sent != CV_WHOLE)
        cv_json_count(json, "dies_after", decision->sent);
    if (index >= trail->loop)
        cv_json_truth(json, "repeats", true);
    cv_json_close(json, '}');
}

/* ---- assumptions ---- */

#define MOST_UNMET 8u

/* Lists the assumptions of the algorithm that this check does not keep; returns how many. */
static uint32_t unmet_assumptions(const struct check_report *report, const char *unmet[MOST_UNMET])
{
    const uint32_t assumes = report->scenario->algorithm->assumes;
    const struct cv_check_options *options = &report->request->options;
    const bool unordered = report->scenario->unordered;
    const struct {
        bool wanted;
        uint32_t assumption;
        const char *text;
    } every[MOST_UNMET] = {
        {options->crashes, CV_NO_CRASH, "no node dies"},
        {options->recoveries, CV_NO_RECOVERY, "no node comes back from a crash"},
        {options->cuts, CV_RELIABLE, "no message is lost"},
        {unordered, CV_FIFO, "messages stay in order"},
        {unordered && options->recoveries, CV_FIFO_RECOVERY, "messages stay in order if a node comes back"},
        {options->any_time || options->delay > report->scenario->group.bound, CV_BOUNDED_DELAY,
         "messages do not take longer than its timeouts allow"},
        {options->suspicions || options->missed, CV_DETECTOR, "its failure detector makes no mistakes"},
    };
    uint32_t count = 0;
    for (uint32_t i = 0; i < MOST_UNMET; i++)
        if (every[i].wanted && assumes & every[i].assumption)
            unmet[count++] = every[i].text;
    return count;
}

/* Is there a checkpoint of a check that is not finished? */
static bool can_go_on(const struct check_report *report)
{
    return !report->result->complete && report->result->judgement.verdict == CV_UNFINISHED &&
           report->request->checkpoint.exists;
}

void check_report_json(FILE *out, const struct check_report *report)
{
    const struct cv_check_result *result = report->result;
    const struct cv_judgement *judgement = &result->judgement;
    struct cv_json json = {.out = out};
    cv_json_open(&json, NULL, '{');
    cv_json_count(&json, "schema", 1);
    cv_json_text(&json, "algorithm", report->scenario->algorithm->name);
    if (report->scenario->app) {
        cv_json_text(&json, "app", report->scenario->app->name);
        cv_json_count(&json, "rounds", report->scenario->group.rounds);
    }
    cv_json_count(&json, "nodes", report->scenario->group.nodes);
    cv_json_count(&json, "arrangements", report->request->arrangement);
    cv_json_text(&json, "verdict", cv_verdict_name(judgement->verdict));
    cv_json_truth(&json, "complete", result->complete);
    cv_json_count(&json, "states", result->states);
    cv_json_count(&json, "transitions", result->transitions);
    cv_json_count(&json, "depth", result->depth);
    cv_json_real(&json, "seconds", result->seconds);
    cv_json_count(&json, "bytes", result->bytes);
    if (report->request->options.disk)
        cv_json_count(&json, "disk_bytes", result->disk_bytes);
    cv_report_properties(&json, judgement, cv_verdict_name(CV_UNFINISHED));
    if (judgement->verdict == CV_VIOLATED && result->trail.count) {
        cv_json_open(&json, "counterexample", '[');
        for (uint64_t i = 0; i < result->trail.count; i++)
            json_decision(&json, report->scenario, &result->trail, i);
        cv_json_close(&json, ']');
    } else {
        cv_json_null(&json, "counterexample");
    }
    cv_json_open(&json, "ids", '[');
    for (cv_node node = 0; node < report->scenario->group.nodes; node++)
        cv_json_count(&json, NULL, report->scenario->group.ids[node]);
    cv_json_close(&json, ']');
    const char *unmet[MOST_UNMET];
    const uint32_t unmet_count = unmet_assumptions(report, unmet);
    cv_json_open(&json, "outside", '[');
    for (uint32_t i = 0; i < unmet_count; i++)
        cv_json_text(&json, NULL, unmet[i]);
    cv_json_close(&json, ']');
    cv_json_text(&json, "command", report->request->command);
    if (can_go_on(report))
        cv_json_text(&json, "resume", report->request->go_on);
    cv_json_close(&json, '}');
    putc('\n', out);
}

/* ---- text ---- */

static const char *paint(enum cv_verdict verdict)
{
    static const char *const colours[] = {"\033[32m", "\033[31m", "\033[33m", "\033[2m"};
    return command_colour() ? colours[verdict] : "";
}

static const char *plain(void)
{
    return command_colour() ? "\033[0m" : "";
}

static void count_of(FILE *out, uint32_t count, const char *one, const char *many)
{
    if (count)
        fprintf(out, ", %u %s", count, count == 1 ? one : many);
}

static void text_setting(FILE *out, const struct check_report *report)
{
    const struct cv_check_options *options = &report->request->options;
    const struct cv_scenario *scenario = report->scenario;
    fprintf(out, "%s, %u node%s", scenario->algorithm->title, scenario->group.nodes,
            scenario->group.nodes == 1 ? "" : "s");
    if (scenario->app) {
        fprintf(out, ", hosting %s", scenario->app->title);
        count_of(out, (uint32_t)scenario->group.rounds, "round", "rounds");
    }
    if (scenario->algorithm->problem == CV_MUTEX)
        count_of(out, (uint32_t)scenario->entries, "entry each", "entries each");
    count_of(out, options->crashes, "crash", "crashes");
    count_of(out, options->missed, "of them missed", "of them missed");
    count_of(out, options->suspicions, "false suspicion", "false suspicions");
    count_of(out, options->recoveries, "recovery", "recoveries");
    count_of(out, options->cuts, "cut", "cuts");
    if (options->any_time)
        fputs(", timeouts at any time", out);
    if (options->delay)
        fprintf(out, ", delays of at most %u", options->delay);
    if (scenario->unordered)
        fputs(", messages overtake each other", out);
    if (report->request->arrangement_count > 1)
        fprintf(out, ", %llu arrangements of ids", (unsigned long long)report->request->arrangement_count);
    putc('\n', out);
}

/* Prints the arrangement of the counterexample, and how many were tried. */
static void text_arrangement(FILE *out, const struct check_report *report)
{
    const struct check_request *request = report->request;
    const struct cv_check_result *result = report->result;
    const struct cv_group *group = &report->scenario->group;
    if (request->arrangement_count == 1 || (result->complete && !result->trail.count))
        return;
    fprintf(out, "ids       arrangement %llu", (unsigned long long)request->arrangement);
    for (cv_node node = 0; node < group->nodes; node++)
        fprintf(out, "%s%u", node ? "," : ": --ids ", group->ids[node]);
    putc('\n', out);
}

static void text_assumptions(FILE *out, const struct check_report *report)
{
    const char *unmet[MOST_UNMET];
    const uint32_t count = unmet_assumptions(report, unmet);
    for (uint32_t i = 0; i < count; i++)
        fprintf(out, "note      the algorithm assumes that %s\n", unmet[i]);
}

/* Does the check break an assumption of the algorithm? A broken promise of the algorithm counts in any case. */
static bool is_outside(const struct check_report *report)
{
    const char *unmet[MOST_UNMET];
    return unmet_assumptions(report, unmet) && report->result->judgement.verdict == CV_VIOLATED &&
           !report->result->broken_promise;
}

static void text_verdict(FILE *out, const struct check_report *report)
{
    const struct cv_check_result *result = report->result;
    const struct cv_judgement *judgement = &result->judgement;
    fprintf(out, "verdict   %s%s%s", paint(judgement->verdict), cv_verdict_name(judgement->verdict), plain());
    if (judgement->verdict == CV_UNFINISHED)
        fprintf(out, ": explored %llu states, unfinished (%s%s%s)", (unsigned long long)result->states, result->stopped,
                result->disk_error ? ": " : "", result->disk_error ? strerror(result->disk_error) : "");
    const char *before = is_outside(report) ? ", outside of what it assumes: " : ": ";
    for (uint32_t i = 0; i < judgement->finding_count; i++)
        if (judgement->findings[i].verdict == CV_VIOLATED) {
            fprintf(out, "%s%s: %s", before, judgement->findings[i].name, judgement->findings[i].detail);
            before = "; ";
        }
    putc('\n', out);
    for (uint32_t i = 0; i < judgement->finding_count; i++) {
        const struct cv_finding *finding = &judgement->findings[i];
        fprintf(out, "  %s%-10s%s  %s%s%s\n", paint(finding->verdict), cv_verdict_name(finding->verdict), plain(),
                finding->name, *finding->detail ? ": " : "", finding->detail);
    }
}

void check_report_text(FILE *out, const struct check_report *report)
{
    const struct cv_check_result *result = report->result;
    text_setting(out, report);
    text_arrangement(out, report);
    fprintf(out, "states    %llu%s, %llu transitions, depth %u\n", (unsigned long long)result->states,
            result->reduced ? " (reduced)" : "", (unsigned long long)result->transitions, result->depth);
    fprintf(out, "cost      %.2f s, %.2f million states a second, %.1f MB, %.0f bytes a state\n", result->seconds,
            result->seconds > 0 ? (double)result->states / result->seconds / 1e6 : 0, (double)result->bytes / 1e6,
            result->states ? (double)result->bytes / (double)result->states : 0);
    if (report->request->options.disk)
        fprintf(out, "disk      %.1f MB at most in %s\n", (double)result->disk_bytes / 1e6,
                report->request->options.disk);
    fprintf(out, "chance    %.1g that two states had one fingerprint of %s bits\n", result->collision,
            report->request->options.wide ? "128" : "64");
    text_assumptions(out, report);
    if (*result->promise && !(result->broken_promise && !report->request->options.property))
        fprintf(out, "note      %s; it was not relied on\n", result->promise);
    text_verdict(out, report);
    if (result->trail.count && report->request->replay)
        fprintf(out, "replay    conclave sim --replay %s --diagram\n", report->request->replay);
    else if (result->trail.count)
        fputs("replay    --trace FILE keeps it for conclave sim --replay FILE\n", out);
    fprintf(out, "again     %s\n", report->request->command);
    if (can_go_on(report))
        fprintf(out, "go on     %s\n", report->request->go_on);
}
