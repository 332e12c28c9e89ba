// SPDX-License-Identifier: MIT
/* `conclave sim --replay FILE`: plays a counterexample of the checker, or a story of the explorer, and shows it
 * like any other run. */
#include "cli/study/sim_replay.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/study/plugin.h"
#include "cli/study/replay_file.h"
#include "cli/study/sim_outputs.h"
#include "explore/explored_judge.h"
#include "explore/explored_story.h"
#include "guard/guarded.h"
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

/* What is played: a counterexample of the checker, or a story that the explorer alone can play. */
struct played {
    char *text; /* of the file */
    struct replay_file file;
    struct cv_replay *replay;
    struct cv_story *story;
};

static char *read_file(void *context, const char *option, const char *path, struct cv_complaint *complaint)
{
    (void)context;
    return command_read_file(option, path, complaint);
}

static int load(const char *path, struct played *played, struct cv_complaint *complaint)
{
    static const struct word_sources sources = {.find = plugin_find, .read = read_file};
    played->text = command_read_file("--replay", path, complaint);
    if (!played->text)
        return CV_EFILE;
    return cv_story_is(played->text) ? cv_story_load(&played->story, played->text, &sources, complaint)
                                     : replay_load(path, &played->file, complaint);
}

static int play(struct played *played, const struct sim_outputs *outputs, struct sim_result *result,
                struct cv_complaint *complaint)
{
    int error;
    if (played->story) {
        error = cv_story_tell(played->story, &outputs->observer);
        explored_run(&played->story->world, &result->run);
    } else {
        error =
            cv_replay_new(&played->replay, &played->file.scenario, &played->file.request.options, &outputs->observer);
        if (!error)
            error = cv_replay_run(played->replay, &played->file.trail, &result->run, complaint);
    }
    if (error)
        return error;
    result->scenario = *result->run.scenario;
    return cv_judge(&result->run, &result->judgement, complaint);
}

int sim_replay(const struct sim_request *request)
{
    struct cv_complaint complaint = {{0}};
    struct played played = {0};
    struct sim_outputs outputs = {0};
    struct sim_result result = {0};
    cv_failure_ignore();
    int error = load(request->replay, &played, &complaint);
    struct sim_request shown = *request;
    shown.replay_text = played.text;
    if (!error)
        error = sim_outputs_open(&outputs, &shown, played.story ? &played.story->words.scenario : &played.file.scenario,
                                 &complaint);
    if (!error)
        error = play(&played, &outputs, &result, &complaint);
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
    cv_replay_free(played.replay);
    cv_story_free(played.story);
    replay_unload(&played.file);
    free(played.text);
    return code;
}
