// SPDX-License-Identifier: MIT
#include "property/property.h"

#include <stdio.h>
#include <string.h>

#include "core/formula/theory_symbols.h"
#include "core/scenario/label.h"
#include "property/election.h"
#include "property/mutex.h"
#include "property/paths.h"
#include "property/synchrony.h"

const char *cv_verdict_name(enum cv_verdict verdict)
{
    static const char *const names[] = {"held", "violated", "unfinished", "disclaimed"};
    return names[verdict];
}

struct cv_finding cv_finding_of(enum cv_property_number property, enum cv_verdict verdict)
{
    const struct cv_property *row = cv_property(property);
    return (struct cv_finding){.name = row->name, .kind = row->kind, .verdict = verdict};
}

struct cv_finding *cv_find(struct cv_judgement *judgement, enum cv_property_number property, enum cv_verdict verdict)
{
    assert(judgement->finding_count < CV_MAX_FINDINGS);
    struct cv_finding *finding = &judgement->findings[judgement->finding_count++];
    *finding = cv_finding_of(property, verdict);
    return finding;
}

enum cv_verdict verdict_if_missing(const struct cv_run *run)
{
    return run->ending == CV_QUIET || run->ending == CV_REPEATS ? CV_VIOLATED : CV_UNFINISHED;
}

static void judge_invariant(const struct cv_run *run, struct cv_judgement *judgement)
{
    if (!run->checked)
        return;
    struct cv_finding *finding = cv_find(judgement, CV_PROPERTY_INVARIANT, run->broken ? CV_VIOLATED : CV_HELD);
    if (run->broken)
        snprintf(finding->detail, sizeof finding->detail, "at time %llu on node %s: %s",
                 (unsigned long long)run->broken_time, cv_name(run->scenario, run->broken_node).text, run->broken);
}

/* The formulas count whole entries and rounds. If one is unfinished, there is nothing to compare. */
static bool all_served(const struct cv_run *run)
{
    if (run->scenario->app && cv_run_rounds(run) < run->scenario->group.rounds)
        return false;
    for (uint64_t i = 0; i < run->entry_count; i++)
        if (run->entries[i].entered == CV_NEVER)
            return false;
    return true;
}

static int judge_cost(const struct cv_run *run, enum cv_measure measure, uint64_t measured,
                      struct cv_judgement *judgement, struct cv_complaint *complaint)
{
    struct cv_expectation *expected = measure == CV_MESSAGES ? &judgement->messages : &judgement->delay;
    bool *holds = measure == CV_MESSAGES ? &judgement->messages_hold : &judgement->delay_holds;
    if (!all_served(run))
        return 0;
    const int error = cv_theory_expect(run->scenario, judgement->app_messages, measure, expected, complaint);
    if (error || !expected->cost)
        return error;
    *holds = expected->cost->exact ? (double)measured == expected->value : (double)measured <= expected->value;
    const enum cv_verdict verdict = run->ending != CV_QUIET ? CV_UNFINISHED : *holds ? CV_HELD : CV_VIOLATED;
    struct cv_finding *finding = cv_find(
        judgement, measure == CV_MESSAGES ? CV_PROPERTY_TEXTBOOK_MESSAGES : CV_PROPERTY_TEXTBOOK_DELAY, verdict);
    snprintf(finding->detail, sizeof finding->detail, "%llu, %s: %s%s = %.10g", (unsigned long long)measured,
             cv_source_phrase(expected->cost), expected->cost->exact ? "" : "at most ", expected->cost->formula,
             expected->value);
    return 0;
}

/* The time at which a run was given up: the end of its time, possibly long after the last event. */
static uint64_t given_up(const struct cv_run *run)
{
    const uint64_t until = run->scenario->until;
    return until > run->now && until < CV_NEVER - 1 ? until : run->now;
}

static void say_why(const struct cv_run *run, struct cv_judgement *judgement, const struct cv_finding *worst)
{
    size_t used = 0;
    if (worst)
        used = (size_t)snprintf(judgement->reason, sizeof judgement->reason, "%s%s%s", worst->name,
                                *worst->detail ? ": " : "", worst->detail);
    if (used >= sizeof judgement->reason)
        return;
    char *rest = judgement->reason + used;
    const size_t room = sizeof judgement->reason - used;
    const char *join = used ? "; " : "";
    if (run->ending == CV_REPEATS)
        snprintf(rest, room, "%sthe run repeats itself every %llu ticks", join, (unsigned long long)run->period);
    else if (run->ending == CV_OUT_OF_TIME)
        snprintf(rest, room, "%sgiven up at time %llu", join, (unsigned long long)given_up(run));
    else if (run->ending == CV_INTERRUPTED)
        snprintf(rest, room, "%sinterrupted at time %llu", join, (unsigned long long)run->now);
    else if (run->ending == CV_UNRECORDED)
        snprintf(rest, room, "%sthe end was not recorded", join);
}

/* A violation before the end stands, even if the end is right. */
static void judge_seen(const struct cv_run *run, struct cv_judgement *judgement)
{
    for (uint32_t i = 0; run->seen && i < judgement->finding_count; i++)
        if (strcmp(judgement->findings[i].name, run->seen->name) == 0)
            judgement->findings[i] = *run->seen;
}

int cv_judge(const struct cv_run *run, struct cv_judgement *judgement, struct cv_complaint *complaint)
{
    *judgement = (struct cv_judgement){0};
    int error = 0;
    const uint32_t problem = run->scenario->algorithm->problem, claims = cv_scenario_claims(run->scenario);
    if (problem == CV_MUTEX)
        error = cv_judge_mutex(run, judgement);
    if (problem == CV_SYNCHRONIZER)
        error = judge_synchronizer(run, judgement);
    if (!error && (problem == CV_ELECTION || claims & CV_AGREEMENT))
        error = cv_judge_election(run, judgement);
    if (!error && claims & (CV_SHORTEST_PATHS | CV_FEWEST_HOPS))
        error = judge_paths(run, judgement);
    judge_invariant(run, judgement);
    judge_seen(run, judgement);
    if (!error && !run->unmeasured)
        error = judge_cost(run, CV_MESSAGES, run->total, judgement, complaint);
    if (!error && !run->unmeasured && !run->real_time)
        error = judge_cost(run, CV_DELAY, run->time, judgement, complaint);

    const struct cv_finding *worst = NULL;
    judgement->verdict = CV_HELD;
    for (uint32_t i = 0; i < judgement->finding_count; i++) {
        const struct cv_finding *finding = &judgement->findings[i];
        const bool worse = (finding->verdict == CV_VIOLATED && judgement->verdict != CV_VIOLATED) ||
                           (finding->verdict == CV_UNFINISHED && judgement->verdict == CV_HELD);
        const bool tells_more = worst && finding->verdict == judgement->verdict && !*worst->detail && *finding->detail;
        if (worse || tells_more) {
            worst = finding;
            judgement->verdict = finding->verdict;
        }
    }
    if (judgement->verdict != CV_HELD)
        say_why(run, judgement, worst);
    return error;
}
