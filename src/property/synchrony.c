// SPDX-License-Identifier: MIT
/*
 * What a synchronizer must achieve: its app cannot tell the network from a synchronous one. The judge looks at the
 * rounds, and compares the states at the end with those of the app on a synchronous network.
 */
#include "property/synchrony.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/scenario/label.h"
#include "core/scenario/synchronous_run.h"

static struct cv_name name_of(const struct cv_run *run, cv_node node)
{
    return cv_name(run->scenario, node);
}

static void judge_whole_rounds(const struct cv_run *run, struct cv_judgement *judgement)
{
    const struct cv_slip *slip = &run->hasty;
    struct cv_finding *finding = cv_find(judgement, CV_PROPERTY_WHOLE_ROUNDS, slip->count ? CV_VIOLATED : CV_HELD);
    if (slip->count)
        snprintf(finding->detail, sizeof finding->detail,
                 "node %s began round %llu at time %llu, with messages of round %llu still on their way; %llu time%s",
                 name_of(run, slip->node).text, (unsigned long long)slip->round, (unsigned long long)slip->time,
                 (unsigned long long)slip->round - 1, (unsigned long long)slip->count, slip->count == 1 ? "" : "s");
}

static void judge_close_rounds(const struct cv_run *run, struct cv_judgement *judgement)
{
    const struct cv_slip *slip = &run->apart;
    struct cv_finding *finding = cv_find(judgement, CV_PROPERTY_CLOSE_ROUNDS, slip->count ? CV_VIOLATED : CV_HELD);
    if (slip->count)
        snprintf(finding->detail, sizeof finding->detail,
                 "at time %llu node %s began round %llu, more than one apart from its neighbour %s",
                 (unsigned long long)slip->time, name_of(run, slip->node).text, (unsigned long long)slip->round,
                 name_of(run, slip->other).text);
}

/* The first live node that has not finished all rounds, or CV_NOBODY. */
static cv_node find_straggler(const struct cv_run *run)
{
    for (cv_node node = 0; node < run->scenario->group.nodes; node++)
        if (run->standing(run->runtime, node).alive && run->round(run->runtime, node) <= run->scenario->group.rounds)
            return node;
    return CV_NOBODY;
}

static bool judge_every_round(const struct cv_run *run, struct cv_judgement *judgement)
{
    const cv_node straggler = find_straggler(run);
    const bool done = straggler == CV_NOBODY;
    struct cv_finding *finding = cv_find(judgement, CV_PROPERTY_EVERY_ROUND, done ? CV_HELD : verdict_if_missing(run));
    if (!done)
        snprintf(finding->detail, sizeof finding->detail, "node %s is in round %llu of %llu",
                 name_of(run, straggler).text, (unsigned long long)run->round(run->runtime, straggler),
                 (unsigned long long)run->scenario->group.rounds);
    return done;
}

static void judge_states(const struct cv_run *run, const struct cv_lockstep *reference, bool done,
                         struct cv_judgement *judgement)
{
    cv_node deviating = CV_NOBODY;
    for (cv_node node = 0; done && deviating == CV_NOBODY && node < run->scenario->group.nodes; node++)
        if (run->standing(run->runtime, node).alive &&
            memcmp(run->app_state(run->runtime, node), reference->states + reference->places[node],
                   reference->places[node + 1] - reference->places[node]) != 0)
            deviating = node;
    const enum cv_verdict verdict = reference->chose         ? CV_DISCLAIMED
                                    : !done                  ? verdict_if_missing(run)
                                    : deviating == CV_NOBODY ? CV_HELD
                                                             : CV_VIOLATED;
    struct cv_finding *finding = cv_find(judgement, CV_PROPERTY_LIKE_SYNCHRONOUS, verdict);
    if (reference->chose)
        snprintf(finding->detail, sizeof finding->detail, "it makes random choices");
    else if (!done)
        snprintf(finding->detail, sizeof finding->detail, "not every node has finished its rounds");
    else if (deviating != CV_NOBODY)
        snprintf(finding->detail, sizeof finding->detail, "node %s ends in another state than on a synchronous network",
                 name_of(run, deviating).text);
}

int judge_synchronizer(const struct cv_run *run, struct cv_judgement *judgement)
{
    struct cv_lockstep reference = {0};
    judge_whole_rounds(run, judgement);
    judge_close_rounds(run, judgement);
    const bool done = judge_every_round(run, judgement);
    /* A run that was given up may have too many rounds left to play them. */
    const int error = done ? cv_lockstep_run(&reference, run->scenario) : 0;
    judgement->app_messages = reference.messages;
    if (!error)
        judge_states(run, &reference, done, judgement);
    cv_lockstep_free(&reference);
    return error;
}
