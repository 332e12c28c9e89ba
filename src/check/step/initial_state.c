// SPDX-License-Identifier: MIT
#include "check/step/initial_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "check/step/runner.h"

static int begin_node(struct model *model, struct runner *runner, cv_node node, uint32_t *state)
{
    struct node_state *node_state = calloc(1, node_state_bytes(&model->setting, node));
    if (!node_state)
        return CV_ENOMEM;
    if (!runner_begin(runner, node_state, node)) {
        snprintf(model->begin_failure, sizeof model->begin_failure, "%s", runner->failure.text);
        free(node_state);
        return CV_EINPUT;
    }
    state[node] = model_add_node_state(model, node_state);
    free(node_state);
    for (struct promise_test *test = model->promise_tests; test; test = test->next)
        if (test->begin)
            test->begin(test, runner, state[node]);
    for (size_t at = 0; at < runner->self.used;) {
        const struct cv_message *message = (const void *)(runner->self.outbox + at);
        at += cv_message_bytes(message);
        const uint32_t slot = model_channel(model, message->from, message->to);
        state[slot] = model_put(model, state[slot], model_add_message(model, message, 0));
    }
    return 0;
}

int initial_state(struct model *model, uint32_t *state)
{
    const struct cv_check_options *options = &model->setting.options;
    struct runner runner;
    int error = runner_init(&runner, &model->setting);
    memset(state, 0, MOST_SLOTS * sizeof *state);
    for (cv_node node = 0; node < model->setting.nodes && !error; node++)
        error = begin_node(model, &runner, node, state);
    const bool counted = options->inside != CV_NOBODY && model->setting.claims & CV_FENCES_RISE;
    const struct budgets budgets = {.highest_fence = counted ? FIRST_FENCE : 0,
                                    .crashes = options->crashes,
                                    .misses = options->missed,
                                    .suspicions = options->suspicions,
                                    .recoveries = options->recoveries,
                                    .cuts = options->cuts};
    state[model->setting.nodes] = model_add_budgets(model, &budgets);
    runner_free(&runner);
    return error ? error : model->out_of_memory ? CV_ENOMEM : 0;
}
