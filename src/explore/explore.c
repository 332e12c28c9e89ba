// SPDX-License-Identifier: MIT
#include "explore/explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parse.h"
#include "explore/explored_events.h"
#include "explore/explored_step.h"
#include "explore/explored_story.h"
#include "explore/recorded_story.h"
#include "explore/replay_text.h"
#include "explore/story_search.h"
#include "explore/tell_scenario.h"
#include "explore/tell_state.h"
#include "explore/tell_story.h"
#include "explore/tell_ways.h"
#include "show/trace.h"

#define MOST_STEPS_AT_ONCE 1000000u

/* In large groups a look tells at most so many messages, and events of each type: no picture has room for more. */
#define LARGE_GROUP 17u
#define MOST_MESSAGES_SEEN 400u
#define MOST_EVENTS_SEEN 100u

struct request;

struct cv_explorer {
    cv_explorer_find *find;
    struct cv_story *story; /* NULL: nothing has begun */
    struct explored_events events;
    struct story_search *search; /* NULL: none */
    bool trying;                 /* a step is tried, only to see the ways that it can go, */
    uint64_t tried, tried_from;  /* that of this index, at this step */

    /* A call that takes many steps, if a failure ends it in the middle: see call_failed(). */
    int (*go_on)(struct request *request); /* NULL: none is at work */
    uint64_t run_count, run_done;          /* steps to take, and taken */
    const struct json_value *rest;         /* the indices to take */
    bool astray;                           /* the first of them is none of a way that the event can go */
    char *answer;                          /* the last one */
    size_t answer_bytes;
};

/* A call that is being answered. */
struct request {
    struct cv_explorer *explorer;
    const struct json_value *arguments;
    struct cv_json json;
    struct cv_complaint complaint;
};

static const char no_memory[] = "{\"error\":\"out of memory\"}";

/* ---- stories ---- */

static void forget_search(struct cv_explorer *explorer)
{
    story_search_free(explorer->search);
    explorer->search = NULL;
}

static void replace_story(struct cv_explorer *explorer, struct cv_story *story)
{
    forget_search(explorer);
    cv_story_free(explorer->story);
    explorer->story = story;
}

static void say_ok(struct request *request)
{
    cv_json_open(&request->json, NULL, '{');
    cv_json_truth(&request->json, "ok", true);
    if (request->explorer->story)
        cv_json_count(&request->json, "step", request->explorer->story->world.step_count);
}

/* ---- calls ---- */

static int call_named(struct request *request, const char *name);

static struct word_sources sources_of(const struct request *request)
{
    return (struct word_sources){.find = request->explorer->find, .files = json_get(request->arguments, "files")};
}

static int call_begin(struct request *request)
{
    struct cv_story *story;
    const struct word_sources sources = sources_of(request);
    const int error = cv_story_begin(&story, json_get(request->arguments, "words"), &sources, &request->complaint);
    if (error)
        return error;
    replace_story(request->explorer, story);
    say_ok(request);
    cv_json_close(&request->json, '}');
    return 0;
}

static int call_catalogue(struct request *request)
{
    tell_catalogue(&request->json);
    return 0;
}

static int call_scenario(struct request *request)
{
    struct cv_story *story = request->explorer->story;
    tell_scenario(&request->json, &story->words, &story->world);
    return 0;
}

/* Lists what can happen now; of a story that was recorded, only whether it goes on. */
static int list_events(struct request *request, bool faults)
{
    struct cv_story *story = request->explorer->story;
    struct explored_events *events = &request->explorer->events;
    if (!story->recorded)
        return explored_list(&story->world, events, faults);
    events->count = 0;
    events->next = recorded_goes_on(story) ? 0 : UINT64_MAX;
    return 0;
}

static int call_now(struct request *request)
{
    struct cv_story *story = request->explorer->story;
    const int error = list_events(request, false);
    return error ? error
                 : tell_state(&request->json, NULL, &story->world, &story->content, &request->explorer->events,
                              UINT64_MAX);
}

static struct told_events told_by(const struct request *request)
{
    return (struct told_events){.node = (cv_node)json_number(request->arguments, "node", CV_NOBODY),
                                .serial = json_number(request->arguments, "message", 0),
                                .most = UINT64_MAX};
}

static void tell_listed(struct request *request, const char *key, struct told_events *told)
{
    struct cv_story *story = request->explorer->story;
    if (story->recorded)
        recorded_tell_events(&request->json, key, story);
    else
        tell_events(&request->json, key, &story->world, &story->content, &request->explorer->events, told);
}

static int call_events(struct request *request)
{
    struct told_events told = told_by(request);
    const int error = list_events(request, true);
    if (!error)
        tell_listed(request, NULL, &told);
    return error;
}

/* All that a page draws after a step, in one answer. */
static int call_look(struct request *request)
{
    struct cv_story *story = request->explorer->story;
    struct cv_json *json = &request->json;
    const bool large = story->world.nodes >= LARGE_GROUP;
    struct told_events all = {.node = CV_NOBODY, .most = large ? MOST_EVENTS_SEEN : UINT64_MAX};
    struct told_events own = told_by(request);
    int error = list_events(request, true);
    if (error)
        return error;
    cv_json_open(json, NULL, '{');
    error = tell_state(json, "now", &story->world, &story->content, &request->explorer->events,
                       large ? MOST_MESSAGES_SEEN : UINT64_MAX);
    if (error)
        return error;
    tell_listed(request, "events", &all);
    tell_untold(json, "untold", &all);
    if (own.node != CV_NOBODY || own.serial)
        tell_listed(request, "own", &own);
    error = tell_history(json, "history", &story->world, &story->content,
                         json_number(request->arguments, "from", UINT64_MAX), UINT64_MAX);
    cv_json_close(json, '}');
    return error;
}

static int answer_step(struct request *request)
{
    struct cv_story *story = request->explorer->story;
    forget_search(request->explorer);
    return story->world.out_of_memory ? CV_ENOMEM : tell_step(&request->json, &story->world, &story->content);
}

/* The event of an index, and how it goes. */
static bool find_way(struct explored *world, const struct explored_events *events, const struct json_value *index,
                     struct explored_event *event, struct explored_script *script)
{
    if (index && index->type == JSON_TEXT)
        return explored_read_way(world, events, index->text, event, script);
    return index && index->type == JSON_NUMBER && explored_find_way(world, events, index->number, event, script);
}

/* How the step goes, where the arguments say it; otherwise as its index says. */
static void read_script(const struct json_value *arguments, struct explored_script *script)
{
    const struct json_value *choices = json_get(arguments, "choices");
    if (choices) {
        script->choosing = CHOICES_LISTED;
        script->choice_count = 0;
    }
    for (const struct json_value *it = choices ? choices->first : NULL; it && script->choice_count < CV_MOST_CHOICES;
         it = it->after)
        script->choices[script->choice_count++] = (uint32_t)it->number;
    script->missed |= json_number(arguments, "missed", 0) != 0;
    script->sent = (uint32_t)json_number(arguments, "sent", script->sent);
}

/* Takes the step. False: the event cannot go that way, and nothing has happened. */
static bool take_way(struct explored *world, const struct explored_event *event, const struct explored_script *script)
{
    explored_take(world, event, script);
    if (world->out_of_memory || !explored_calls(event) || !explored_went_astray(world))
        return true;
    explored_go(world, world->step_count - 1);
    return false;
}

static int refuse_index(struct request *request, uint64_t index)
{
    char number[32];
    const char *text = json_text(request->arguments, "index");
    snprintf(number, sizeof number, "%llu", (unsigned long long)index);
    return cv_complain(&request->complaint, "do %s: expected the index of one of the events that can happen now",
                       text ? cv_brief(text).text : number);
}

static int call_do(struct request *request)
{
    struct explored *world = &request->explorer->story->world;
    struct explored_events *events = &request->explorer->events;
    const struct json_value *given = json_get(request->arguments, "index");
    const uint64_t index = json_number(request->arguments, "index", UINT64_MAX);
    struct explored_script script;
    struct explored_event event;
    if (request->explorer->story->recorded) {
        if (index || !recorded_take(request->explorer->story))
            return cv_complain(&request->complaint, "do %llu: expected 0, the step that was recorded next",
                               (unsigned long long)index);
        return answer_step(request);
    }
    const int error = explored_list(world, events, true);
    if (error)
        return error;
    if (!find_way(world, events, given, &event, &script))
        return refuse_index(request, index);
    request->explorer->tried = index;
    read_script(request->arguments, &script);
    if (script.sent != CV_WHOLE && world->present.alive < 2)
        return cv_complain(&request->complaint, "sent %u: expected none; nobody would be left", script.sent);
    if (!take_way(world, &event, &script))
        return refuse_index(request, index);
    return answer_step(request);
}

/* What was recorded can be looked at, but it has no handlers that could go on. */
static int refuse_recorded(struct request *request, const char *call)
{
    return cv_complain(&request->complaint, "%s: expected a story that the engine plays; this one was recorded", call);
}

static int call_variants(struct request *request)
{
    struct cv_explorer *explorer = request->explorer;
    struct explored *world = &explorer->story->world;
    const uint64_t index = json_number(request->arguments, "index", UINT64_MAX);
    if (world->recorded)
        return refuse_recorded(request, "variants");
    int error = explored_list(world, &explorer->events, true);
    if (error)
        return error;
    explorer->trying = true;
    explorer->tried = index;
    explorer->tried_from = world->step_count;
    error = tell_ways(&request->json, world, &explorer->story->content, &explorer->events, index);
    explorer->trying = false;
    return error == CV_EINPUT
               ? cv_complain(&request->complaint,
                             "variants %llu: expected the index of one of the events that can happen now",
                             (unsigned long long)index)
               : error;
}

/* The step that was tried has failed: it has no other way. */
static int end_trial(struct request *request, const char *why)
{
    struct explored *world = &request->explorer->story->world;
    request->explorer->trying = false;
    explored_fail(world, why);
    explored_go(world, request->explorer->tried_from);
    tell_one_way(&request->json, request->explorer->tried);
    return 0;
}

/* Takes the step of that index, if there is one. Faults are listed only if it is one. */
static int take_index(struct request *request, const struct json_value *index, bool *taken)
{
    struct cv_story *story = request->explorer->story;
    struct explored_events *events = &request->explorer->events;
    struct explored_event event;
    struct explored_script script;
    if (story->recorded) {
        *taken = index->type == JSON_NUMBER && !index->number && recorded_take(story);
        return 0;
    }
    int error = explored_list(&story->world, events, false);
    if (!error && (index->type != JSON_NUMBER || index->number >= events->count))
        error = explored_list(&story->world, events, true);
    *taken =
        !error && find_way(&story->world, events, index, &event, &script) && take_way(&story->world, &event, &script);
    return story->world.out_of_memory ? CV_ENOMEM : error;
}

/* The steps before one that cannot be taken are taken. */
static int take_on(struct request *request)
{
    struct cv_explorer *explorer = request->explorer;
    bool taken = !explorer->astray;
    explorer->go_on = take_on;
    while (explorer->rest && taken) {
        const struct json_value *it = explorer->rest;
        const int error = take_index(request, it, &taken);
        if (error)
            return error;
        explorer->rest = taken ? it->after : it;
    }
    explorer->go_on = NULL;
    say_ok(request);
    if (!taken)
        cv_json_text(&request->json, "trouble", "expected the index of one of the events that can happen then");
    cv_json_close(&request->json, '}');
    return 0;
}

static int call_take(struct request *request)
{
    const struct json_value *indices = json_get(request->arguments, "indices");
    forget_search(request->explorer);
    request->explorer->rest = indices ? indices->first : NULL;
    request->explorer->astray = false;
    return take_on(request);
}

static int go_to(struct request *request, uint64_t step)
{
    forget_search(request->explorer);
    explored_go(&request->explorer->story->world, step);
    say_ok(request);
    cv_json_close(&request->json, '}');
    return 0;
}

static int call_back(struct request *request)
{
    const uint64_t steps = request->explorer->story->world.step_count;
    const uint64_t count = json_number(request->arguments, "count", 1);
    if (count > steps)
        return cv_complain(&request->complaint, "back %llu: expected at most %llu, the steps taken so far",
                           (unsigned long long)count, (unsigned long long)steps);
    return go_to(request, steps - count);
}

static int call_go(struct request *request)
{
    const uint64_t steps = request->explorer->story->world.step_count;
    const uint64_t step = json_number(request->arguments, "step", UINT64_MAX);
    if (step > steps)
        return cv_complain(&request->complaint, "go %llu: expected a step of 0..%llu", (unsigned long long)step,
                           (unsigned long long)steps);
    return go_to(request, step);
}

static int call_history(struct request *request)
{
    struct cv_story *story = request->explorer->story;
    return tell_history(&request->json, NULL, &story->world, &story->content,
                        json_number(request->arguments, "from", 0), json_number(request->arguments, "to", UINT64_MAX));
}

static int run_on(struct request *request)
{
    struct cv_explorer *explorer = request->explorer;
    struct explored *world = &explorer->story->world;
    explorer->go_on = run_on;
    for (; explorer->run_done < explorer->run_count; explorer->run_done++) {
        if (explorer->story->recorded) {
            if (!recorded_take(explorer->story))
                break;
            continue;
        }
        const int error = explored_list(world, &explorer->events, false);
        if (error)
            return error;
        if (explorer->events.next == UINT64_MAX)
            break;
        explored_take(world, &explorer->events.items[explorer->events.next],
                      &(struct explored_script){.sent = CV_WHOLE});
    }
    explorer->go_on = NULL;
    say_ok(request);
    cv_json_count(&request->json, "done", explorer->run_done);
    cv_json_close(&request->json, '}');
    return 0;
}

static int call_run(struct request *request)
{
    const uint64_t count = json_number(request->arguments, "count", 1);
    forget_search(request->explorer);
    request->explorer->run_done = 0;
    request->explorer->run_count = count < MOST_STEPS_AT_ONCE ? count : MOST_STEPS_AT_ONCE;
    return run_on(request);
}

/*
 * After the step that failed the call goes on where it was. Its arguments are still there, since it has not ended as
 * calls do. An index that was none ends it.
 */
static int go_on_after(struct request *request, bool taken)
{
    struct cv_explorer *explorer = request->explorer;
    explorer->run_done++;
    explorer->astray = !taken;
    if (explorer->go_on == take_on && taken)
        explorer->rest = explorer->rest->after;
    return explorer->go_on(request);
}

/* A handler failed, and the call that it was in has ended without an answer. */
static int call_failed(struct request *request)
{
    struct explored *world = &request->explorer->story->world;
    const char *why = json_text(request->arguments, "why");
    if (request->explorer->trying)
        return end_trial(request, why ? why : "a handler fails");
    if (request->explorer->search && story_search_failed(request->explorer->search, why ? why : "a handler fails"))
        return call_named(request, "search_more");
    if (!world->taking)
        return cv_complain(&request->complaint, "the engine failed: %s", cv_brief(why ? why : "it does not say").text);
    explored_fail(world, why ? why : "a handler fails");
    const bool astray = explored_went_astray(world);
    if (astray)
        explored_go(world, world->step_count - 1);
    if (request->explorer->go_on)
        return go_on_after(request, !astray);
    return astray ? refuse_index(request, request->explorer->tried) : answer_step(request);
}

/* Answers with a text that `write` makes. */
static int answer_text(struct request *request, const char *key,
                       int (*write)(FILE *out, struct cv_story *story, const struct json_value *arguments))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    int error = out ? write(out, request->explorer->story, request->arguments) : CV_ENOMEM;
    if (out && fclose(out))
        error = CV_ENOMEM;
    if (!error) {
        cv_json_open(&request->json, NULL, '{');
        cv_json_text(&request->json, key, text);
        cv_json_close(&request->json, '}');
    }
    free(text);
    return error;
}

static int write_story(FILE *out, struct cv_story *story, const struct json_value *arguments)
{
    const char *as = json_text(arguments, "as");
    const bool diagram = as && strcmp(as, "diagram") == 0;
    return tell_story(out, &story->world, diagram ? (unsigned)json_number(arguments, "width", 120) : 0);
}

static int call_story(struct request *request)
{
    return answer_text(request, "text", write_story);
}

static int write_export(FILE *out, struct cv_story *story, const struct json_value *arguments)
{
    (void)arguments;
    replay_text_write(out, &story->world, &story->words);
    return 0;
}

static int call_export(struct request *request)
{
    if (request->explorer->story->recorded)
        return refuse_recorded(request, "export");
    return answer_text(request, "file", write_export);
}

static int call_load(struct request *request)
{
    const char *file = json_text(request->arguments, "file");
    const struct json_value *recordings = json_get(request->arguments, "recordings");
    const struct word_sources sources = sources_of(request);
    struct cv_story *story;
    const int error = recordings
                          ? recorded_begin(&story, recordings, json_number(request->arguments, "name", UINT64_MAX),
                                           sources.find, &request->complaint)
                          : cv_story_load(&story, file ? file : "", &sources, &request->complaint);
    if (error)
        return error;
    replace_story(request->explorer, story);
    while (story->recorded && recorded_take(story))
        ;
    say_ok(request);
    if (story->recorded)
        recorded_tell_names(&request->json, story);
    cv_json_open(&request->json, "words", '[');
    for (uint32_t i = 0; i < story->words.count; i++)
        cv_json_text(&request->json, NULL, story->words.words[i]);
    cv_json_close(&request->json, ']');
    cv_json_plan_files(&request->json, &story->words.plan);
    if (*story->trouble.text)
        cv_json_text(&request->json, "trouble", story->trouble.text);
    cv_json_close(&request->json, '}');
    return 0;
}

static int call_search(struct request *request)
{
    struct explored *world = &request->explorer->story->world;
    if (world->recorded)
        return refuse_recorded(request, "search");
    forget_search(request->explorer);
    const int error = story_search_new(&request->explorer->search, world, request->arguments, &request->complaint);
    if (error) {
        forget_search(request->explorer);
        return error;
    }
    say_ok(request);
    cv_json_close(&request->json, '}');
    return 0;
}

static int call_search_more(struct request *request)
{
    if (!request->explorer->search)
        return cv_complain(&request->complaint, "search_more: expected after search");
    const int error = story_search_more(request->explorer->search, json_number(request->arguments, "states", 1000));
    if (!error)
        story_search_tell(&request->json, request->explorer->search);
    return error;
}

static const struct {
    const char *name;
    int (*answer)(struct request *request);
    bool begun; /* it needs a story */
} calls[] = {
    {"begin", call_begin, false},
    {"catalogue", call_catalogue, false},
    {"scenario", call_scenario, true},
    {"now", call_now, true},
    {"events", call_events, true},
    {"look", call_look, true},
    {"variants", call_variants, true},
    {"do", call_do, true},
    {"take", call_take, true},
    {"failed", call_failed, true},
    {"back", call_back, true},
    {"go", call_go, true},
    {"history", call_history, true},
    {"run", call_run, true},
    {"story", call_story, true},
    {"export", call_export, true},
    {"load", call_load, false},
    {"search", call_search, true},
    {"search_more", call_search_more, true},
};

static int call_named(struct request *request, const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(calls[i].name, name) != 0)
            continue;
        if (calls[i].begun && !request->explorer->story)
            return cv_complain(&request->complaint, "%s: expected after begin", name);
        return calls[i].answer(request);
    }
    return cv_complain(&request->complaint, "%s: no such call", cv_brief(name).text);
}

/* ---- answers ---- */

struct cv_explorer *cv_explorer_new(cv_explorer_find *find)
{
    struct cv_explorer *explorer = calloc(1, sizeof *explorer);
    if (explorer)
        explorer->find = find;
    return explorer;
}

void cv_explorer_free(struct cv_explorer *explorer)
{
    if (!explorer)
        return;
    replace_story(explorer, NULL);
    explored_events_free(&explorer->events);
    free(explorer->answer);
    free(explorer);
}

/* An error takes the place of what was written so far. */
static int write_error(struct request *request, int error)
{
    rewind(request->json.out);
    request->json = (struct cv_json){.out = request->json.out};
    cv_json_open(&request->json, NULL, '{');
    cv_json_text(&request->json, "error",
                 error == CV_ENOMEM || !*request->complaint.text ? cv_error_text(error) : request->complaint.text);
    cv_json_close(&request->json, '}');
    putc('\0', request->json.out);
    return 0;
}

const char *cv_explorer_call(struct cv_explorer *explorer, const char *name, const char *arguments)
{
    struct request request = {.explorer = explorer};
    struct json_value *read = arguments && *arguments ? json_read(arguments) : NULL;
    if (strcmp(name, "failed") != 0) {
        explorer->go_on = NULL;
        explorer->trying = false;
    }
    free(explorer->answer);
    explorer->answer = NULL;
    request.arguments = read;
    request.json.out = open_memstream(&explorer->answer, &explorer->answer_bytes);
    if (!request.json.out) {
        json_free(read);
        return no_memory;
    }
    int error = arguments && *arguments && (!read || read->type != JSON_OBJECT)
                    ? cv_complain(&request.complaint, "%s: expected arguments as a JSON object", cv_brief(name).text)
                    : call_named(&request, name);
    if (error)
        write_error(&request, error);
    error = fclose(request.json.out);
    json_free(read);
    return error || !explorer->answer ? no_memory : explorer->answer;
}
