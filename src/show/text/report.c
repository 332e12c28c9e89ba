// SPDX-License-Identifier: MIT
#include "show/text/report.h"

#include "core/formula/theory_symbols.h"
#include "core/scenario/label.h"
#include "show/json.h"

/* ---- JSON ---- */

void cv_report_properties(struct cv_json *json, const struct cv_judgement *judgement, const char *unfinished)
{
    cv_json_open(json, "properties", '[');
    for (uint32_t i = 0; i < judgement->finding_count; i++) {
        const struct cv_finding *finding = &judgement->findings[i];
        cv_json_open(json, NULL, '{');
        cv_json_text(json, "name", finding->name);
        cv_json_text(json, "kind", finding->kind);
        cv_json_text(json, "verdict",
                     finding->verdict == CV_UNFINISHED ? unfinished : cv_verdict_name(finding->verdict));
        cv_json_text(json, "detail", finding->detail);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

static void json_elected(struct cv_json *json, const struct cv_run *run)
{
    const struct cv_group *group = &run->scenario->group;
    cv_json_open(json, "elected", '{');
    for (cv_node node = 0; node < group->nodes; node++) {
        const struct cv_standing it = run->standing(run->runtime, node);
        if (it.alive)
            cv_json_numbered(json, group->ids[node], it.knows, it.leader);
    }
    cv_json_close(json, '}');
}

static void json_kinds(struct cv_json *json, const struct cv_run *run, const char *key, uint64_t total, uint32_t from,
                       uint32_t to)
{
    cv_json_open(json, key, '{');
    cv_json_count(json, "total", total);
    cv_json_open(json, "by_kind", '{');
    for (uint32_t kind = from; kind < to; kind++)
        cv_json_count(json, run->scenario->algorithm->kinds[kind].name, run->count[kind]);
    cv_json_close(json, '}');
    cv_json_close(json, '}');
}

static void json_messages(struct cv_json *json, const struct cv_run *run)
{
    const uint32_t all = cv_algorithm_kinds(run->scenario->algorithm);
    const uint32_t counted =
        run->scenario->algorithm->hints.preparing ? run->scenario->algorithm->hints.preparing : all;
    json_kinds(json, run, "messages", run->total, 0, counted);
    if (counted < all)
        json_kinds(json, run, "preparing", run->preparing, counted, all);
}

/* The results of the nodes, if they are numbers: their distances from the source, for example. */
static void json_results(struct cv_json *json, const struct cv_run *run)
{
    const struct cv_group *group = &run->scenario->group;
    const bool distances = cv_scenario_claims(run->scenario) & (CV_SHORTEST_PATHS | CV_FEWEST_HOPS);
    uint64_t updates = 0, most = 0;
    for (cv_node node = 0; node < group->nodes; node++) {
        const uint32_t times = run->standing(run->runtime, node).updates;
        updates += times;
        most = times > most ? times : most;
    }
    if (!distances && !updates)
        return;
    cv_json_open(json, distances ? "distances" : "results", '{');
    for (cv_node node = 0; node < group->nodes; node++) {
        const struct cv_standing it = run->standing(run->runtime, node);
        if (it.alive)
            cv_json_numbered(json, group->ids[node], it.updates > 0, it.result);
    }
    cv_json_close(json, '}');
    cv_json_open(json, "updates", '{');
    cv_json_count(json, "total", updates);
    cv_json_count(json, "most", most);
    cv_json_close(json, '}');
}

static void json_time(struct cv_json *json, const char *key, uint64_t time)
{
    if (time == CV_NEVER)
        cv_json_null(json, key);
    else
        cv_json_count(json, key, time);
}

static void json_entries(struct cv_json *json, const struct cv_run *run)
{
    cv_json_open(json, "entries", '[');
    for (uint64_t i = 0; i < run->entry_count; i++) {
        const struct cv_entry *entry = &run->entries[i];
        cv_json_open(json, NULL, '{');
        cv_json_count(json, "node", run->scenario->group.ids[entry->node]);
        if (run->scenario->names > 1)
            cv_json_count(json, "name", entry->name);
        cv_json_count(json, "requested", entry->requested);
        json_time(json, "entered", entry->entered);
        json_time(json, "left", entry->left);
        if (entry->entered == CV_NEVER)
            cv_json_null(json, "fence");
        else
            cv_json_count(json, "fence", entry->fence);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

static void json_expectation(struct cv_json *json, const char *key, const struct cv_expectation *expected, bool holds)
{
    if (!expected->cost) {
        cv_json_null(json, key);
        return;
    }
    cv_json_open(json, key, '{');
    cv_json_text(json, "case", expected->cost->label);
    cv_json_text(json, "formula", expected->cost->formula);
    cv_json_real(json, "value", expected->value);
    cv_json_text(json, "relation", expected->cost->exact ? "=" : "<=");
    cv_json_truth(json, "holds", holds);
    cv_json_text(json, "source", cv_source_name(expected->cost));
    if (expected->cost->where)
        cv_json_text(json, "where", expected->cost->where);
    else
        cv_json_null(json, "where");
    cv_json_close(json, '}');
}

static void json_transport(struct cv_json *json, const struct cv_report *report)
{
    cv_json_open(json, "transport", '{');
    cv_json_count(json, "packets", report->packets);
    cv_json_count(json, "lost", report->lost);
    cv_json_count(json, "duplicated", report->duplicated);
    cv_json_count(json, "retransmitted", report->retransmitted);
    cv_json_close(json, '}');
}

static void json_shares(struct cv_json *json, const struct cv_report *report)
{
    cv_json_open(json, "shares", '[');
    for (uint32_t i = 0; i < report->part_count; i++) {
        cv_json_open(json, NULL, '{');
        cv_json_count(json, "nodes", report->parts[i].nodes);
        cv_json_count(json, "messages", report->parts[i].messages);
        cv_json_real(json, "waited", report->parts[i].waited);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

void cv_report_json(FILE *out, const struct cv_report *report)
{
    const struct cv_run *run = report->run;
    const struct cv_judgement *judgement = report->judgement;
    struct cv_json json = {.out = out};
    cv_json_open(&json, NULL, '{');
    cv_json_count(&json, "schema", 1);
    const struct cv_algorithm *asked = run->scenario->alone ? run->scenario->app : run->scenario->algorithm;
    cv_json_text(&json, "algorithm", asked->name);
    if (run->scenario->app)
        cv_json_text(&json, "app", run->scenario->app->name);
    cv_json_text(&json, "problem", cv_problem_name(asked->problem));
    cv_json_count(&json, "nodes", run->scenario->group.nodes);
    cv_json_count(&json, "seed", run->scenario->seed);
    cv_json_text(&json, "verdict", cv_verdict_name(judgement->verdict));
    cv_json_text(&json, "reason", judgement->reason);
    cv_report_properties(&json, judgement, cv_verdict_name(CV_UNFINISHED));
    if (judgement->has_leader)
        cv_json_count(&json, "leader", judgement->leader);
    else
        cv_json_null(&json, "leader");
    json_elected(&json, run);
    json_messages(&json, run);
    if (run->real_time)
        cv_json_text(&json, "unit", "ms");
    cv_json_count(&json, "time", run->time);
    if (run->decided == CV_NEVER)
        cv_json_null(&json, "decided");
    else
        cv_json_count(&json, "decided", run->decided);
    json_entries(&json, run);
    if (run->scenario->app)
        cv_json_count(&json, "rounds", cv_run_rounds(run));
    json_results(&json, run);
    cv_json_open(&json, "theory", '{');
    json_expectation(&json, "messages", &judgement->messages, judgement->messages_hold);
    json_expectation(&json, "delay", &judgement->delay, judgement->delay_holds);
    cv_json_close(&json, '}');
    if (report->transport)
        json_transport(&json, report);
    cv_json_text(&json, "command", report->command);
    if (report->timed)
        cv_json_real(&json, "seconds", report->seconds);
    if (report->timed && report->parts)
        json_shares(&json, report);
    cv_json_close(&json, '}');
    putc('\n', out);
}

/* ---- text ---- */

static bool is_preparing(const struct cv_algorithm *algorithm, uint32_t kind)
{
    return algorithm->hints.preparing && kind >= algorithm->hints.preparing;
}

static const char *paint(const struct cv_report *report, enum cv_verdict verdict)
{
    static const char *const colours[] = {"\033[32m", "\033[31m", "\033[33m", "\033[2m"};
    return report->colour ? colours[verdict] : "";
}

static const char *plain(const struct cv_report *report)
{
    return report->colour ? "\033[0m" : "";
}

/* Between real processes, times are milliseconds. */
static const char *unit(const struct cv_run *run)
{
    return run->real_time ? " ms" : "";
}

static void text_leader(FILE *out, const struct cv_run *run, const struct cv_judgement *judgement)
{
    const struct cv_group *group = &run->scenario->group;
    if (judgement->has_leader) {
        fprintf(out, "leader    %s", cv_name_of(run->scenario, judgement->leader).text);
        if (run->decided == CV_NEVER)
            fputs(", not announced to all\n", out);
        else
            fprintf(out, ", known to all at time %llu%s\n", (unsigned long long)run->decided, unit(run));
        return;
    }
    fprintf(out, "leader    none that all agree on:");
    uint32_t shown = 0;
    for (cv_node node = 0; node < group->nodes && shown < 16; node++) {
        const struct cv_standing it = run->standing(run->runtime, node);
        if (!it.alive)
            continue;
        shown++;
        if (it.knows)
            fprintf(out, " %s→%s", cv_name(run->scenario, node).text, cv_name_of(run->scenario, it.leader).text);
        else
            fprintf(out, " %s→?", cv_name(run->scenario, node).text);
    }
    fprintf(out, "%s\n", shown == 16 ? " …" : "");
}

static bool comes_before(const struct cv_entry *one, const struct cv_entry *other)
{
    return one->entered < other->entered || (one->entered == other->entered && one < other);
}

/* Lists the entries, in their order. */
static void text_entries(FILE *out, const struct cv_run *run)
{
    uint64_t served = 0, shown = 0;
    const struct cv_entry *last = NULL;
    for (uint64_t i = 0; i < run->entry_count; i++)
        served += run->entries[i].entered != CV_NEVER;
    fprintf(out, "entries   %llu of %llu request%s", (unsigned long long)served, (unsigned long long)run->entry_count,
            run->entry_count == 1 ? "" : "s");
    for (; shown < served && shown < 12; shown++) {
        const struct cv_entry *next = NULL;
        for (uint64_t i = 0; i < run->entry_count; i++) {
            const struct cv_entry *entry = &run->entries[i];
            if (entry->entered != CV_NEVER && (!last || comes_before(last, entry)) &&
                (!next || comes_before(entry, next)))
                next = entry;
        }
        fprintf(out, "%s %s at %llu%s", shown ? "," : ":", cv_name(run->scenario, next->node).text,
                (unsigned long long)next->entered, unit(run));
        last = next;
    }
    fprintf(out, "%s\n", shown < served ? " …" : "");
    if (run->views)
        fprintf(out, "views     %llu change%s", (unsigned long long)run->views, run->views == 1 ? "" : "s");
    if (run->views && !run->real_time) /* between processes no messages of the algorithms' elect a coordinator */
        fprintf(out, ", %llu messages to elect coordinators", (unsigned long long)run->election_messages);
    fputs(run->views ? "\n" : "", out);
}

/* Prints how many rounds there were, and the results. */
static void text_results(FILE *out, const struct cv_run *run)
{
    const struct cv_group *group = &run->scenario->group;
    uint32_t shown = 0;
    if (run->scenario->app)
        fprintf(out, "rounds    %llu of %llu of %s\n", (unsigned long long)cv_run_rounds(run),
                (unsigned long long)group->rounds, run->scenario->app->title);
    cv_node most = 0;
    for (cv_node node = 0; node < group->nodes; node++) {
        const struct cv_standing it = run->standing(run->runtime, node);
        if (it.updates > run->standing(run->runtime, most).updates)
            most = node;
        if (!it.updates || ++shown > 16)
            continue;
        fprintf(out, "%s%s:%llu", shown == 1 ? "results   " : "  ", cv_name(run->scenario, node).text,
                (unsigned long long)it.result);
    }
    if (shown)
        fputs(shown > 16 ? " …\n" : "\n", out);
    const uint32_t updates = run->standing(run->runtime, most).updates;
    if (updates > 1)
        fprintf(out, "updates   at most %u, of node %s\n", updates, cv_name(run->scenario, most).text);
}

static void text_cost(FILE *out, const struct cv_expectation *expected, bool holds)
{
    if (expected->cost)
        fprintf(out, "; %s: %s%s = %.10g (%s)%s", cv_source_phrase(expected->cost),
                expected->cost->exact ? "" : "at most ", expected->cost->formula, expected->value,
                expected->cost->label, holds ? "" : ", NOT MET");
    putc('\n', out);
}

/* The variables of the two formulas, each once. */
static void text_symbols(FILE *out, const struct cv_algorithm *algorithm, const struct cv_judgement *judgement)
{
    char formulas[300], text[600];
    const struct cv_cost *costs[] = {judgement->messages.cost, judgement->delay.cost};
    snprintf(formulas, sizeof formulas, "(%s) + (%s)", costs[0] ? costs[0]->formula : "0",
             costs[1] ? costs[1]->formula : "0");
    cv_theory_symbols(algorithm, formulas, text, sizeof text);
    if (*text)
        fprintf(out, "where     %s\n", text);
}

static void text_properties(FILE *out, const struct cv_report *report)
{
    for (uint32_t i = 0; i < report->judgement->finding_count; i++) {
        const struct cv_finding *finding = &report->judgement->findings[i];
        fprintf(out, "  %s%-10s%s  %s%s%s\n", paint(report, finding->verdict), cv_verdict_name(finding->verdict),
                plain(report), finding->name, *finding->detail ? ": " : "", finding->detail);
    }
}

/* How evenly the work was shared out: the least and the most of any worker, and the time that it waited for others. */
static void text_shares(FILE *out, const struct cv_report *report)
{
    const struct cv_report_part *part = report->parts;
    struct cv_report_part least = part[0], most = part[0];
    double waited = 0;
    for (uint32_t i = 0; i < report->part_count; i++) {
        least.nodes = part[i].nodes < least.nodes ? part[i].nodes : least.nodes;
        least.messages = part[i].messages < least.messages ? part[i].messages : least.messages;
        most.nodes = part[i].nodes > most.nodes ? part[i].nodes : most.nodes;
        most.messages = part[i].messages > most.messages ? part[i].messages : most.messages;
        waited += part[i].waited;
    }
    fprintf(
        out,
        "shares    %u workers, of %llu to %llu nodes and %llu to %llu messages; %.0f %% of their time they waited\n",
        report->part_count, (unsigned long long)least.nodes, (unsigned long long)most.nodes,
        (unsigned long long)least.messages, (unsigned long long)most.messages,
        report->seconds > 0 ? 100 * waited / report->part_count / report->seconds : 0);
}

void cv_report_text(FILE *out, const struct cv_report *report)
{
    const struct cv_run *run = report->run;
    const struct cv_judgement *judgement = report->judgement;
    const struct cv_algorithm *algorithm = run->scenario->algorithm;
    const uint32_t nodes = run->scenario->group.nodes;
    const char *noun = run->real_time ? nodes == 1 ? "process" : "processes" : nodes == 1 ? "node" : "nodes";
    fprintf(out, "%s, %u %s, seed %llu\n", algorithm->title, nodes, noun, (unsigned long long)run->scenario->seed);
    if (algorithm->problem == CV_MUTEX)
        text_entries(out, run);
    if (algorithm->problem == CV_SYNCHRONIZER || algorithm->problem == CV_PATHS)
        text_results(out, run);
    if (cv_scenario_claims(run->scenario) & CV_AGREEMENT)
        text_leader(out, run, judgement);
    fprintf(out, "messages  %llu", (unsigned long long)run->total);
    for (uint32_t kind = 0; algorithm->kinds[kind].name && !is_preparing(algorithm, kind); kind++)
        fprintf(out, "%s%s %llu", kind ? ", " : " (", algorithm->kinds[kind].name,
                (unsigned long long)run->count[kind]);
    fputs(")", out);
    text_cost(out, &judgement->messages, judgement->messages_hold || run->ending != CV_QUIET);
    for (uint32_t kind = algorithm->hints.preparing; kind && algorithm->kinds[kind].name; kind++)
        fprintf(out, "%s%s %llu%s", kind == algorithm->hints.preparing ? "before    " : ", ",
                algorithm->kinds[kind].name, (unsigned long long)run->count[kind],
                algorithm->kinds[kind + 1].name ? "" : "; counted apart\n");
    fprintf(out, "time      %llu%s", (unsigned long long)run->time, unit(run));
    text_cost(out, &judgement->delay, judgement->delay_holds || run->ending != CV_QUIET);
    text_symbols(out, algorithm, judgement);
    if (report->transport)
        fprintf(out, "packets   %llu, %llu lost, %llu doubled, %llu sent again\n", (unsigned long long)report->packets,
                (unsigned long long)report->lost, (unsigned long long)report->duplicated,
                (unsigned long long)report->retransmitted);
    fprintf(out, "verdict   %s%s%s%s%s\n", paint(report, judgement->verdict), cv_verdict_name(judgement->verdict),
            plain(report), *judgement->reason ? ": " : "", judgement->reason);
    text_properties(out, report);
    if (report->timed)
        fprintf(out, "seconds   %.3f, %.1f million messages a second\n", report->seconds,
                report->seconds > 0 ? (double)run->total / report->seconds / 1e6 : 0);
    if (report->timed && report->parts)
        text_shares(out, report);
    fprintf(out, "again     %s\n", report->command);
}
