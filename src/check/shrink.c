// SPDX-License-Identifier: MIT
#include "check/shrink.h"

#include <stdlib.h>
#include <string.h>

#include "check/replay.h"

/* A longer trail, as a depth-first search finds them, is shortened by large blocks first. */
#define LONG 64u
/* The most decisions to replay. */
#define MOST_EFFORT 30000000u

bool shrink_confirms(const struct cv_scenario *scenario, const struct cv_check_options *options,
                     const struct cv_trail *trail, const char *property, struct cv_finding *finding)
{
    struct cv_replay *replay = NULL;
    struct cv_complaint complaint;
    struct cv_judgement judgement = {0};
    struct cv_run run;
    bool violated = false;
    int error = cv_replay_new(&replay, scenario, options, NULL);
    if (!error)
        error = cv_replay_run(replay, trail, &run, &complaint);
    if (!error)
        error = cv_judge(&run, &judgement, &complaint);
    for (uint32_t i = 0; i < judgement.finding_count && !error && !violated; i++)
        if (strcmp(judgement.findings[i].name, property) == 0) {
            violated = judgement.findings[i].verdict == CV_VIOLATED;
            *finding = judgement.findings[i];
        }
    cv_replay_free(replay);
    return violated;
}

/* Copies a trail without `count` decisions from `from` on. */
static void copy_without(const struct cv_trail *trail, uint64_t from, uint64_t count, struct cv_trail *shorter)
{
    const uint64_t after = trail->count - from - count;
    memcpy(shorter->decisions, trail->decisions, from * sizeof *trail->decisions);
    memcpy(shorter->decisions + from, trail->decisions + from + count, after * sizeof *trail->decisions);
    shorter->count = from + after;
}

/* One pass from the end to the beginning that removes blocks of decisions. True if the trail is shorter. */
static bool shrink_by(const struct cv_scenario *scenario, const struct cv_check_options *options, const char *property,
                      struct cv_trail *trail, struct cv_trail *shorter, uint64_t block, uint64_t *effort)
{
    const uint64_t before = trail->count;
    struct cv_finding finding;
    for (uint64_t from = trail->count; from >= block && *effort < MOST_EFFORT;) {
        from -= block;
        copy_without(trail, from, block, shorter);
        *effort += shorter->count;
        if (!shrink_confirms(scenario, options, shorter, property, &finding))
            continue;
        memcpy(trail->decisions, shorter->decisions, shorter->count * sizeof *shorter->decisions);
        trail->count = shorter->count;
    }
    return trail->count < before;
}

int shrink_trail(const struct cv_scenario *scenario, const struct cv_check_options *options, const char *property,
                 struct cv_trail *trail)
{
    struct cv_trail shorter = {.decisions = malloc((trail->count + 1) * sizeof *trail->decisions), .loop = CV_NEVER};
    uint64_t effort = 0;
    if (!shorter.decisions)
        return CV_ENOMEM;
    if (trail->loop == CV_NEVER) {
        for (uint64_t block = trail->count > LONG ? trail->count / 2 : 1; block > 1; block /= 2)
            shrink_by(scenario, options, property, trail, &shorter, block, &effort);
        while (shrink_by(scenario, options, property, trail, &shorter, 1, &effort))
            ;
    }
    free(shorter.decisions);
    return 0;
}
