// SPDX-License-Identifier: MIT
/* `conclave run`: an algorithm between real processes, with the report of the simulator. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/study/run_place.h"
#include "cli/study/sim_outputs.h"
#include "core/wall_clock.h"
#include "show/text/report.h"

static void report(const struct run_request *request, const struct sim_result *result)
{
    char *command = sim_command(&request->sim, request->sim.plan.seed);
    const struct cv_report report = {.run = &result->run,
                                     .judgement = &result->judgement,
                                     .command = command,
                                     .timed = request->sim.timing,
                                     .seconds = result->seconds,
                                     .colour = command_colour()};
    if (request->sim.json)
        cv_report_json(stdout, &report);
    else
        cv_report_text(stdout, &report);
    free(command);
}

static int run_once(const struct run_request *request, struct run_places *places)
{
    struct cv_complaint complaint = {{0}};
    struct sim_result result = {0};
    struct sim_outputs outputs = {0};
    struct cv_experiment_options options = {.interrupted = &command_interrupted};
    struct cv_experiment *experiment = NULL;
    int error = run_build(request, &result.scenario, &options, &complaint);
    if (!error)
        error = sim_outputs_open(&outputs, &request->sim, &result.scenario, &complaint);
    options.observer = outputs.observer;
    if (!error)
        error = run_places_start(places, request, &options, &complaint);
    const double started = cv_wall_seconds();
    if (!error)
        error = cv_experiment_run(&experiment, &result.scenario, &options, &result.run, &complaint);
    result.seconds = cv_wall_seconds() - started;
    if (!error)
        error = cv_judge(&result.run, &result.judgement, &complaint);
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
    cv_experiment_free(experiment);
    free((void *)(uintptr_t)options.pauses);
    sim_result_free(&result);
    return code;
}

int command_run(int argc, char **argv)
{
    struct run_request request;
    struct cv_complaint complaint = {{0}};
    struct run_places places = {.ranks.connection = -1};
    int code;
    if (run_ranks_serve(&places, &code))
        return code;
    const int error = run_read(argc, argv, &request, &complaint);
    if (options_settled(&run_options, error, request.sim.help, &complaint, &code)) {
        if (request.place) {
            code = run_place_serve(STDIN_FILENO, STDOUT_FILENO);
        } else {
            command_catch_signals();
            code = run_once(&request, &places);
        }
    }
    run_places_end(&places);
    run_free(&request);
    return code;
}
