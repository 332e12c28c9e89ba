// SPDX-License-Identifier: MIT
#include "show/history_step.h"

static bool goes_on(const struct cv_event *first, const struct cv_event *before, const struct cv_event *event)
{
    if (event->time != first->time)
        return false;
    switch (event->type) {
    case CV_EVENT_LOST:
        if (first->type == CV_EVENT_LOST)
            return event->node == first->node;
        return before->type == CV_EVENT_SEND && before->message == event->message;
    case CV_EVENT_SEND:
    case CV_EVENT_CALL:
    case CV_EVENT_YIELD:
    case CV_EVENT_ELECTED:
    case CV_EVENT_FORGET:
    case CV_EVENT_ENTER:
    case CV_EVENT_PULSE:
    case CV_EVENT_RESULT:
    case CV_EVENT_NOTE:
        return event->node == first->node && first->type != CV_EVENT_LOST && first->type != CV_EVENT_CRASH;
    default:
        return false;
    }
}

bool cv_step_next(const struct cv_history *history, struct cv_step *step)
{
    const struct cv_event *events = history->events;
    if (step->end >= history->count)
        return false;
    step->first = step->end++;
    while (step->end < history->count && goes_on(&events[step->first], &events[step->end - 1], &events[step->end]))
        step->end++;
    return true;
}

const struct cv_event *cv_step_find(const struct cv_history *history, const struct cv_step *step,
                                    enum cv_event_type type)
{
    for (size_t i = step->first; i < step->end; i++)
        if (history->events[i].type == type)
            return &history->events[i];
    return NULL;
}

bool cv_step_is_idle_timeout(const struct cv_history *history, size_t index)
{
    const struct cv_event *event = &history->events[index];
    if (event->type != CV_EVENT_TIMEOUT)
        return false;
    return index + 1 == history->count || !goes_on(event, event, event + 1);
}
