// SPDX-License-Identifier: MIT
#include "check/search/judge.h"

#include <string.h>

#include "property/election.h"
#include "property/mutex.h"

/* A state as the end of a run. */
struct ending {
    const struct model *model;
    const uint32_t *state;
    uint32_t components[CV_CHECK_MOST_NODES];
};

static const struct node_state *node_state_of(const struct ending *ending, cv_node node)
{
    return model_node_state(ending->model, ending->state[node]);
}

static void find_components(struct ending *ending)
{
    const struct setting *setting = &ending->model->setting;
    const struct budgets *budgets = model_budgets(ending->model, ending->state[setting->nodes]);
    uint32_t alive = 0;
    for (cv_node node = 0; node < setting->nodes; node++)
        alive |= (node_state_of(ending, node)->flags & NODE_ALIVE ? 1u : 0) << node;
    setting_components(setting, &budgets->cut_links, alive, ending->components);
}

static bool took_part(const struct ending *ending, cv_node node)
{
    const struct node_state *node_state = node_state_of(ending, node);
    if (!(node_state->flags & NODE_ALIVE))
        return false;
    return ending->model->setting.any_caller ? !(node_state->flags & NODE_FRESH)
                                             : (node_state->flags & NODE_STARTED) != 0;
}

static struct cv_standing standing(const void *runtime, cv_node node)
{
    const struct node_state *node_state = node_state_of(runtime, node);
    return (struct cv_standing){.result = node_state->result,
                                .via = node_state->via,
                                .updates = (node_state->flags & NODE_RESULT) != 0,
                                .leader = node_state->leader,
                                .alive = node_state->flags & NODE_ALIVE,
                                .knows = (node_state->flags & NODE_KNOWS) != 0,
                                .active = took_part(runtime, node)};
}

static const void *app_state(const void *runtime, cv_node node)
{
    const struct setting *setting = &((const struct ending *)runtime)->model->setting;
    return node_state_of(runtime, node)->state + setting->group.hosted_at + sizeof(uint64_t);
}

static uint64_t round_of(const void *runtime, cv_node node)
{
    return node_state_round(&((const struct ending *)runtime)->model->setting, node_state_of(runtime, node));
}

/* Synchronizers and paths are judged as a simulated run is. */
static int judge_rounds(struct ending *ending, struct cv_run *run, struct cv_judgement *judgement)
{
    struct cv_complaint complaint;
    find_components(ending);
    run->component = ending->components;
    run->calls = 1;
    run->unmeasured = true;
    if (run->scenario->app) {
        run->app_state = app_state;
        run->round = round_of;
    }
    return cv_judge(run, judgement, &complaint);
}

static int judge_election(struct ending *ending, struct cv_run *run, struct cv_judgement *judgement)
{
    struct cv_scenario scenario = *run->scenario;
    cv_node callers[CV_CHECK_MOST_NODES];
    scenario.everyone_calls = false;
    scenario.callers = callers;
    scenario.caller_count = 0;
    for (cv_node node = 0; node < scenario.group.nodes; node++)
        if (took_part(ending, node))
            callers[scenario.caller_count++] = node;
    run->scenario = &scenario;
    run->calls = 1;
    if (ending->model->setting.may_partition) {
        find_components(ending);
        run->component = ending->components;
    }
    return cv_judge_election(run, judgement);
}

static int judge_mutex(struct ending *ending, struct cv_run *run, struct cv_judgement *judgement)
{
    struct cv_entry entries[CV_CHECK_MOST_NODES];
    for (cv_node node = 0; node < ending->model->setting.nodes; node++) {
        const struct node_state *node_state = node_state_of(ending, node);
        if (node_state->flags & (NODE_WAITING | NODE_INSIDE))
            entries[run->entry_count++] = (struct cv_entry){
                .node = node, .entered = node_state->flags & NODE_INSIDE ? 0 : CV_NEVER, .left = CV_NEVER, .fence = 1};
    }
    run->entries = entries;
    return cv_judge_mutex(run, judgement);
}

/* Is there anything to judge? */
static bool concerns_anybody(const struct model *model, const uint32_t *state, bool repeats)
{
    const struct ending ending = {.model = model, .state = state};
    uint32_t wanted = 0, taking = 0;
    for (cv_node node = 0; node < model->setting.nodes; node++) {
        wanted |= node_state_of(&ending, node)->flags & NODE_WAITING;
        taking |= took_part(&ending, node);
    }
    return setting_is_mutex(&model->setting) ? wanted : model->setting.all_start || taking || repeats;
}

int judge_end(const struct model *model, const uint32_t *state, bool repeats, const char *property,
              struct cv_finding *finding)
{
    struct ending ending = {.model = model, .state = state};
    struct cv_judgement judgement = {0};
    struct cv_run run = {.scenario = model->setting.scenario,
                         .runtime = &ending,
                         .standing = standing,
                         .ending = repeats ? CV_REPEATS : CV_QUIET};
    *finding = (struct cv_finding){.verdict = CV_HELD};
    if (!concerns_anybody(model, state, repeats))
        return 0;
    const int error = setting_is_mutex(&model->setting) ? judge_mutex(&ending, &run, &judgement)
                      : model->setting.all_start        ? judge_rounds(&ending, &run, &judgement)
                                                        : judge_election(&ending, &run, &judgement);
    for (uint32_t i = 0; i < judgement.finding_count && finding->verdict != CV_VIOLATED; i++) {
        const struct cv_finding *it = &judgement.findings[i];
        const bool asked = repeats ? strcmp(it->kind, "eventually") == 0 : strcmp(it->kind, "sometimes") != 0;
        if (it->verdict == CV_VIOLATED && asked && (!property || strcmp(property, it->name) == 0))
            *finding = *it;
    }
    return error;
}
