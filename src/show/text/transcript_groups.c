// SPDX-License-Identifier: MIT
/* Steps that are alike and follow each other share a line: "0..5 hear coordinator from 6, follow 6". */
#include "show/text/transcript_groups.h"

#include <inttypes.h>
#include <stdlib.h>

#include "show/phrase.h"

static int by_place(const void *one, const void *other)
{
    const cv_node a = *(const cv_node *)one, b = *(const cv_node *)other;
    return (a > b) - (a < b);
}

/* Prints the nodes in story->some; a single one in the column of the ids. */
static void tell_nodes(struct story *story, size_t count)
{
    qsort(story->some, count, sizeof *story->some, by_place);
    if (count == 1)
        fprintf(story->out, "%*s", story->id_width, cv_name(story->scenario, story->some[0]).text);
    else
        cv_phrase_nodes(story->out, story->scenario, story->some, count);
}

/* ---- what the failure detector and timers tell, and a start, where it makes nobody do anything ---- */

static bool is_silent_report(const struct story *story, const struct cv_step *step)
{
    const enum cv_event_type type = story->history->events[step->first].type;
    const bool silent_start = type == CV_EVENT_START && story->scenario->algorithm->problem != CV_ELECTION;
    return (type == CV_EVENT_SUSPECT || type == CV_EVENT_TRUST || type == CV_EVENT_TIMEOUT || silent_start) &&
           step->end == step->first + 1;
}

/* How many successive events report the same of that peer or timer. */
static size_t report_length(const struct story *story, size_t first, size_t end)
{
    const struct cv_event *events = story->history->events;
    size_t at = first;
    while (at < end && at - first < story->some_room && events[at].type == events[first].type &&
           events[at].peer == events[first].peer && events[at].time == events[first].time &&
           events[at].detail == events[first].detail)
        at++;
    return at - first;
}

/* Do both reports, of that length, go to the same nodes and differ only in the peer? */
static bool same_report(const struct story *story, size_t one, size_t other, size_t length, size_t end)
{
    const struct cv_event *events = story->history->events;
    if (events[one].peer == CV_NOBODY || report_length(story, other, end) != length ||
        events[one].type != events[other].type || events[other].peer == CV_NOBODY ||
        events[one].time != events[other].time || story->down[events[one].peer] != story->down[events[other].peer])
        return false;
    for (size_t i = 0; i < length; i++)
        if (events[one + i].node != events[other + i].node)
            return false;
    return true;
}

/* Prints the first reports in first .. end-1 that can share a line; returns the index of the event after them. */
static size_t tell_reports(struct story *story, size_t first, size_t end)
{
    const struct cv_event *events = story->history->events;
    const size_t length = report_length(story, first, end);
    size_t peers = 0;
    for (size_t i = 0; i < length; i++)
        story->some[i] = events[first + i].node;
    tell_nodes(story, length);
    size_t at = first;
    for (; at < end && peers < story->some_room && (at == first || same_report(story, first, at, length, end));
         at += length)
        story->some[peers++] = events[at].peer;
    if (events[first].type == CV_EVENT_START) {
        fputs(length == 1 ? " starts" : " start", story->out);
        return at;
    }
    if (events[first].type == CV_EVENT_TIMEOUT) {
        fputs(length == 1 ? " times out (" : " time out (", story->out);
        cv_phrase_text(story->out, events[first].text);
        putc(')', story->out);
        return at;
    }
    const bool suspect = events[first].type == CV_EVENT_SUSPECT, down = story->down[events[first].peer];
    const char *verb = !suspect || down ? "learn" : "suspect";
    fprintf(story->out, " %s%s%s", verb, length == 1 ? "s " : " ", !suspect || down ? "that " : "");
    cv_phrase_nodes(story->out, story->scenario, story->some, peers);
    if (!suspect || down)
        fprintf(story->out, " %s %s", peers == 1 ? "is" : "are", suspect ? "down" : "back");
    return at;
}

static void tell_all_reports(struct story *story, struct cv_step *step, bool *more)
{
    size_t first = step->first, end = step->end;
    while ((*more = cv_step_next(story->history, step)) && is_silent_report(story, step))
        end = step->end;
    while (first < end) {
        story_begin_line(story, story->history->events[first].time);
        first = tell_reports(story, first, end);
        putc('\n', story->out);
    }
}

/* ---- one message heard by several, to the same effect: none, or that they know the leader, or acknowledge it ---- */

static bool tells_of_rounds(const struct story *story)
{
    return story->scenario->algorithm->problem == CV_SYNCHRONIZER;
}

static bool is_plain_receipt(const struct story *story, const struct cv_step *step)
{
    const struct cv_event *cause = &story->history->events[step->first];
    if (cause->type != CV_EVENT_RECEIVE || step->end > step->first + 2)
        return false;
    return step->end == step->first + 1 ||
           (cause[1].type == CV_EVENT_ELECTED && cause[1].detail != cv_view_id(story->scenario, cause->node)) ||
           (cause[1].type == CV_EVENT_SEND && cause[1].peer == cause->peer && tells_of_rounds(story));
}

static bool same_effect(const struct story *story, const struct cv_event *one, const struct cv_event *other)
{
    return one->type == other->type && one->detail == other->detail &&
           (one->type != CV_EVENT_SEND || cv_content_same(story->scenario, one->content, other->content));
}

static bool same_receipt(const struct story *story, const struct cv_step *one, const struct cv_step *other)
{
    const struct cv_event *a = &story->history->events[one->first], *b = &story->history->events[other->first];
    return is_plain_receipt(story, other) && one->end - one->first == other->end - other->first && a->time == b->time &&
           a->peer == b->peer && cv_content_same(story->scenario, a->content, b->content) &&
           (other->end == other->first + 1 || same_effect(story, &a[1], &b[1]));
}

static bool tell_receipts(struct story *story, struct cv_step *step, bool *more)
{
    const struct cv_step first = *step;
    const struct cv_event *cause = &story->history->events[first.first];
    size_t count = 0;
    char text[STORY_TEXT];
    struct cv_step next = *step;
    bool there = true;
    while (there && same_receipt(story, &first, &next) && count < story->some_room) {
        story->some[count++] = story->history->events[next.first].node;
        there = cv_step_next(story->history, &next);
    }
    if (count < 2)
        return false;
    *step = next;
    *more = there;
    story_begin_line(story, cause->time);
    tell_nodes(story, count);
    fprintf(story->out, " hear %s from %s", story_message(story, cause, text),
            cv_name(story->scenario, cause->peer).text);
    if (first.end > first.first + 1 && cause[1].type == CV_EVENT_SEND)
        fprintf(story->out, ", answer %s", story_message(story, &cause[1], text));
    else if (first.end > first.first + 1)
        fprintf(story->out, ", follow %s", cv_name_of(story->scenario, (cv_id)cause[1].detail).text);
    putc('\n', story->out);
    return true;
}

/* ---- acknowledgements and the like: one node hears the same from several, and does nothing yet ---- */

static bool same_gathering(const struct story *story, const struct cv_step *one, const struct cv_step *other)
{
    const struct cv_event *a = &story->history->events[one->first], *b = &story->history->events[other->first];
    return b->type == CV_EVENT_RECEIVE && other->end == other->first + 1 && a->time == b->time && a->node == b->node &&
           cv_content_same(story->scenario, a->content, b->content);
}

static bool tell_gathering(struct story *story, struct cv_step *step, bool *more)
{
    const struct cv_event *cause = &story->history->events[step->first];
    struct cv_step next = *step; /* a step with an effect is not alike even to itself */
    size_t count = 0;
    char text[STORY_TEXT];
    bool there = true;
    while (there && same_gathering(story, step, &next) && count < story->some_room) {
        story->some[count++] = story->history->events[next.first].peer;
        there = cv_step_next(story->history, &next);
    }
    if (count < 2)
        return false;
    *step = next;
    *more = there;
    story_begin_line(story, cause->time);
    fprintf(story->out, "%*s hears %s from ", story->id_width, cv_name(story->scenario, cause->node).text,
            story_message(story, cause, text));
    cv_phrase_nodes(story->out, story->scenario, story->some, count);
    putc('\n', story->out);
    return true;
}

bool story_tell_together(struct story *story, struct cv_step *step, bool *more)
{
    if (is_silent_report(story, step)) {
        tell_all_reports(story, step, more);
        return true;
    }
    if (!is_plain_receipt(story, step))
        return false;
    return tell_receipts(story, step, more) || (tells_of_rounds(story) && tell_gathering(story, step, more));
}
