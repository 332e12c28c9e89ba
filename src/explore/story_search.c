// SPDX-License-Identifier: MIT
#include "explore/story_search.h"

#include <stdlib.h>
#include <string.h>

#include "check/setting/link_set.h"
#include "explore/explored_step.h"
#include "explore/model_search.h"
#include "explore/state_search.h"

struct story_search {
    struct explored *world; /* of the story */
    struct search_goal goal;
    struct search_limits limits;
    struct model_search *model; /* NULL: the other one searches */
    struct state_search *state;
    bool working;      /* the checker's search is at work, */
    bool confirming;   /* or what it has found is taken in the story's world, */
    uint64_t before;   /* from this step on */
    uint64_t *indices; /* of what was found */
    uint64_t index_count;
};

int story_search_new(struct story_search **out, struct explored *world, const struct json_value *arguments,
                     struct cv_complaint *complaint)
{
    struct story_search *search = *out = calloc(1, sizeof *search);
    if (!search)
        return CV_ENOMEM;
    search->world = world;
    const int error = search_goal_read(&search->goal, json_get(arguments, "goal"), complaint);
    if (error)
        return error;
    search_limits_read(&search->limits, json_get(arguments, "limits"));
    return model_search_takes(world, &search->limits)
               ? model_search_new(&search->model, world, &search->goal, &search->limits)
               : state_search_new(&search->state, world, &search->goal, &search->limits);
}

void story_search_free(struct story_search *search)
{
    if (!search)
        return;
    model_search_free(search->model);
    state_search_free(search->state);
    free(search->indices);
    free(search);
}

/* Begins again with full states. 0 or CV_ENOMEM. */
static int change_engine(struct story_search *search)
{
    model_search_free(search->model);
    search->model = NULL;
    return state_search_new(&search->state, search->world, &search->goal, &search->limits);
}

/* ---- confirming ---- */

/* What was found is taken in the story's own world. */
struct confirmation {
    struct explored *world;
    struct explored_events events;
    uint32_t violated; /* a bit for each property that a step has violated */
};

/* Equal messages on a link have the same future; so the first will do. */
static bool find_message(struct explored *world, const struct explored_events *events,
                         const struct cv_decision *decision, const struct cv_message *message,
                         struct explored_event *event)
{
    for (uint64_t i = 0; i < events->count; i++) {
        const struct explored_event *it = &events->items[i];
        const struct cv_message *content = it->message ? &it->message->content : NULL;
        if (it->type == EVENT_DELIVER && it->node == decision->node && it->peer == decision->peer &&
            content->kind == message->kind && content->words == message->words &&
            (!world->algorithm->hints.clocked || content->clock == message->clock) &&
            memcmp(content->body, message->body, content->words * sizeof(uint32_t)) == 0) {
            *event = *it;
            return true;
        }
    }
    return false;
}

static bool confirm_step(void *context, const struct cv_decision *decision, const struct cv_message *message)
{
    struct confirmation *confirmation = context;
    struct explored *world = confirmation->world;
    struct explored_event event;
    struct explored_script script = {.choosing = decision->choice_count ? CHOICES_LISTED : CHOICES_DRAWN,
                                     .choice_count = decision->choice_count,
                                     .missed = decision->missed,
                                     .sent = decision->sent};
    memcpy(script.choices, decision->choices, sizeof script.choices);
    if (explored_list(world, &confirmation->events, true))
        return false;
    if (message ? !find_message(world, &confirmation->events, decision, message, &event)
                : !explored_match(world, &confirmation->events, decision, &event))
        return false;
    if (event.type == EVENT_CRASH || event.type == EVENT_MISS)
        script.sent = CV_WHOLE;
    explored_take(world, &event, &script);
    if (world->out_of_memory)
        return false;
    confirmation->violated |= world->steps[world->step_count - 1].violated;
    return true;
}

static bool is_wanted_state(const struct story_search *search)
{
    const struct explored *world = search->world;
    struct goal_node nodes[CV_CHECK_MOST_NODES];
    for (cv_node node = 0; node < world->nodes; node++)
        nodes[node] = (struct goal_node){explored_node(world, node)->flags, explored_node(world, node)->leader};
    return search_goal_is_met(&search->goal, &world->group, nodes);
}

/* Keeps the indices of what was found, if the story can go that way and gets there. */
static bool confirm(struct story_search *search)
{
    struct explored *world = search->world;
    struct confirmation confirmation = {.world = world};
    const uint64_t before = search->before = world->step_count;
    search->confirming = true;
    bool good = model_search_tell(search->model, confirm_step, &confirmation);
    search->confirming = false;
    good =
        good && (search->goal.state ? is_wanted_state(search) : (confirmation.violated & search->goal.properties) != 0);
    search->index_count = world->step_count - before;
    for (uint64_t i = 0; i < search->index_count; i++)
        good = good && !world->steps[before + i].vague;
    search->indices = good ? malloc((search->index_count + 1) * sizeof *search->indices) : NULL;
    for (uint64_t i = 0; search->indices && i < search->index_count; i++)
        search->indices[i] = world->steps[before + i].index;
    explored_go(world, before);
    explored_events_free(&confirmation.events);
    return search->indices;
}

/* ---- searching ---- */

/* The checker's search has ended: with a result that counts, or the other one begins. 0 or CV_ENOMEM. */
static int end_model(struct story_search *search)
{
    struct search_progress progress;
    model_search_progress(search->model, &progress);
    const bool counts = !model_search_is_doubted(search->model) && (!progress.found || confirm(search));
    return counts ? 0 : change_engine(search);
}

static int end_state(struct story_search *search)
{
    struct search_progress progress;
    state_search_progress(search->state, &progress);
    if (!progress.found || search->indices)
        return 0;
    search->index_count = progress.depth;
    search->indices = malloc((search->index_count + 1) * sizeof *search->indices);
    if (search->indices)
        state_search_indices(search->state, search->indices);
    return search->indices ? 0 : CV_ENOMEM;
}

int story_search_more(struct story_search *search, uint64_t states)
{
    struct search_progress progress = {.done = true};
    int error = 0;
    if (search->model) {
        model_search_progress(search->model, &progress);
        if (progress.done)
            return 0;
        search->working = true;
        error = model_search_more(search->model, states);
        search->working = false;
        model_search_progress(search->model, &progress);
        if (!error && progress.done)
            error = end_model(search);
    }
    if (!error && search->state) {
        error = state_search_more(search->state, states);
        if (!error)
            error = end_state(search);
    }
    return error;
}

/* In WebAssembly a failure ends the call, and what the checker's search was doing is lost: the other one begins. */
bool story_search_failed(struct story_search *search, const char *why)
{
    if (search->confirming) {
        explored_fail(search->world, why);
        explored_go(search->world, search->before);
    }
    if (search->working || search->confirming) {
        search->working = search->confirming = false;
        return !change_engine(search);
    }
    return search->state && state_search_failed(search->state, why);
}

void story_search_tell(struct cv_json *json, const struct story_search *search)
{
    struct search_progress progress;
    if (search->model)
        model_search_progress(search->model, &progress);
    else
        state_search_progress(search->state, &progress);
    cv_json_open(json, NULL, '{');
    cv_json_truth(json, "done", progress.done);
    if (progress.done)
        cv_json_truth(json, "found", progress.found);
    if (progress.found) {
        cv_json_open(json, "indices", '[');
        for (uint64_t i = 0; i < search->index_count; i++)
            cv_json_count(json, NULL, search->indices[i]);
        cv_json_close(json, ']');
    }
    if (progress.done && !progress.found)
        cv_json_truth(json, "complete", progress.complete);
    cv_json_count(json, "states", progress.states);
    cv_json_count(json, "transitions", progress.transitions);
    cv_json_count(json, "depth", progress.depth);
    cv_json_close(json, '}');
}
