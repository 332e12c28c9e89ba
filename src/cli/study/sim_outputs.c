// SPDX-License-Identifier: MIT
#include "cli/study/sim_outputs.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "show/history.h"
#include "show/output.h"
#include "show/shiviz.h"
#include "show/svg/svg.h"
#include "show/text/diagram.h"
#include "show/text/states.h"
#include "show/text/transcript.h"
#include "show/trace.h"

/* The outputs of a run. Traces are written during the run, pictures are drawn from the history at the end. */
struct sim_listeners {
    const struct sim_request *request;
    struct cv_output trace_file, shiviz_file, svg_file;
    struct cv_trace trace;
    struct cv_shiviz shiviz;
    struct cv_history history;
    bool remembers;
};

static void hear(void *context, const struct cv_event *event)
{
    struct sim_listeners *listeners = context;
    if (listeners->trace_file.file)
        cv_trace_event(&listeners->trace, event);
    if (listeners->shiviz_file.file)
        cv_shiviz_event(&listeners->shiviz, event);
    if (listeners->remembers)
        cv_history_event(&listeners->history, event);
}

static void see(void *context, const struct cv_snapshot *snapshot)
{
    struct sim_listeners *listeners = context;
    if (listeners->trace_file.file)
        cv_trace_state(&listeners->trace, snapshot);
    if (listeners->remembers)
        cv_history_state(&listeners->history, snapshot);
}

/* Two outputs under one name would overwrite each other. */
static int check_names(const struct sim_request *request, struct cv_complaint *complaint)
{
    const struct {
        const char *option, *name;
    } files[] = {{"--trace", request->trace}, {"--svg", request->svg}, {"--shiviz", request->shiviz}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (size_t j = 0; j < i; j++)
            if (files[i].name && files[j].name && strcmp(files[i].name, files[j].name) == 0)
                return cv_complain(complaint, "%s %s: %s writes to it already", files[i].option, files[i].name,
                                   files[j].option);
    return 0;
}

bool sim_outputs_wanted(const struct sim_request *request)
{
    return request->trace || request->svg || request->shiviz || request->diagram || request->transcript;
}

int sim_outputs_open(struct sim_outputs *outputs, const struct sim_request *request, const struct cv_scenario *scenario,
                     struct cv_complaint *complaint)
{
    if (!sim_outputs_wanted(request))
        return 0;
    int error = check_names(request, complaint);
    if (error)
        return error;
    struct sim_listeners *listeners = calloc(1, sizeof *listeners);
    if (!listeners)
        return CV_ENOMEM;
    outputs->listeners = listeners;
    outputs->observer = (struct cv_observer){hear, listeners, see};
    listeners->request = request;
    listeners->remembers = request->svg || request->diagram || request->transcript;
    if (request->trace)
        error = cv_output_open(&listeners->trace_file, request->trace, complaint);
    if (!error && request->shiviz)
        error = cv_output_open(&listeners->shiviz_file, request->shiviz, complaint);
    if (!error && request->svg)
        error = cv_output_open(&listeners->svg_file, request->svg, complaint);
    const struct cv_trace_source source = {&request->words, &request->plan, request->replay_text};
    if (!error && request->trace)
        error = cv_trace_begin(&listeners->trace, listeners->trace_file.file, scenario, &source);
    if (!error && request->shiviz)
        error = cv_shiviz_begin(&listeners->shiviz, listeners->shiviz_file.file, scenario, complaint);
    if (!error && listeners->remembers)
        error = cv_history_init(&listeners->history, scenario->group.nodes);
    if (!error && listeners->remembers)
        error = cv_history_watch(&listeners->history, scenario);
    return error;
}

static int draw(struct sim_listeners *listeners, const struct sim_result *result)
{
    const struct sim_request *request = listeners->request;
    const struct cv_history *history = &listeners->history;
    const struct cv_diagram_options options = {
        .width = command_width(), .colour = command_colour(), .states = request->states};
    int error = listeners->remembers && history->out_of_memory ? CV_ENOMEM : 0;
    if (!error && request->transcript)
        error = cv_transcript_write(stdout, &result->scenario, history, request->states);
    if (!error && request->diagram)
        error = cv_diagram_write(stdout, &result->scenario, history, &options);
    if (!error && (request->transcript || request->diagram))
        putchar('\n');
    if (!error && (request->last_states || (request->states && (request->transcript || request->diagram)))) {
        cv_states_write(stdout, &result->scenario, history);
        putchar('\n');
    }
    if (!error && request->svg)
        error = cv_svg_write(listeners->svg_file.file, &result->run, &result->judgement, history, request->states);
    return error;
}

int sim_outputs_finish(struct sim_outputs *outputs, const struct sim_result *result, struct cv_complaint *complaint)
{
    struct sim_listeners *listeners = outputs->listeners;
    if (!listeners)
        return 0;
    int error = draw(listeners, result);
    if (!error && listeners->trace_file.file)
        error = cv_trace_end(&listeners->trace, &result->run, &result->judgement);
    if (!error && listeners->shiviz_file.file)
        error = cv_shiviz_end(&listeners->shiviz);
    if (!error)
        error = cv_output_commit(&listeners->trace_file, complaint);
    if (!error)
        error = cv_output_commit(&listeners->shiviz_file, complaint);
    if (!error)
        error = cv_output_commit(&listeners->svg_file, complaint);
    return error;
}

void sim_outputs_close(struct sim_outputs *outputs)
{
    struct sim_listeners *listeners = outputs->listeners;
    if (!listeners)
        return;
    cv_trace_end(&listeners->trace, NULL, NULL);
    cv_shiviz_end(&listeners->shiviz);
    cv_history_free(&listeners->history);
    cv_output_abort(&listeners->trace_file);
    cv_output_abort(&listeners->shiviz_file);
    cv_output_abort(&listeners->svg_file);
    free(listeners);
    *outputs = (struct sim_outputs){0};
}
