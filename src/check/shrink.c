// SPDX-License-Identifier: MIT
#include "check/shrink.h"

#include <stdlib.h>
#include <string.h>

#include "check/replay.h"

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

int shrink_trail(const struct cv_scenario *scenario, const struct cv_check_options *options, const char *property,
                 struct cv_trail *trail)
{
    struct cv_finding finding;
    struct cv_trail shorter = {.decisions = malloc((trail->count + 1) * sizeof *trail->decisions), .loop = CV_NEVER};
    if (!shorter.decisions)
        return CV_ENOMEM;
    for (bool changed = trail->loop == CV_NEVER; changed;) {
        changed = false;
        for (uint64_t left_out = trail->count; left_out-- > 0;) {
            shorter.count = 0;
            for (uint64_t i = 0; i < trail->count; i++)
                if (i != left_out)
                    shorter.decisions[shorter.count++] = trail->decisions[i];
            if (!shrink_confirms(scenario, options, &shorter, property, &finding))
                continue;
            memcpy(trail->decisions, shorter.decisions, shorter.count * sizeof *shorter.decisions);
            trail->count = shorter.count;
            changed = true;
        }
    }
    free(shorter.decisions);
    return 0;
}
