// SPDX-License-Identifier: MIT
#include "show/text/transcript.h"

#include <inttypes.h>
#include <stdlib.h>

#include "show/phrase.h"
#include "show/text/transcript_groups.h"

static int digits(uint64_t number)
{
    return snprintf(NULL, 0, "%" PRIu64, number);
}

static void say(struct story *story, const char *text)
{
    fprintf(story->out, "%s%s", story->join, text);
    story->join = ", ";
}

/* ---- what began it ---- */

static void tell_cause(struct story *story, const struct cv_step *step)
{
    const struct cv_event *cause = &story->history->events[step->first];
    const struct cv_scenario *scenario = story->scenario;
    char text[STORY_TEXT];
    switch (cause->type) {
    case CV_EVENT_START:
        if (cv_step_find(story->history, step, CV_EVENT_CALL) || cv_step_find(story->history, step, CV_EVENT_PULSE))
            return; /* then the effect says it */
        break;
    case CV_EVENT_RECEIVE:
        fprintf(story->out, "hears %s from %s", story_message(story, cause, text), cv_name(scenario, cause->peer).text);
        story->join = ", ";
        return;
    case CV_EVENT_SUSPECT:
        fprintf(story->out, story->down[cause->peer] ? "learns that %s is down" : "suspects %s",
                cv_name(scenario, cause->peer).text);
        story->join = ", ";
        return;
    case CV_EVENT_TRUST:
        fprintf(story->out, "learns that %s is back", cv_name(scenario, cause->peer).text);
        story->join = ", ";
        return;
    default:
        break;
    }
    cv_phrase_event(story->out, scenario, cause);
    story->join = ", ";
}

/* ---- what it sent ---- */

/* Successive sends of the same message. Losses among them were cut off at once. */
struct batch {
    size_t first, end;
    size_t targets;
    size_t lost;
};

static bool next_batch(const struct story *story, const struct cv_step *step, struct batch *batch)
{
    const struct cv_event *events = story->history->events;
    size_t at = batch->end;
    while (at < step->end && events[at].type != CV_EVENT_SEND)
        at++;
    if (at >= step->end)
        return false;
    *batch = (struct batch){.first = at, .end = at};
    while (batch->end < step->end) {
        const struct cv_event *event = &events[batch->end];
        if (event->type == CV_EVENT_SEND && !cv_content_same(story->scenario, event->content, events[at].content))
            break;
        batch->targets += event->type == CV_EVENT_SEND;
        batch->lost += event->type == CV_EVENT_LOST;
        batch->end++;
    }
    return true;
}

static void tell_targets(struct story *story, const struct batch *batch, enum cv_event_type type)
{
    size_t count = 0;
    for (size_t i = batch->first; i < batch->end; i++) {
        const struct cv_event *event = &story->history->events[i];
        if (event->type == type)
            story->some[count++] = type == CV_EVENT_SEND ? event->peer : event->node;
    }
    cv_phrase_nodes(story->out, story->scenario, story->some, count);
}

static void tell_losses(struct story *story, const struct batch *batch)
{
    if (!batch->lost)
        return;
    if (batch->lost == batch->targets) {
        fputs(" (cut off)", story->out);
        return;
    }
    fputs(" (", story->out);
    tell_targets(story, batch, CV_EVENT_LOST);
    fputs(" cut off)", story->out);
}

/* Is it an answer? Not on a ring, where the next node may be the one before, and not in a new round. */
static bool is_answer(const struct story *story, const struct cv_step *step, const struct batch *batch)
{
    const struct cv_event *cause = &story->history->events[step->first];
    const struct cv_event *send = &story->history->events[batch->first];
    const uint32_t topology = story->scenario->group.topology;
    return cause->type == CV_EVENT_RECEIVE && batch->targets == 1 && send->peer == cause->peer &&
           send->content->kind != cause->content->kind && topology != CV_RING && topology != CV_RING_BOTH &&
           !cv_step_find(story->history, step, CV_EVENT_PULSE);
}

/* Does the node pass on what it just heard? Not if it calls an election itself. */
static bool is_passed_on(const struct story *story, const struct cv_step *step, const struct batch *batch)
{
    const struct cv_event *cause = &story->history->events[step->first];
    return cause->type == CV_EVENT_RECEIVE && !cv_step_find(story->history, step, CV_EVENT_CALL) &&
           cv_content_same(story->scenario, cause->content, story->history->events[batch->first].content);
}

static void tell_answers(struct story *story, const struct cv_step *step)
{
    const struct cv_event *events = story->history->events;
    const char *verb = "answers ";
    char text[STORY_TEXT];
    for (struct batch batch = {.end = step->first + 1}; next_batch(story, step, &batch);) {
        if (!is_answer(story, step, &batch))
            continue;
        fprintf(story->out, "%s%s%s", story->join, verb, story_message(story, &events[batch.first], text));
        story->join = ", ";
        verb = "";
        tell_losses(story, &batch);
    }
}

static void tell_sends(struct story *story, const struct cv_step *step)
{
    const struct cv_event *events = story->history->events;
    char text[STORY_TEXT];
    for (struct batch batch = {.end = step->first + 1}; next_batch(story, step, &batch);) {
        if (!is_passed_on(story, step, &batch))
            continue;
        say(story, "passes it on to ");
        tell_targets(story, &batch, CV_EVENT_SEND);
        tell_losses(story, &batch);
    }
    const char *join = ": ";
    for (struct batch batch = {.end = step->first + 1}; next_batch(story, step, &batch);) {
        if (is_answer(story, step, &batch) || is_passed_on(story, step, &batch))
            continue;
        fprintf(story->out, "%s%s to ", join, story_message(story, &events[batch.first], text));
        tell_targets(story, &batch, CV_EVENT_SEND);
        tell_losses(story, &batch);
        join = "; ";
    }
}

/* ---- what else it did ---- */

static void tell_effects(struct story *story, const struct cv_step *step)
{
    const struct cv_history *history = story->history;
    const bool calls = cv_step_find(history, step, CV_EVENT_CALL), yields = cv_step_find(history, step, CV_EVENT_YIELD);
    const bool elects = cv_step_find(history, step, CV_EVENT_ELECTED);
    for (size_t i = step->first + 1; i < step->end; i++) {
        const struct cv_event *event = &history->events[i];
        if (event->type == CV_EVENT_SEND || event->type == CV_EVENT_LOST)
            continue;
        if (event->type == CV_EVENT_YIELD && calls)
            continue;
        if (event->type == CV_EVENT_FORGET && (calls || elects))
            continue; /* that is obvious */
        say(story, "");
        if (event->type == CV_EVENT_CALL && yields)
            fputs("calls again", story->out);
        else
            cv_phrase_event(story->out, story->scenario, event);
    }
}

/* ---- lines ---- */

/* Prints messages to a node that could not receive them. */
static void tell_missed(struct story *story, const struct cv_step *step)
{
    char text[STORY_TEXT];
    const struct cv_event *events = story->history->events;
    fprintf(story->out, "%s: misses ", story->down[events[step->first].node] ? "is down" : "is cut off");
    for (size_t i = step->first; i < step->end; i++)
        fprintf(story->out, "%s%s from %s", i > step->first ? ", " : "", story_message(story, &events[i], text),
                cv_name(story->scenario, events[i].peer).text);
}

static void tell_network(struct story *story, const struct cv_event *event)
{
    const struct cv_partition *partition = cv_phrase_partition(story->scenario, event);
    cv_phrase_event(story->out, story->scenario, event);
    if (event->type == CV_EVENT_VIEW)
        cv_phrase_members(story->out, story->scenario, event, story->down);
    if (event->type != CV_EVENT_CUT || !partition)
        return;
    fputs(": ", story->out);
    cv_phrase_sides(story->out, story->scenario, partition);
}

/* Prints what the step changed in the node's state, below the text of its line. */
static void tell_changes(struct story *story, const struct cv_step *step)
{
    const cv_node node = story->history->events[step->first].node;
    const struct cv_history_change *change = cv_history_change(story->history, step->first, step->end, node);
    if (change)
        fprintf(story->out, "%*s%s\n", story->number_width + story->time_width + story->id_width + 7, "", change->text);
}

static void tell_step(struct story *story, const struct cv_step *step)
{
    const struct cv_event *cause = &story->history->events[step->first];
    story_begin_line(story, cause->time);
    if (cause->node == CV_NOBODY) {
        tell_network(story, cause);
    } else if (cause->type == CV_EVENT_LOST) {
        fprintf(story->out, "%*s ", story->id_width, cv_name(story->scenario, cause->node).text);
        tell_missed(story, step);
    } else {
        fprintf(story->out, "%*s ", story->id_width, cv_name(story->scenario, cause->node).text);
        tell_cause(story, step);
        tell_answers(story, step);
        tell_effects(story, step);
        tell_sends(story, step);
        if (cause->type == CV_EVENT_CRASH || cause->type == CV_EVENT_RECOVER)
            story->down[cause->node] = cause->type == CV_EVENT_CRASH;
    }
    putc('\n', story->out);
    if (story->states)
        tell_changes(story, step);
}

/* Steps that share a line have no line of their own for what they changed. */
static void tell_all(struct story *story)
{
    struct cv_step step = {0};
    for (bool more = cv_step_next(story->history, &step); more;) {
        if (!story->states && story_tell_together(story, &step, &more))
            continue;
        tell_step(story, &step);
        more = cv_step_next(story->history, &step);
    }
}

/* Measures the columns, and how many nodes a line names at most. */
static void measure(struct story *story)
{
    uint64_t steps = 0;
    story->some_room = story->scenario->group.nodes;
    for (struct cv_step step = {0}; cv_step_next(story->history, &step); steps++)
        story->some_room = step.end - step.first > story->some_room ? step.end - step.first : story->some_room;
    story->number_width = digits(steps) < 3 ? 3 : digits(steps);
    story->time_width = digits(story->history->last);
    story->id_width = (int)cv_longest_name(story->scenario);
}

int cv_transcript_write(FILE *out, const struct cv_scenario *scenario, const struct cv_history *history, bool states)
{
    struct story story = {.out = out, .scenario = scenario, .history = history, .states = states};
    int error = cv_content_learn(&story.content, scenario, history);
    measure(&story);
    story.down = calloc(scenario->group.nodes, sizeof *story.down);
    story.some = calloc(story.some_room + 1, sizeof *story.some);
    if (!story.down || !story.some)
        error = CV_ENOMEM;
    if (!error)
        tell_all(&story);
    if (!error && history->truncated)
        fputs("…   and more than can be told\n", out);
    cv_content_free(&story.content);
    free(story.down);
    free(story.some);
    return error;
}
