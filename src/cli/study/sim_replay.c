// SPDX-License-Identifier: MIT
/* `conclave sim --replay FILE`: plays a counterexample of the checker and shows it like any other run. */
#include "cli/study/sim_replay.h"

#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/study/replay_file.h"
#include "cli/study/sim_outputs.h"
#include "show/text/report.h"

static void report(const struct sim_request *request, const struct sim_result *result)
{
    const struct cv_report report = {.run = &result->run,
                                     .judgement = &result->judgement,
                                     .command = request->command,
                                     .timed = request->timing,
                                     .colour = command_colour()};
    if (request->json)
        cv_report_json(stdout, &report);
    else
        cv_report_text(stdout, &report);
}

int sim_replay(const struct sim_request *request)
{
    struct cv_complaint complaint = {{0}};
    struct replay_file file;
    struct sim_outputs outputs = {0};
    struct sim_result result = {0};
    struct cv_replay *replay = NULL;
    int error = replay_load(request->replay, &file, &complaint);
    if (!error)
        error = sim_outputs_open(&outputs, request, &file.scenario, &complaint);
    if (!error)
        error = cv_replay_new(&replay, &file.scenario, &file.request.options, &outputs.observer);
    if (!error)
        error = cv_replay_run(replay, &file.trail, &result.run, &complaint);
    if (!error) {
        result.scenario = *result.run.scenario;
        error = cv_judge(&result.run, &result.judgement, &complaint);
    }
    if (!error)
        error = sim_outputs_finish(&outputs, &result, &complaint);
    int code;
    if (error) {
        code = command_fail(error, &complaint);
    } else {
        report(request, &result);
        code = command_exit_code(result.judgement.verdict);
    }
    sim_outputs_close(&outputs);
    cv_replay_free(replay);
    replay_unload(&file);
    return code;
}
