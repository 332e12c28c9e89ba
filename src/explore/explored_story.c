// SPDX-License-Identifier: MIT
#include "explore/explored_story.h"

#include <stdlib.h>
#include <string.h>

#include "explore/explored_events.h"
#include "explore/explored_step.h"
#include "explore/recorded_story.h"
#include "explore/replay_text.h"
#include "explore/tell_story.h"
#include "explore/trace_text.h"

int cv_story_begin(struct cv_story **out, const struct json_value *words, const struct word_sources *sources,
                   struct cv_complaint *complaint)
{
    static const struct cv_history nothing = {0};
    struct cv_story *story = calloc(1, sizeof *story);
    *out = NULL;
    if (!story)
        return CV_ENOMEM;
    int error = scenario_words_read(&story->words, words, sources, complaint);
    if (!error)
        error = explored_begin(&story->world, &story->words.scenario, complaint);
    if (!error)
        error = cv_content_learn(&story->content, &story->words.scenario, &nothing);
    if (error)
        cv_story_free(story);
    else
        *out = story;
    return error;
}

void cv_story_free(struct cv_story *story)
{
    if (!story)
        return;
    recorded_free(story->recorded);
    cv_content_free(&story->content);
    explored_free(&story->world);
    scenario_words_free(&story->words);
    free(story->texts);
    free(story);
}

bool cv_story_is(const char *text)
{
    static const char first[] = "conclave replay 2\n";
    return strncmp(text, first, strlen(first)) == 0;
}

/* ---- files ---- */

/* The event that a line of a file means. */
static bool find_meant(struct explored *world, const struct explored_events *events,
                       const struct replay_decision *meant, struct explored_event *event)
{
    for (uint64_t i = 0; i < events->count; i++) {
        const struct explored_event *it = &events->items[i];
        const bool drops = it->type == EVENT_DROP || it->type == EVENT_DUPLICATE;
        const bool same = meant->type == EVENT_VIEW || (world->mutex && meant->type == EVENT_START) ? true
                          : meant->partition != UINT32_MAX
                              ? it->partition == meant->partition
                              : drops && it->node == meant->decision.node && it->peer == meant->decision.peer &&
                                    explored_place(it->message) == meant->decision.which;
        if (it->type == meant->type && same) {
            *event = *it;
            return true;
        }
    }
    return meant->type != EVENT_DROP && meant->type != EVENT_DUPLICATE && meant->partition == UINT32_MAX &&
           explored_match(world, events, &meant->decision, event);
}

static int take_lines(struct cv_story *story, struct replay_lines *lines, struct explored_events *events,
                      struct cv_complaint *complaint)
{
    struct replay_decision meant;
    int more;
    while ((more = replay_lines_next(lines, &story->world, &meant, complaint)) > 0) {
        struct explored_event event;
        struct explored_script script = {.choosing = CHOICES_LISTED,
                                         .choice_count = meant.decision.choice_count,
                                         .missed = meant.decision.missed,
                                         .sent = meant.decision.sent};
        memcpy(script.choices, meant.decision.choices, sizeof script.choices);
        if (explored_list(&story->world, events, true))
            return CV_ENOMEM;
        if (!find_meant(&story->world, events, &meant, &event))
            return cv_complain(complaint, "replay: line %llu cannot happen at that point",
                               (unsigned long long)lines->lines.number);
        explored_take(&story->world, &event, &script);
        if (story->world.out_of_memory)
            return CV_ENOMEM;
    }
    return more;
}

/* The checker's members have started before anything else happens. */
static int start_view(struct cv_story *story, struct explored_events *events)
{
    struct explored_event event;
    const struct replay_decision start = {
        .type = EVENT_START, .decision = {.type = CV_DECIDE_START, .node = CV_NOBODY}, .partition = UINT32_MAX};
    if (explored_list(&story->world, events, false))
        return CV_ENOMEM;
    if (story->world.present.unstarted && find_meant(&story->world, events, &start, &event))
        explored_take(&story->world, &event, &(struct explored_script){.sent = CV_WHOLE});
    return story->world.out_of_memory ? CV_ENOMEM : 0;
}

static int load_replay(struct cv_story **story, const char *text, const struct word_sources *sources,
                       struct cv_complaint *complaint)
{
    struct replay_lines lines;
    struct json_value *words = NULL, *files = NULL;
    struct explored_events events = {0};
    int error = replay_lines_begin(&lines, text, &words, &files, complaint);
    const struct word_sources own = {sources->find, files && files->first ? files : sources->files, sources->read};
    if (!error)
        error = cv_story_begin(story, words, &own, complaint);
    if (!error && lines.version == 1)
        error = start_view(*story, &events);
    if (!error)
        error = take_lines(*story, &lines, &events, complaint);
    explored_events_free(&events);
    replay_lines_end(&lines);
    json_free(words);
    json_free(files);
    return error;
}

/* What the trace says of its origin: the words of a scenario, or the file that was replayed. */
static int load_trace(struct cv_story **story, const char *text, const struct word_sources *sources,
                      struct cv_complaint *complaint)
{
    struct json_value *header = trace_header(text);
    const struct json_value *words = json_get(header, "words"), *files = json_get(header, "files");
    const char *replay = json_text(header, "replay");
    const struct word_sources own = {sources->find, files ? files : sources->files, sources->read};
    int error = 0;
    if (replay) {
        error = load_replay(story, replay, sources, complaint);
    } else if (!words) {
        error = cv_complain(complaint, "replay: line 1: expected a trace of conclave sim whose header has the words of "
                                       "the scenario");
    } else {
        error = cv_story_begin(story, words, &own, complaint);
        if (!error)
            error = trace_follow(*story, text);
    }
    json_free(header);
    return error;
}

int cv_story_load(struct cv_story **out, const char *text, const struct word_sources *sources,
                  struct cv_complaint *complaint)
{
    *out = NULL;
    const int error =
        *text == '{' ? load_trace(out, text, sources, complaint) : load_replay(out, text, sources, complaint);
    if (error) {
        cv_story_free(*out);
        *out = NULL;
    }
    return error;
}

int cv_story_tell(struct cv_story *story, const struct cv_observer *observer)
{
    free(story->texts);
    story->texts = calloc(story->world.told_count + 1, sizeof *story->texts);
    if (!story->texts)
        return CV_ENOMEM;
    tell_again(&story->world, observer, story->texts);
    return 0;
}
