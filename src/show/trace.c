// SPDX-License-Identifier: MIT
#include "show/trace.h"

#include <stdlib.h>

#include <conclave/synchronizer.h>

#include "core/scenario/field_text.h"
#include "core/scenario/validity.h"
#include "show/content.h"
#include "show/json.h"

struct cv_trace_target {
    cv_node to;
    bool lost; /* at once: it was cut off */
    uint64_t message;
    uint64_t clock; /* the node that did not receive it */
};

/* ---- the parts of a line ---- */

static void write_clocks(struct cv_trace *trace, struct cv_json *json, cv_node node, uint64_t lamport)
{
    cv_json_count(json, "lamport", lamport);
    const uint32_t *vector = cv_clocks_vector(&trace->clocks, node);
    if (!vector)
        return;
    cv_json_open(json, "vector", '{');
    for (cv_node other = 0; other < trace->clocks.nodes; other++)
        if (vector[other])
            cv_json_numbered(json, cv_view_id(trace->scenario, other), true, vector[other]);
    cv_json_close(json, '}');
}

static const struct cv_kind *hosted_kind(const struct cv_scenario *scenario, const struct cv_message *message)
{
    const struct cv_envelope *envelope = cv_body(message);
    return &scenario->app->kinds[envelope->kind];
}

/* Writes round and kind of the app's message; returns the size of the envelope in words. */
static uint64_t write_envelope(struct cv_trace *trace, struct cv_json *json, const struct cv_message *message)
{
    const struct cv_envelope *envelope = cv_body(message);
    cv_json_count(json, "round", envelope->round);
    cv_json_text(json, "app", hosted_kind(trace->scenario, message)->name);
    return sizeof *envelope / sizeof(uint32_t);
}

/* ---- fields ---- */

/* A number as such, a node by its id, nothing as null; all else as people read it. */
static void write_value(struct cv_trace *trace, struct cv_json *json, const char *name, uint32_t type, uint64_t value,
                        const char *text)
{
    const struct cv_group *group = &trace->scenario->group;
    const bool nothing = strcmp(text, "-") == 0 || strcmp(text, "∞") == 0;
    if (type == CV_FIELD_FLAG)
        cv_json_truth(json, name, value);
    else if (nothing)
        cv_json_null(json, name);
    else if (type == CV_FIELD_NUMBER || type == CV_FIELD_CLOCK || type == CV_FIELD_FENCE || type == CV_FIELD_ID)
        cv_json_count(json, name, value);
    else if ((type == CV_FIELD_NODE || type == CV_FIELD_MAYBE) && value < group->nodes)
        cv_json_count(json, name, group->ids[value]);
    else if (type == CV_FIELD_RANK)
        cv_json_count(json, name, cv_rank_id(value));
    else
        cv_json_text(json, name, text);
}

/* The fields of the body by their names. The list is not among them: it has a key of its own. */
static void write_fields(struct cv_trace *trace, struct cv_json *json, const struct cv_kind *kind, const void *body,
                         uint64_t words)
{
    if (!kind->fields || kind->fields->type == CV_FIELD_LIST)
        return;
    const uint64_t row = cv_kind_numbers(kind, trace->scenario->group.nodes);
    cv_json_open(json, "fields", '{');
    for (const struct cv_field *field = kind->fields; field->name; field++) {
        char text[CV_CHANGE_TEXT];
        struct cv_writer writer = cv_writer(text, sizeof text);
        if (field->type == CV_FIELD_LIST || field->type == CV_FIELD_UNUSED || field->offset + field->bytes > words * 4)
            continue;
        if (field->type == CV_FIELD_NUMBERS) {
            cv_json_numbers(json, field->name, (const uint32_t *)body + field->offset / 4, row);
            continue;
        }
        const uint64_t value = cv_field_read(field, body);
        cv_field_write_said(&writer, trace->scenario, field, value);
        write_value(trace, json, field->name, field->type, value, text);
    }
    cv_json_close(json, '}');
}

/* The body as 32-bit words; the list of ids after it, where the kind has one, apart. */
static void write_content(struct cv_trace *trace, struct cv_json *json, const struct cv_message *message)
{
    const struct cv_kind *kind = &trace->scenario->algorithm->kinds[message->kind];
    const uint32_t *words = cv_body(message);
    const uint64_t head = cv_content_head(kind, trace->scenario->group.nodes, message);
    cv_json_text(json, "kind", kind->name);
    const uint64_t first = cv_view_hosts(trace->scenario, message) ? write_envelope(trace, json, message) : 0;
    if (head > first)
        cv_json_numbers(json, "body", words + first, head - first);
    if (cv_kind_has_list(kind))
        cv_json_numbers(json, "list", words + head, message->words - head);
    write_fields(trace, json, first ? hosted_kind(trace->scenario, message) : kind, words + first, head - first);
}

static void begin_line(struct cv_trace *trace, struct cv_json *json, const struct cv_event *event)
{
    *json = (struct cv_json){.out = trace->out};
    cv_json_open(json, NULL, '{');
    cv_json_count(json, "time", event->time);
    cv_json_text(json, "event", cv_event_name(event->type));
    if (event->node != CV_NOBODY)
        cv_json_count(json, "node", cv_view_id(trace->scenario, event->node));
}

static void end_line(struct cv_trace *trace, struct cv_json *json)
{
    cv_json_close(json, '}');
    putc('\n', trace->out);
}

/* ---- sends, which wait until it is known whether more of the same follow ---- */

static void write_loss(struct cv_trace *trace, const struct cv_event *event)
{
    struct cv_json json;
    begin_line(trace, &json, event);
    cv_json_count(&json, "lamport", event->clock);
    cv_json_count(&json, "message", event->message);
    cv_json_count(&json, "from", cv_view_id(trace->scenario, event->peer));
    write_content(trace, &json, event->content);
    end_line(trace, &json);
}

static void write_targets(struct cv_trace *trace, struct cv_json *json)
{
    if (trace->target_count == 1) {
        cv_json_count(json, "message", trace->targets[0].message);
        cv_json_count(json, "to", cv_view_id(trace->scenario, trace->targets[0].to));
        return;
    }
    cv_json_open(json, "messages", '[');
    for (size_t i = 0; i < trace->target_count; i++)
        cv_json_count(json, NULL, trace->targets[i].message);
    cv_json_close(json, ']');
    cv_json_open(json, "to", '[');
    for (size_t i = 0; i < trace->target_count; i++)
        cv_json_count(json, NULL, cv_view_id(trace->scenario, trace->targets[i].to));
    cv_json_close(json, ']');
}

static void flush_send(struct cv_trace *trace)
{
    if (!trace->target_count)
        return;
    struct cv_json json;
    begin_line(trace, &json, &trace->send);
    write_clocks(trace, &json, trace->send.node, trace->send.clock);
    write_targets(trace, &json);
    if (trace->scenario->names > 1)
        cv_json_count(&json, "name", trace->send.name);
    write_content(trace, &json, trace->content);
    end_line(trace, &json);
    for (size_t i = 0; i < trace->target_count; i++) {
        const struct cv_trace_target *target = &trace->targets[i];
        if (target->lost)
            write_loss(trace, &(struct cv_event){.type = CV_EVENT_LOST,
                                                 .node = target->to,
                                                 .peer = trace->send.node,
                                                 .time = trace->send.time,
                                                 .clock = target->clock,
                                                 .message = target->message,
                                                 .content = trace->content});
    }
    trace->target_count = 0;
}

static bool same_multicast(const struct cv_trace *trace, const struct cv_event *event)
{
    return trace->target_count && event->node == trace->send.node && event->clock == trace->send.clock &&
           event->name == trace->send.name && cv_content_same(trace->scenario, trace->content, event->content);
}

static bool keep_content(struct cv_trace *trace, const struct cv_message *message)
{
    const size_t bytes = cv_message_bytes(message);
    if (bytes > trace->content_room) {
        struct cv_message *content = realloc(trace->content, bytes);
        if (!content)
            return false;
        trace->content = content;
        trace->content_room = bytes;
    }
    memcpy(trace->content, message, bytes);
    return true;
}

static bool grow_targets(struct cv_trace *trace)
{
    const size_t room = trace->target_room ? 2 * trace->target_room : 16;
    struct cv_trace_target *targets = realloc(trace->targets, room * sizeof *targets);
    if (!targets)
        return false;
    trace->targets = targets;
    trace->target_room = room;
    return true;
}

static void add_send(struct cv_trace *trace, const struct cv_event *event)
{
    if (!same_multicast(trace, event)) {
        flush_send(trace);
        trace->send = *event;
        if (!keep_content(trace, event->content))
            trace->out_of_memory = true;
    }
    if (trace->target_count == trace->target_room && !grow_targets(trace))
        trace->out_of_memory = true;
    if (!trace->out_of_memory)
        trace->targets[trace->target_count++] = (struct cv_trace_target){.to = event->peer, .message = event->message};
}

/* ---- events ---- */

static void write_event(struct cv_trace *trace, const struct cv_event *event)
{
    struct cv_json json;
    begin_line(trace, &json, event);
    if (event->node != CV_NOBODY)
        write_clocks(trace, &json, event->node, event->clock);
    if (event->message)
        cv_json_count(&json, "message", event->message);
    if (event->peer != CV_NOBODY)
        cv_json_count(&json,
                      event->type == CV_EVENT_RECEIVE  ? "from"
                      : event->type == CV_EVENT_VIEW   ? "coordinator"
                      : event->type == CV_EVENT_RESULT ? "via"
                                                       : "peer",
                      cv_view_id(trace->scenario, event->peer));
    if (event->content)
        write_content(trace, &json, event->content);
    if (event->type == CV_EVENT_ELECTED)
        cv_json_count(&json, "leader", event->detail);
    if (event->type == CV_EVENT_ENTER)
        cv_json_count(&json, "fence", event->detail);
    if (event->type == CV_EVENT_VIEW)
        cv_json_count(&json, "view", event->detail);
    if (event->type == CV_EVENT_PULSE)
        cv_json_count(&json, "round", event->detail);
    if (event->type == CV_EVENT_RESULT)
        cv_json_count(&json, "result", event->detail);
    if (trace->scenario->names > 1 && event->node != CV_NOBODY)
        cv_json_count(&json, "name", event->name);
    if (event->text)
        cv_json_text(&json, event->type == CV_EVENT_TIMEOUT ? "timer" : "text", event->text);
    end_line(trace, &json);
}

void cv_trace_event(void *context, const struct cv_event *event)
{
    struct cv_trace *trace = context;
    if (trace->out_of_memory)
        return;
    struct cv_trace_target *last = trace->target_count ? &trace->targets[trace->target_count - 1] : NULL;
    if (event->type == CV_EVENT_LOST && last && last->message == event->message) {
        cv_clocks_event(&trace->clocks, event);
        last->lost = true;
        last->clock = event->clock;
        return;
    }
    if (event->type != CV_EVENT_SEND)
        flush_send(trace);
    else if (!same_multicast(trace, event))
        flush_send(trace); /* before the node's vector changes */
    cv_clocks_event(&trace->clocks, event);
    if (event->type == CV_EVENT_SEND)
        add_send(trace, event);
    else if (event->type == CV_EVENT_LOST)
        write_loss(trace, event);
    else
        write_event(trace, event);
    trace->out_of_memory = trace->out_of_memory || trace->clocks.out_of_memory;
}

/* ---- states ---- */

/* A trace and the line it is writing. */
struct line {
    struct cv_trace *trace;
    struct cv_json *json;
};

static void write_change(void *context, const struct cv_field_change *change)
{
    const struct line *line = context;
    const struct cv_fields *field = change->field;
    const uint32_t type = field->each || field->count != 1 ? CV_FIELD_LIST : field->type;
    write_value(line->trace, line->json, field->name, type, cv_fields_number(field, change->state), change->text);
}

void cv_trace_state(void *context, const struct cv_snapshot *snapshot)
{
    struct cv_trace *trace = context;
    struct cv_json json;
    if (trace->out_of_memory || !cv_state_changes_look(&trace->changes, snapshot))
        return;
    const uint64_t count = cv_state_changes_count(&trace->changes, snapshot);
    if (count == 1)
        return; /* nothing has happened yet */
    flush_send(trace);
    json = (struct cv_json){.out = trace->out};
    cv_json_open(&json, NULL, '{');
    cv_json_count(&json, "time", snapshot->time);
    cv_json_text(&json, "event", "state");
    cv_json_count(&json, "node", cv_view_id(trace->scenario, snapshot->node));
    if (trace->scenario->names > 1)
        cv_json_count(&json, "name", snapshot->name);
    cv_json_open(&json, "state", '{');
    cv_state_changes_tell(&trace->changes, snapshot, count == 2, write_change, &(struct line){trace, &json});
    cv_json_close(&json, '}');
    end_line(trace, &json);
}

/* ---- the first line and the last ---- */

void cv_json_plan_files(struct cv_json *json, const struct cv_plan *plan)
{
    struct cv_plan_file files[CV_MOST_PLAN_FILES];
    const uint32_t count = cv_plan_files(plan, files);
    cv_json_open(json, "files", '{');
    for (uint32_t i = 0; i < count; i++)
        cv_json_text(json, files[i].name, files[i].text);
    cv_json_close(json, '}');
}

static void write_source(struct cv_json *json, const struct cv_trace_source *source)
{
    if (source->replay) {
        cv_json_text(json, "replay", source->replay);
        return;
    }
    cv_json_open(json, "words", '[');
    for (uint32_t i = 0; i < source->words->count; i++)
        cv_json_text(json, NULL, source->words->word[i]);
    cv_json_close(json, ']');
    struct cv_plan_file files[CV_MOST_PLAN_FILES];
    if (cv_plan_files(source->plan, files))
        cv_json_plan_files(json, source->plan);
}

static void write_header(struct cv_trace *trace, const struct cv_trace_source *source)
{
    const struct cv_scenario *scenario = trace->scenario;
    const struct cv_algorithm *algorithm = scenario->algorithm;
    struct cv_json json = {.out = trace->out};
    cv_json_open(&json, NULL, '{');
    cv_json_count(&json, "schema", 1);
    cv_json_text(&json, "type", "header");
    cv_json_text(&json, "algorithm", algorithm->name);
    cv_json_text(&json, "title", algorithm->title);
    if (scenario->app)
        cv_json_text(&json, "app", scenario->app->name);
    cv_json_count(&json, "seed", scenario->seed);
    cv_json_open(&json, "nodes", '[');
    for (cv_node node = 0; node < scenario->group.nodes; node++)
        cv_json_count(&json, NULL, cv_view_id(scenario, node));
    cv_json_close(&json, ']');
    if (scenario->group.attributes) {
        cv_json_open(&json, "attributes", '[');
        for (cv_node node = 0; node < scenario->group.nodes; node++)
            cv_json_count(&json, NULL, scenario->group.attributes[node]);
        cv_json_close(&json, ']');
    }
    cv_json_open(&json, "kinds", '[');
    for (const struct cv_kind *kind = algorithm->kinds; kind && kind->name; kind++)
        cv_json_text(&json, NULL, kind->name);
    cv_json_close(&json, ']');
    cv_json_truth(&json, "vectors", trace->clocks.nodes != 0);
    if (source)
        write_source(&json, source);
    end_line(trace, &json);
}

int cv_trace_begin(struct cv_trace *trace, FILE *out, const struct cv_scenario *scenario,
                   const struct cv_trace_source *source)
{
    *trace = (struct cv_trace){.out = out, .scenario = scenario};
    trace->out_of_memory = cv_clocks_init(&trace->clocks, scenario->group.nodes) != 0 ||
                           cv_state_changes_init(&trace->changes, scenario) != 0;
    if (trace->out_of_memory)
        return CV_ENOMEM;
    write_header(trace, source);
    return 0;
}

int cv_trace_end(struct cv_trace *trace, const struct cv_run *run, const struct cv_judgement *judgement)
{
    if (run && !trace->out_of_memory) {
        flush_send(trace);
        struct cv_json json = {.out = trace->out};
        cv_json_open(&json, NULL, '{');
        cv_json_text(&json, "type", "end");
        cv_json_text(&json, "verdict", cv_verdict_name(judgement->verdict));
        cv_json_text(&json, "reason", judgement->reason);
        if (judgement->has_leader)
            cv_json_count(&json, "leader", judgement->leader);
        else
            cv_json_null(&json, "leader");
        cv_json_count(&json, "time", run->time);
        cv_json_count(&json, "messages", run->total);
        end_line(trace, &json);
    }
    const int result = trace->out_of_memory || trace->changes.out_of_memory ? CV_ENOMEM : 0;
    cv_clocks_free(&trace->clocks);
    cv_state_changes_free(&trace->changes);
    free(trace->content);
    free(trace->targets);
    *trace = (struct cv_trace){0};
    return result;
}
