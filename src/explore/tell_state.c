// SPDX-License-Identifier: MIT
#include "explore/tell_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <conclave/synchronizer.h>

#include "core/formula/theory_symbols.h"
#include "core/scenario/field_text.h"
#include "core/scenario/fields.h"
#include "core/scenario/label.h"
#include "explore/explored_judge.h"
#include "explore/explored_network.h"
#include "show/text/report.h"

#define FIELD_TEXT 240u
#define MOST_NODES_FOR_PAIRS 16u /* larger groups have too many pairs of nodes to list all that can happen to them */

/* ---- nodes ---- */

static void tell_timers(struct cv_json *json, const struct explored *world, const struct explored_node *it)
{
    cv_json_open(json, "timers", '[');
    for (uint32_t timer = 0; timer < world->timers; timer++) {
        if (!it->timers[timer])
            continue;
        cv_json_open(json, NULL, '{');
        cv_json_count(json, "timer", timer);
        cv_json_text(json, "name", world->algorithm->timers[timer]);
        cv_json_count(json, "due", it->timers[timer] - 1);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

static void tell_suspects(struct cv_json *json, const struct explored *world, cv_node node)
{
    cv_json_open(json, "suspects", '[');
    for (cv_node other = 0; world->group.absence && other < world->nodes; other++)
        if (explored_has(world, node, SET_SUSPECTS, other))
            cv_json_count(json, NULL, other);
    cv_json_close(json, ']');
}

static void tell_fence(struct cv_json *json, const struct explored *world, const struct explored_node *it)
{
    if (it->flags & EXPLORED_INSIDE && it->entry != NO_OPEN_ENTRY)
        cv_json_count(json, "fence", world->entries[it->entry].fence);
    else
        cv_json_null(json, "fence");
}

static void tell_result(struct cv_json *json, const struct explored *world, const struct explored_node *it)
{
    if (world->scenario->app)
        cv_json_count(json, "round", it->round);
    if (!it->updates)
        return;
    cv_json_count(json, "result", it->result);
    if (it->via != CV_NOBODY)
        cv_json_count(json, "via", it->via);
}

/* The algorithm's own state, and the parent that it names, if it is part of a tree. */
static void tell_fields(struct cv_json *json, const struct explored *world, cv_node node)
{
    const struct explored_node *before = explored_before(world, node);
    const size_t offset =
        (size_t)((const char *)explored_state(world, node) - (const char *)explored_node(world, node));
    const void *state = explored_state(world, node);
    char text[FIELD_TEXT], old[FIELD_TEXT];
    uint64_t parent = CV_NOBODY;
    cv_json_open(json, "state", '[');
    for (struct cv_fields at = cv_fields_begin(world->scenario, NULL, node); !world->recorded && cv_fields_next(&at);) {
        cv_fields_text(&at, state, text, sizeof text);
        cv_json_open(json, NULL, '{');
        cv_json_text(json, "name", at.name);
        cv_json_text(json, "value", text);
        cv_json_truth(json, "changed",
                      before && strcmp(text, cv_fields_text(&at, (const char *)before + offset, old, sizeof old)) != 0);
        cv_json_close(json, '}');
        if (strcmp(at.name, "parent") == 0 && at.each == CV_ONCE)
            parent = cv_fields_number(&at, state);
    }
    cv_json_close(json, ']');
    if (parent < world->nodes)
        cv_json_count(json, "parent", parent);
    else
        cv_json_null(json, "parent");
}

static void tell_node(struct cv_json *json, const struct explored *world, cv_node node)
{
    const struct explored_node *it = explored_node(world, node);
    cv_json_open(json, NULL, '{');
    cv_json_count(json, "node", node);
    cv_json_truth(json, "alive", it->flags & EXPLORED_ALIVE);
    if (it->flags & EXPLORED_KNOWS)
        cv_json_count(json, "leader", it->leader);
    else
        cv_json_null(json, "leader");
    cv_json_truth(json, "calling", it->flags & EXPLORED_CALLING);
    cv_json_truth(json, "inside", it->flags & EXPLORED_INSIDE);
    tell_fence(json, world, it);
    cv_json_truth(json, "waiting", it->flags & EXPLORED_WAITING);
    cv_json_count(json, "clock", it->clock);
    tell_timers(json, world, it);
    tell_suspects(json, world, node);
    tell_fields(json, world, node);
    tell_result(json, world, it);
    cv_json_close(json, '}');
}

/* ---- messages ---- */

static void tell_list(struct cv_writer *writer, const struct cv_scenario *scenario, const uint32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cv_write(writer, i ? " " : "");
        cv_write(writer, cv_name_of(scenario, ids[i]).text);
    }
}

/* The fields of a message; of one that carries a message of an app, those of the app's. */
static void tell_body(struct cv_json *json, const struct explored *world, const struct cv_message *message)
{
    const struct cv_scenario *scenario = world->scenario;
    const struct cv_kind *kind = &world->algorithm->kinds[message->kind];
    const unsigned char *body = cv_body(message);
    size_t bytes = message->words * 4;
    if (cv_view_hosts(scenario, message)) {
        const struct cv_envelope *envelope = cv_body(message);
        kind = &scenario->app->kinds[envelope->kind];
        body += sizeof *envelope;
        bytes -= sizeof *envelope;
    }
    cv_json_open(json, "fields", '[');
    for (const struct cv_field *field = kind->fields; field && field->name; field++) {
        char name[FIELD_TEXT], value[FIELD_TEXT];
        struct cv_writer names = cv_writer(name, sizeof name), values = cv_writer(value, sizeof value);
        const uint64_t row = field->bytes ? 0 : cv_kind_numbers(kind, scenario->group.nodes);
        const uint32_t *tail = (const uint32_t *)(const void *)(body + field->offset);
        if (field->offset + field->bytes + row * 4 > bytes || field->type == CV_FIELD_UNUSED)
            continue;
        cv_field_write_name(&names, field->name);
        if (field->type == CV_FIELD_LIST)
            tell_list(&values, scenario, tail + row, (bytes - field->offset) / 4 - row);
        else if (field->type == CV_FIELD_NUMBERS)
            cv_field_write_numbers(&values, tail, row);
        else
            cv_field_write(&values, scenario, field, cv_field_read(field, body));
        cv_json_open(json, NULL, '{');
        cv_json_text(json, "name", name);
        cv_json_text(json, "value", value);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

/* `event` delivers it; NULL: it is not its turn. */
static void tell_message(struct cv_json *json, const struct explored *world, const struct cv_content *content,
                         const struct explored_message *message, const struct explored_event *event)
{
    char text[TELL_TEXT];
    cv_json_open(json, NULL, '{');
    cv_json_count(json, "serial", message->serial);
    cv_json_count(json, "from", message->content.from);
    cv_json_count(json, "to", message->content.to);
    cv_json_text(json, "kind", world->algorithm->kinds[message->content.kind].name);
    cv_json_text(json, "text", cv_content_text(content, &message->content, text, sizeof text));
    tell_body(json, world, &message->content);
    cv_json_truth(json, "deliverable", event != NULL);
    if (event)
        cv_json_count(json, "event", event->index);
    cv_json_count(json, "due", message->due);
    cv_json_close(json, '}');
}

/* The events that deliver messages stand in the order of the messages. */
static void tell_messages(struct cv_json *json, const struct explored *world, const struct cv_content *content,
                          const struct explored_events *events, uint64_t most)
{
    uint64_t at = 0, untold = 0;
    cv_json_open(json, "messages", '[');
    for (const struct explored_message *it = world->present.first; it; it = it->after) {
        if (!most) {
            untold++;
            continue;
        }
        most--;
        while (at < events->count && events->items[at].type < EVENT_DELIVER)
            at++;
        const bool deliverable =
            at < events->count && events->items[at].type == EVENT_DELIVER && events->items[at].message == it;
        tell_message(json, world, content, it, deliverable ? &events->items[at] : NULL);
        at += deliverable;
    }
    cv_json_close(json, ']');
    if (untold)
        cv_json_count(json, "messages_untold", untold);
}

/* ---- counts ---- */

static void tell_counts(struct cv_json *json, const struct explored *world)
{
    cv_json_open(json, "counts", '{');
    cv_json_count(json, "total", world->present.total);
    cv_json_open(json, "by_kind", '{');
    for (uint32_t kind = 0; kind < world->kinds; kind++)
        cv_json_count(json, world->algorithm->kinds[kind].name, world->counts[kind]);
    cv_json_close(json, '}');
    if (world->algorithm->hints.preparing)
        cv_json_count(json, "preparing", world->present.preparing);
    cv_json_close(json, '}');
}

/* The formulas count whole entries. */
static bool all_served(const struct explored *world)
{
    for (uint64_t i = 0; i < world->present.entries; i++)
        if (world->entries[i].entered == CV_NEVER)
            return false;
    return true;
}

static int tell_expectation(struct cv_json *json, struct explored *world, enum cv_measure measure, bool ended)
{
    const char *key = measure == CV_MESSAGES ? "messages" : "delay";
    const double counted = (double)(measure == CV_MESSAGES ? world->present.total : world->present.arrived);
    struct cv_expectation expected = {0};
    const int error = world->recorded ? 0 : explored_expect(world, measure, &expected);
    if (error || !expected.cost || (ended && !all_served(world))) {
        cv_json_null(json, key);
        return error;
    }
    cv_json_open(json, key, '{');
    cv_json_text(json, "case", expected.cost->label);
    cv_json_text(json, "formula", expected.cost->formula);
    cv_json_real(json, "value", expected.value);
    cv_json_text(json, "relation", expected.cost->exact ? "=" : "<=");
    cv_json_real(json, "counted", counted);
    cv_json_truth(json, "holds", ended && expected.cost->exact ? counted == expected.value : counted <= expected.value);
    cv_json_text(json, "source", cv_source_name(expected.cost));
    cv_json_text(json, "where", expected.cost->where);
    cv_json_close(json, '}');
    return 0;
}

/* ---- links and properties ---- */

static void tell_cuts(struct cv_json *json, const struct explored *world)
{
    cv_json_open(json, "cuts", '[');
    for (cv_node one = 0; world->present.cuts && one < world->nodes; one++)
        for (cv_node other = one + 1; other < world->nodes; other++)
            if (explored_is_cut(world, one, other))
                cv_json_numbers(json, NULL, (const uint32_t[]){one, other}, 2);
    cv_json_close(json, ']');
}

int tell_state(struct cv_json *json, const char *key, struct explored *world, const struct cv_content *content,
               const struct explored_events *events, uint64_t most_messages)
{
    const bool ended = events->next == UINT64_MAX;
    struct cv_judgement judgement = {.verdict = CV_UNFINISHED, .reason = "it was recorded; conclave judge judges it"};
    int error = world->recorded ? 0 : explored_judge(world, &judgement);
    if (error)
        return error;
    cv_json_open(json, key, '{');
    cv_json_count(json, "step", world->step_count);
    cv_json_count(json, "time", world->present.now);
    cv_json_truth(json, "ended", ended);
    cv_json_text(json, "verdict", judgement.verdict == CV_UNFINISHED ? "open" : cv_verdict_name(judgement.verdict));
    cv_json_text(json, "reason", judgement.reason);
    cv_json_open(json, "nodes", '[');
    for (cv_node node = 0; node < world->nodes; node++)
        tell_node(json, world, node);
    cv_json_close(json, ']');
    tell_messages(json, world, content, events, most_messages);
    tell_counts(json, world);
    cv_json_open(json, "theory", '{');
    error = tell_expectation(json, world, CV_MESSAGES, ended);
    if (!error)
        error = tell_expectation(json, world, CV_DELAY, ended);
    cv_json_close(json, '}');
    tell_cuts(json, world);
    cv_report_properties(json, &judgement, "open");
    cv_json_close(json, '}');
    return error;
}

/* ---- events ---- */

/* Which of the partition's sides? It is told by its link, or as a whole. */
static void tell_link(const struct explored *world, const struct explored_event *event, char text[TELL_TEXT])
{
    const struct cv_scenario *scenario = world->scenario;
    const bool cuts = event->type == EVENT_CUT;
    if (event->partition != UINT32_MAX)
        snprintf(text, TELL_TEXT, "%s", cuts ? "the network splits" : "the network is joined again");
    else
        snprintf(text, TELL_TEXT, "%s the link between %s and %s", cuts ? "cut" : "heal",
                 cv_name(scenario, event->node).text, cv_name(scenario, event->peer).text);
}

void tell_event_text(const struct explored *world, const struct cv_content *content, const struct explored_event *event,
                     char text[TELL_TEXT])
{
    const struct cv_scenario *scenario = world->scenario;
    char said[TELL_TEXT / 2] = "";
    const struct cv_name node = event->node < world->nodes ? cv_name(scenario, event->node) : (struct cv_name){""};
    const struct cv_name peer = event->peer < world->nodes ? cv_name(scenario, event->peer) : (struct cv_name){""};
    if (event->message)
        cv_content_text(content, &event->message->content, said, sizeof said);
    switch ((enum explored_type)event->type) {
    case EVENT_START:
        snprintf(text, TELL_TEXT, world->algorithm->problem == CV_ELECTION ? "%s calls an election" : "%s starts",
                 event->node == CV_NOBODY ? "everybody" : node.text);
        break;
    case EVENT_REQUEST:
        snprintf(text, TELL_TEXT, "%s wants to enter", node.text);
        break;
    case EVENT_LEAVE:
        snprintf(text, TELL_TEXT, "%s leaves", node.text);
        break;
    case EVENT_TIMEOUT:
        snprintf(text, TELL_TEXT, "%s times out (%s)", node.text, world->algorithm->timers[event->timer]);
        break;
    case EVENT_TELL:
        snprintf(text, TELL_TEXT, "%s is told that %s is gone", node.text, peer.text);
        break;
    case EVENT_TRUST:
        snprintf(text, TELL_TEXT, "%s is told that %s is back", node.text, peer.text);
        break;
    case EVENT_CRASH:
        snprintf(text, TELL_TEXT, "%s crashes", node.text);
        break;
    case EVENT_MISS:
        snprintf(text, TELL_TEXT, "%s crashes, and nobody is told", node.text);
        break;
    case EVENT_RECOVER:
        snprintf(text, TELL_TEXT, "%s comes back", node.text);
        break;
    case EVENT_SUSPECT:
        snprintf(text, TELL_TEXT, "%s suspects %s, which is alive", node.text, peer.text);
        break;
    case EVENT_VIEW:
        snprintf(text, TELL_TEXT, "view %llu begins%s%s", (unsigned long long)world->present.epoch + 1,
                 event->peer < world->nodes ? "; its coordinator is " : "", peer.text);
        break;
    case EVENT_CUT:
    case EVENT_HEAL:
        tell_link(world, event, text);
        break;
    default:
        snprintf(text, TELL_TEXT, "%s %s from %s to %s", explored_type_name(event->type), said, peer.text, node.text);
        break;
    }
}

static void tell_event(struct cv_json *json, const struct explored *world, const struct cv_content *content,
                       const struct explored_event *event, bool next)
{
    char text[TELL_TEXT];
    cv_json_open(json, NULL, '{');
    cv_json_count(json, "index", event->index);
    cv_json_text(json, "type", explored_type_name(event->type));
    if (event->node < world->nodes)
        cv_json_count(json, "node", event->node);
    else
        cv_json_null(json, "node");
    if (event->peer < world->nodes)
        cv_json_count(json, "peer", event->peer);
    else
        cv_json_null(json, "peer");
    if (event->message)
        cv_json_count(json, "message", event->message->serial);
    else
        cv_json_null(json, "message");
    if (event->type == EVENT_TIMEOUT)
        cv_json_count(json, "timer", event->timer);
    tell_event_text(world, content, event, text);
    cv_json_text(json, "text", text);
    cv_json_truth(json, "likely", event->likely);
    if (next)
        cv_json_truth(json, "next", true);
    if (event->early)
        cv_json_truth(json, "early", true);
    if (event->planned)
        cv_json_truth(json, "planned", true);
    cv_json_close(json, '}');
}

static bool is_listed(const struct explored *world, const struct explored_event *event, const struct told_events *told)
{
    if (told->node != CV_NOBODY || told->serial)
        return (told->node != CV_NOBODY && (event->node == told->node || event->peer == told->node)) ||
               (told->serial && event->message && event->message->serial == told->serial);
    return world->nodes <= MOST_NODES_FOR_PAIRS || event->planned ||
           (event->type != EVENT_DROP && event->type != EVENT_DUPLICATE);
}

/* Only links that the topology has are worth cutting: in a graph those of the graph. */
static bool is_link(const struct explored *world, cv_node one, cv_node other)
{
    const struct cv_group *group = &world->group;
    for (uint64_t e = world->graph ? group->edges[one] : 0; world->graph && e < group->edges[one + 1]; e++)
        if (group->neighbours[e] == other)
            return true;
    return !world->graph;
}

/* Is there still room for one of these? */
static bool count_event(struct told_events *told, const struct explored_event *event)
{
    return told->counts[event->likely ? EVENT_TYPES : event->type]++ < told->most;
}

static void tell_pairs(struct cv_json *json, struct explored *world, const struct cv_content *content,
                       const struct explored_events *events, struct told_events *told)
{
    const uint64_t nodes = world->nodes;
    const cv_node node = told->node;
    for (uint64_t i = 0; i < 2 * nodes * nodes; i++) {
        const cv_node one = (cv_node)(i / nodes % nodes), other = (cv_node)(i % nodes);
        struct explored_event event;
        if ((node == CV_NOBODY || one == node || other == node) &&
            explored_find(world, events, events->count + i, &event) &&
            (event.type != EVENT_CUT || is_link(world, one, other)) && count_event(told, &event))
            tell_event(json, world, content, &event, false);
    }
}

/* The next one is told in any case. */
void tell_events(struct cv_json *json, const char *key, struct explored *world, const struct cv_content *content,
                 const struct explored_events *events, struct told_events *told)
{
    cv_json_open(json, key, '[');
    for (uint64_t i = 0; i < events->count; i++)
        if (is_listed(world, &events->items[i], told) && (count_event(told, &events->items[i]) || i == events->next))
            tell_event(json, world, content, &events->items[i], i == events->next);
    if (told->node != CV_NOBODY || (world->nodes <= MOST_NODES_FOR_PAIRS && !told->serial))
        tell_pairs(json, world, content, events, told);
    cv_json_close(json, ']');
}

void tell_untold(struct cv_json *json, const char *key, const struct told_events *told)
{
    cv_json_open(json, key, '{');
    for (uint32_t type = 0; type <= EVENT_TYPES; type++)
        if (told->counts[type] > told->most)
            cv_json_count(json, type == EVENT_TYPES ? "likely" : explored_type_name(type),
                          told->counts[type] - told->most);
    cv_json_close(json, '}');
}
