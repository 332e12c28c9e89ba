// SPDX-License-Identifier: MIT
#include "explore/trace_text.h"

#include <stdlib.h>
#include <string.h>

#include "core/parse.h"
#include "core/scenario/label.h"
#include "explore/decision_text.h"
#include "explore/explored_events.h"
#include "explore/explored_network.h"
#include "explore/explored_step.h"

/* A line that is being followed. */
struct following {
    struct cv_story *story;
    struct explored *world;
    struct explored_events events;
    uint64_t number; /* of the line */
    const struct json_value *line;
    const char *event; /* its name */
    cv_node node;      /* or CV_NOBODY */
};

static char *first_line(const char *text)
{
    return strndup(text, strcspn(text, "\n"));
}

struct json_value *trace_header(const char *text)
{
    char *line = first_line(text);
    struct json_value *header = line ? json_read(line) : NULL;
    free(line);
    return header;
}

/* ---- differences ---- */

static bool differs(struct following *it, const char *what)
{
    const struct cv_name node =
        it->node == CV_NOBODY ? (struct cv_name){"the network"} : cv_name(it->world->scenario, it->node);
    cv_complain(&it->story->trouble, "line %llu of the trace, %s at %s: %s", (unsigned long long)it->number, it->event,
                node.text, what);
    return false;
}

static cv_node node_at(const struct following *it, const char *key)
{
    const uint64_t id = json_number(it->line, key, UINT64_MAX);
    return id > UINT32_MAX ? CV_NOBODY : cv_index_find(&it->world->index, (cv_id)id);
}

/* Was that message sent here, too? */
static bool has_sent(const struct following *it, uint64_t serial, uint64_t to)
{
    if (!serial || serial > it->world->message_count)
        return false;
    const struct cv_message *message = &it->world->messages[serial - 1]->content;
    const char *kind = json_text(it->line, "kind");
    return message->from == it->node && it->world->scenario->group.ids[message->to] == to && kind &&
           strcmp(it->world->algorithm->kinds[message->kind].name, kind) == 0;
}

static bool same_sends(struct following *it)
{
    const struct json_value *messages = json_get(it->line, "messages"), *to = json_get(it->line, "to");
    bool same = messages || has_sent(it, json_number(it->line, "message", 0), json_number(it->line, "to", UINT64_MAX));
    to = to ? to->first : NULL;
    for (const struct json_value *each = messages ? messages->first : NULL; each; each = each->after) {
        same &= to && has_sent(it, each->number, to->number);
        to = to ? to->after : NULL;
    }
    return same;
}

/* Did the last step do that, too? */
static bool has_done(const struct following *it, enum cv_event_type type, uint64_t detail)
{
    const struct explored *world = it->world;
    const uint64_t first = world->step_count ? world->steps[world->step_count - 1].told : 0;
    for (uint64_t i = first; i < world->told_count; i++) {
        const struct cv_event *event = &world->told[i].event;
        if (event->type == type && event->node == it->node && event->detail == detail)
            return true;
    }
    return false;
}

/* What a step did: the explorer's must have done the same. */
static bool same_effect(struct following *it)
{
    if (strcmp(it->event, "send") == 0)
        return same_sends(it) || differs(it, "the explorer sends something else here");
    if (strcmp(it->event, "elected") == 0 && !has_done(it, CV_EVENT_ELECTED, json_number(it->line, "leader", 0)))
        return differs(it, "the explorer elects nobody here, or somebody else");
    if (strcmp(it->event, "enter") == 0 && !has_done(it, CV_EVENT_ENTER, json_number(it->line, "fence", 0)))
        return differs(it, "the explorer does not let it in here, or with another fence");
    return true;
}

/* ---- steps ---- */

static bool take(struct following *it, const struct explored_event *event)
{
    explored_take(it->world, event, &(struct explored_script){.sent = CV_WHOLE});
    return !it->world->out_of_memory;
}

static bool list(struct following *it)
{
    return explored_list(it->world, &it->events, true) == 0;
}

/*
 * Reports of the detector that call no handler are in no trace: the explorer takes them when they are due, since the
 * nodes may ask who is present.
 */
static bool catch_up(struct following *it, uint64_t time)
{
    const struct cv_algorithm *algorithm = it->world->algorithm;
    while (list(it)) {
        const struct explored_event *found = NULL;
        for (uint64_t i = 0; i < it->events.count && !found; i++) {
            const struct explored_event *event = &it->events.items[i];
            if (event->due <= time && ((event->type == EVENT_TELL && !algorithm->suspect) ||
                                       (event->type == EVENT_TRUST && !algorithm->trust)))
                found = event;
        }
        if (!found)
            return true;
        if (!take(it, found))
            return false;
    }
    return false;
}

/*
 * No line tells that the members of a view start: they have when one of them sends or enters, or when anything else
 * than a request happens.
 */
static bool start_view(struct following *it, uint32_t type)
{
    const bool given = !json_number(it->line, "time", 0) && (type == EVENT_CUT || type == EVENT_CRASH);
    if (!it->world->present.unstarted || type == EVENT_REQUEST || given)
        return true;
    if (strcmp(it->event, "send") == 0 ? same_sends(it) : type == EVENT_TYPES && strcmp(it->event, "enter") != 0)
        return true;
    if (strcmp(it->event, "enter") == 0 && has_done(it, CV_EVENT_ENTER, json_number(it->line, "fence", 0)))
        return true;
    if (!list(it))
        return false;
    const struct explored_event *start = NULL;
    for (uint64_t i = 0; i < it->events.count && !start; i++)
        start = it->events.items[i].type == EVENT_START ? &it->events.items[i] : NULL;
    return start && take(it, start);
}

static bool is_timer(const struct following *it, uint32_t timer)
{
    const char *name = json_text(it->line, "timer");
    return name && strcmp(it->world->algorithm->timers[timer], name) == 0;
}

static bool is_meant(const struct following *it, const struct explored_event *event, uint32_t type)
{
    if (event->type != type || (event->node != it->node && event->partition == UINT32_MAX))
        return false;
    switch ((enum explored_type)type) {
    case EVENT_DELIVER:
    case EVENT_DROP:
        return event->message->serial == json_number(it->line, "message", 0);
    case EVENT_TIMEOUT:
        return is_timer(it, event->timer);
    case EVENT_TELL:
    case EVENT_TRUST:
    case EVENT_SUSPECT:
        return event->peer == node_at(it, "peer");
    case EVENT_CUT:
    case EVENT_HEAL:
        return event->partition != UINT32_MAX;
    default:
        return true;
    }
}

/* Of a fault, the one that the scenario plans comes first. */
static const struct explored_event *find(const struct following *it, uint32_t type)
{
    const struct explored_event *found = NULL;
    for (uint64_t i = 0; i < it->events.count; i++)
        if (is_meant(it, &it->events.items[i], type) && (!found || it->events.items[i].planned))
            found = &it->events.items[i];
    return found;
}

static bool take_cause(struct following *it, uint32_t type)
{
    struct explored_event event;
    const struct explored_event *found = find(it, type);
    if (!found && type == EVENT_TELL)
        found = find(it, EVENT_SUSPECT);
    if (!found && type == EVENT_TELL) {
        const struct cv_decision decision = {
            .type = CV_DECIDE_SUSPECT, .node = it->node, .peer = node_at(it, "peer"), .sent = CV_WHOLE};
        if (explored_match(it->world, &it->events, &decision, &event))
            found = &event;
    }
    return found ? take(it, found) : differs(it, "this cannot happen here");
}

/* ---- lines ---- */

static bool follow_event(struct following *it)
{
    static const struct {
        const char *name;
        uint32_t type;
    } causes[] = {{"start", EVENT_START},     {"request", EVENT_REQUEST}, {"leave", EVENT_LEAVE},
                  {"receive", EVENT_DELIVER}, {"timeout", EVENT_TIMEOUT}, {"suspect", EVENT_TELL},
                  {"trust", EVENT_TRUST},     {"crash", EVENT_CRASH},     {"recover", EVENT_RECOVER},
                  {"cut", EVENT_CUT},         {"heal", EVENT_HEAL},       {"lost", EVENT_DROP},
                  {"view", EVENT_VIEW}};
    const char *text = json_text(it->line, "text");
    uint32_t type = EVENT_TYPES;
    if (strcmp(it->event, "request") == 0 && text && strcmp(text, "again") == 0)
        return true; /* the view does that */
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (strcmp(it->event, causes[i].name) == 0)
            type = causes[i].type;
    if (!start_view(it, type))
        return false;
    if (type == EVENT_TYPES)
        return same_effect(it);
    if (!catch_up(it, json_number(it->line, "time", 0)))
        return false;
    if (type == EVENT_CRASH && it->node != CV_NOBODY && !explored_alive(it->world, it->node))
        return true; /* it has died in the middle of its step */
    if (type == EVENT_DROP && !find(it, EVENT_DROP))
        return true; /* it was lost when its receiver died */
    return take_cause(it, type);
}

/* False at the end, or where the story cannot go on. */
static bool follow_line(struct following *it, char *text)
{
    struct json_value *line = json_read(text);
    it->line = line;
    it->event = json_text(line, "event");
    it->node = json_get(line, "node") ? node_at(it, "node") : CV_NOBODY;
    bool goes_on = false;
    if (!line)
        cv_complain(&it->story->trouble, "line %llu of the trace: expected JSON", (unsigned long long)it->number);
    else if (it->event)
        goes_on = strcmp(it->event, "state") == 0 || follow_event(it);
    json_free(line);
    return goes_on;
}

int trace_follow(struct cv_story *story, const char *text)
{
    struct following it = {.story = story, .world = &story->world};
    char *copy = strdup(text);
    struct text_lines lines = {.rest = copy};
    if (!copy)
        return CV_ENOMEM;
    text_lines_next(&lines);
    for (char *line; (line = text_lines_next(&lines));) {
        it.number = lines.number;
        if (!follow_line(&it, line))
            break;
    }
    explored_events_free(&it.events);
    free(copy);
    return story->world.out_of_memory ? CV_ENOMEM : 0;
}
