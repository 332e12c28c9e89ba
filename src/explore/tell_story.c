// SPDX-License-Identifier: MIT
#include "explore/tell_story.h"

#include <stdlib.h>
#include <string.h>

#include "core/scenario/label.h"
#include "core/writer.h"
#include "explore/explored_events.h"
#include "show/phrase.h"
#include "show/text/diagram.h"
#include "show/text/transcript.h"

#define MESSAGE_TEXT 200u
#define INDEX_TEXT 160u

/* What was told of a step: events first .. end-1. */
struct span {
    const struct explored_step *step;
    const struct explored_told *first, *end;
};

static struct span span_of(const struct explored *world, uint64_t step)
{
    const uint64_t end = step + 1 < world->step_count ? world->steps[step + 1].told : world->told_count;
    return (struct span){&world->steps[step], world->told + world->steps[step].told, world->told + end};
}

/* ---- words ---- */

/* Links have no node: the detail says which two they join, or which partition it is. */
static const char *link_text(const struct explored *world, const struct cv_event *event, char text[CV_LINK_TEXT])
{
    const struct cv_scenario *scenario = world->scenario;
    const bool cut = event->type == CV_EVENT_CUT;
    if (event->detail > UINT64_MAX / 2)
        snprintf(text, CV_LINK_TEXT, "%s", cut ? "the network splits" : "the network is joined again");
    else
        snprintf(
            text, CV_LINK_TEXT, cut ? "the link between %s and %s is cut" : "the link between %s and %s works again",
            cv_name(scenario, (cv_node)(event->detail >> 32)).text, cv_name(scenario, (cv_node)event->detail).text);
    return text;
}

static void write_cause(FILE *out, const struct explored *world, const struct cv_content *content,
                        const struct explored_step *step, const struct explored_told *told)
{
    const struct cv_scenario *scenario = world->scenario;
    const struct cv_event *event = &told->event;
    char text[MESSAGE_TEXT];
    if (event->type == CV_EVENT_CUT || event->type == CV_EVENT_HEAL) {
        fputs(link_text(world, event, text), out);
        return;
    }
    if (event->node == CV_NOBODY) {
        cv_phrase_event(out, scenario, event);
        return;
    }
    fprintf(out, "%s ", cv_name(scenario, event->node).text);
    if (event->type == CV_EVENT_RECEIVE || event->type == CV_EVENT_LOST)
        fprintf(out, "%s %s from %s", event->type == CV_EVENT_LOST ? "misses" : "hears",
                cv_content_text(content, event->content, text, sizeof text), cv_name(scenario, event->peer).text);
    else if (step->type == EVENT_TELL)
        fprintf(out, "is told that %s is gone", cv_name(scenario, event->peer).text);
    else if (step->type == EVENT_DUPLICATE)
        fputs("will hear a message twice", out);
    else
        cv_phrase_event(out, scenario, event);
}

/* The sends that follow and say the same go to a list of nodes. Returns the end of them. */
static const struct explored_told *write_sends(FILE *out, const struct explored *world,
                                               const struct cv_content *content, const struct explored_told *told,
                                               const struct explored_told *end)
{
    const struct cv_scenario *scenario = world->scenario;
    char text[MESSAGE_TEXT];
    const struct explored_told *at = told;
    fprintf(out, "sends %s to ", cv_content_text(content, told->event.content, text, sizeof text));
    for (const char *join = ""; at < end; join = ", ") {
        if (at->event.type != CV_EVENT_SEND || at->event.node != told->event.node ||
            !cv_content_same(scenario, told->event.content, at->event.content))
            break;
        fprintf(out, "%s%s", join, cv_name(scenario, at->event.peer).text);
        at++;
        if (at < end && at->event.type == CV_EVENT_LOST && at->event.message == at[-1].event.message) {
            fputs(" (lost)", out);
            at++;
        }
    }
    return at;
}

/* Writes the next effect, with the name of its node if another node was told of before. Returns where the one after it
 * begins. */
static const struct explored_told *write_effect(FILE *out, const struct explored *world,
                                                const struct cv_content *content, const struct explored_told *told,
                                                const struct explored_told *end, cv_node *node)
{
    const struct cv_event *event = &told->event;
    char text[MESSAGE_TEXT];
    if (event->type != CV_EVENT_LOST && event->node != CV_NOBODY && event->node != *node) {
        *node = event->node;
        fprintf(out, "%s ", cv_name(world->scenario, event->node).text);
    }
    if (event->type == CV_EVENT_SEND)
        return write_sends(out, world, content, told, end);
    if (event->type == CV_EVENT_LOST)
        fprintf(out, "%s from %s is lost", cv_content_text(content, event->content, text, sizeof text),
                cv_name(world->scenario, event->peer).text);
    else
        cv_phrase_event(out, world->scenario, event);
    return told + 1;
}

/* ---- texts in JSON ---- */

struct text {
    FILE *out;
    char *bytes;
    size_t size;
};

static bool text_open(struct text *text)
{
    *text = (struct text){0};
    text->out = open_memstream(&text->bytes, &text->size);
    return text->out != NULL;
}

/* False if it could not be written. */
static bool text_close(struct text *text)
{
    return fclose(text->out) == 0 && text->bytes;
}

static bool tell_line(struct cv_json *json, const struct explored *world, const struct cv_content *content,
                      const struct span *span)
{
    struct text text;
    if (!text_open(&text))
        return false;
    cv_node node = span->first < span->end ? span->first->event.node : CV_NOBODY;
    if (span->first < span->end)
        write_cause(text.out, world, content, span->step, span->first);
    for (const struct explored_told *at = span->first + 1; at < span->end;) {
        fputs(", ", text.out);
        at = write_effect(text.out, world, content, at, span->end, &node);
    }
    const bool good = text_close(&text);
    if (good)
        cv_json_text(json, "text", text.bytes);
    free(text.bytes);
    return good;
}

static bool tell_effects(struct cv_json *json, const struct explored *world, const struct cv_content *content,
                         const struct span *span)
{
    cv_node node = span->first < span->end ? span->first->event.node : CV_NOBODY;
    cv_json_open(json, "effects", '[');
    for (const struct explored_told *at = span->first + 1; at < span->end;) {
        struct text text;
        if (!text_open(&text))
            return false;
        at = write_effect(text.out, world, content, at, span->end, &node);
        const bool good = text_close(&text);
        if (good)
            cv_json_text(json, NULL, text.bytes);
        free(text.bytes);
        if (!good)
            return false;
    }
    cv_json_close(json, ']');
    return true;
}

/* ---- steps ---- */

static const char *handler_name(uint32_t type)
{
    static const char *const names[EVENT_TYPES] = {
        [EVENT_START] = "start",     [EVENT_REQUEST] = "request", [EVENT_LEAVE] = "release",
        [EVENT_DELIVER] = "receive", [EVENT_TIMEOUT] = "timeout", [EVENT_TELL] = "suspect",
        [EVENT_SUSPECT] = "suspect", [EVENT_TRUST] = "trust",     [EVENT_RECOVER] = "recover"};
    return names[type];
}

static void tell_node_or_null(struct cv_json *json, const struct explored *world, const char *key, cv_node node)
{
    if (node < world->nodes)
        cv_json_count(json, key, node);
    else
        cv_json_null(json, key);
}

static void tell_violated(struct cv_json *json, uint32_t bits)
{
    cv_json_open(json, "violated", '[');
    for (uint32_t i = 0; i < CV_PROPERTY_COUNT; i++)
        if (bits >> i & 1)
            cv_json_text(json, NULL, cv_property((enum cv_property_number)i)->name);
    cv_json_close(json, ']');
}

static void tell_choices(struct cv_json *json, const struct explored *world)
{
    cv_json_open(json, "choices", '[');
    for (uint32_t i = 0; i < world->chosen; i++) {
        cv_json_open(json, NULL, '{');
        cv_json_count(json, "ways", world->ways[i]);
        cv_json_count(json, "chosen", world->took[i]);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

/* Which messages were sent, or lost. */
static void tell_sent(struct cv_json *json, const struct explored *world, const struct cv_content *content,
                      const struct span *span)
{
    char text[MESSAGE_TEXT];
    cv_json_open(json, "sent", '[');
    for (const struct explored_told *at = span->first; at < span->end; at++) {
        if (at->event.type != CV_EVENT_SEND)
            continue;
        const struct cv_message *message = at->event.content;
        cv_json_open(json, NULL, '{');
        cv_json_count(json, "serial", at->event.message);
        cv_json_count(json, "from", message->from);
        cv_json_count(json, "to", message->to);
        cv_json_text(json, "kind", world->algorithm->kinds[message->kind].name);
        cv_json_text(json, "text", cv_content_text(content, message, text, sizeof text));
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
    cv_json_open(json, "lost", '[');
    for (const struct explored_told *at = span->first; at < span->end; at++)
        if (at->event.type == CV_EVENT_LOST)
            cv_json_count(json, NULL, at->event.message);
    cv_json_close(json, ']');
}

/* What the node did: each of these is there only if it happened. */
static void tell_doings(struct cv_json *json, const struct span *span)
{
    for (const struct explored_told *at = span->first; at < span->end; at++)
        switch (at->event.type) {
        case CV_EVENT_CALL:
            cv_json_truth(json, "called", true);
            break;
        case CV_EVENT_ELECTED:
            cv_json_count(json, "elected", at->event.detail);
            break;
        case CV_EVENT_ENTER:
            cv_json_count(json, "entered", at->event.detail);
            break;
        case CV_EVENT_LEAVE:
            cv_json_truth(json, "left", true);
            break;
        case CV_EVENT_CRASH:
            cv_json_count(json, "crashed", at->event.node);
            break;
        case CV_EVENT_NOTE:
            cv_json_text(json, "note", at->event.text);
            break;
        case CV_EVENT_PULSE:
            cv_json_count(json, "round", at->event.detail);
            break;
        default:
            break;
        }
}

/* A number, or a text if no number says it all: see explored_way.h. */
static void tell_index(struct cv_json *json, const struct explored_step *step)
{
    char text[INDEX_TEXT];
    struct cv_writer writer = cv_writer(text, sizeof text);
    if (!step->vague) {
        cv_json_count(json, "index", step->index);
        return;
    }
    cv_writef(&writer, "%llu", (unsigned long long)step->index);
    for (uint32_t i = 0; i < step->decision.choice_count; i++)
        cv_writef(&writer, " chose %u", step->decision.choices[i]);
    if (step->decision.sent != CV_WHOLE)
        cv_writef(&writer, " sent %u%s", step->decision.sent, step->decision.missed ? " missed" : "");
    cv_json_text(json, "index", text);
}

static void tell_what(struct cv_json *json, const struct explored *world, const struct explored_step *step)
{
    tell_index(json, step);
    cv_json_text(json, "type", explored_type_name(step->type));
    tell_node_or_null(json, world, "node", step->decision.node);
    tell_node_or_null(json, world, "peer", step->decision.peer);
    if (step->serial)
        cv_json_count(json, "message", step->serial);
    else
        cv_json_null(json, "message");
    if (step->type == EVENT_TIMEOUT)
        cv_json_text(json, "timer", world->algorithm->timers[step->decision.which]);
    cv_json_text(json, "handler", handler_name(step->type));
}

int tell_step(struct cv_json *json, const struct explored *world, const struct cv_content *content)
{
    const struct span span = span_of(world, world->step_count - 1);
    cv_json_open(json, NULL, '{');
    cv_json_truth(json, "ok", true);
    cv_json_count(json, "step", world->step_count);
    tell_what(json, world, span.step);
    const bool good = tell_line(json, world, content, &span) && tell_effects(json, world, content, &span);
    tell_choices(json, world);
    tell_violated(json, span.step->violated);
    cv_json_close(json, '}');
    return good ? 0 : CV_ENOMEM;
}

int tell_history(struct cv_json *json, const char *key, const struct explored *world, const struct cv_content *content,
                 uint64_t from, uint64_t to)
{
    bool good = true;
    cv_json_open(json, key, '[');
    for (uint64_t step = from; good && step < to && step < world->step_count; step++) {
        const struct span span = span_of(world, step);
        const struct cv_event *first = span.first < span.end ? &span.first->event : NULL;
        cv_json_open(json, NULL, '{');
        cv_json_count(json, "step", step + 1);
        cv_json_count(json, "time", span.step->time);
        tell_what(json, world, span.step);
        good = tell_line(json, world, content, &span);
        if (first && first->type == CV_EVENT_RECEIVE)
            cv_json_count(json, "received", first->message);
        else
            cv_json_null(json, "received");
        tell_sent(json, world, content, &span);
        if (first && first->node != CV_NOBODY)
            cv_json_count(json, "clock", first->clock);
        else
            cv_json_null(json, "clock");
        tell_doings(json, &span);
        tell_violated(json, span.step->violated);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
    return good ? 0 : CV_ENOMEM;
}

/* ---- the whole story ---- */

void tell_again(const struct explored *world, const struct cv_observer *observer, char (*texts)[CV_LINK_TEXT])
{
    for (uint64_t i = 0; observer->event && i < world->told_count; i++) {
        struct cv_event event = world->told[i].event;
        if (event.type == CV_EVENT_CUT || event.type == CV_EVENT_HEAL)
            event.text = link_text(world, &event, texts[i]);
        observer->event(observer->context, &event);
    }
}

int tell_story(FILE *out, const struct explored *world, unsigned width)
{
    struct cv_history history;
    char(*texts)[CV_LINK_TEXT] = calloc(world->told_count + 1, sizeof *texts);
    int error = cv_history_init(&history, world->nodes);
    if (!texts)
        error = CV_ENOMEM;
    if (!error)
        tell_again(world, &(struct cv_observer){.event = cv_history_event, .context = &history}, texts);
    if (!error && history.out_of_memory)
        error = CV_ENOMEM;
    if (!error)
        error = width ? cv_diagram_write(out, world->scenario, &history, &(struct cv_diagram_options){.width = width})
                      : cv_transcript_write(out, world->scenario, &history, false);
    cv_history_free(&history);
    free(texts);
    return error;
}
