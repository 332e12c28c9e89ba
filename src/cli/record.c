// SPDX-License-Identifier: MIT
#include "cli/record.h"

#include <errno.h>
#include <string.h>

#include "core/parse.h"
#include "core/printable.h"
#include "core/scenario/validity.h"
#include "live/member_group.h"
#include "show/content.h"
#include "show/json.h"

#define MARK_US 1000000u

static cv_id id_of(const struct record *record, cv_node node)
{
    return record->member->roster.ids[node];
}

static const char *subject_name(const struct cv_instance *instance)
{
    return instance->subject == CV_SUBJECT_GROUP ? "group" : instance->subject == CV_SUBJECT_LOCK ? "lock" : "election";
}

static void end_line(struct record *record, struct cv_json *json)
{
    cv_json_close(json, '}');
    putc('\n', record->file);
}

static void write_message(struct record *record, struct cv_json *json, const struct cv_instance *instance,
                          const struct cv_event *event)
{
    const struct cv_message *message = event->content;
    const struct cv_kind *kind = &instance->policy->algorithm->kinds[message->kind];
    const uint32_t *words = cv_body(message);
    const uint64_t head = cv_content_head(kind, instance->policy->group.nodes, message);
    cv_json_count(json, "message", event->message);
    cv_json_count(json, event->type == CV_EVENT_SEND ? "to" : "from", id_of(record, event->peer));
    cv_json_text(json, "kind", kind->name);
    cv_json_numbers(json, "body", words, head);
    if (cv_kind_has_list(kind))
        cv_json_numbers(json, "list", words + head, message->words - head);
}

static void write_subject(struct cv_json *json, const struct cv_instance *instance)
{
    cv_json_text(json, "subject", subject_name(instance));
    char name[4 * CV_NAME_BYTES + 1]; /* escaped, so that the line is text, and different names stay different */
    cv_show(name, sizeof name, cv_instance_name(instance));
    cv_json_text(json, "name", name);
    cv_json_text(json, "algorithm", instance->policy->algorithm->name);
    cv_json_count(json, "round", instance->round);
}

/* What a view has not taken over ended with the view before, or earlier, with the lease. */
static void write_end(struct cv_json *json, const struct record *record, uint64_t time, bool lost)
{
    const uint64_t held_until = cv_member_held_until(record->member), view_ended = record->member->ended_us;
    const uint64_t ended = lost && view_ended < held_until ? view_ended : held_until;
    if (ended < time)
        cv_json_count(json, "ended", ended);
}

static void write_event(void *context, const struct cv_instance *instance, const struct cv_event *event)
{
    struct record *record = context;
    struct cv_json json = {.out = record->file};
    if (instance->subject == CV_SUBJECT_ELECTION)
        return; /* candidates come and go, and the properties judge a single election */
    cv_json_open(&json, NULL, '{');
    cv_json_count(&json, "time", event->time);
    cv_json_text(&json, "event", cv_event_name(event->type));
    cv_json_count(&json, "node", id_of(record, event->node));
    cv_json_count(&json, "lamport", event->clock);
    write_subject(&json, instance);
    if (event->content)
        write_message(record, &json, instance, event);
    else if (event->peer != CV_NOBODY)
        cv_json_count(&json, "peer", id_of(record, event->peer));
    if (event->type == CV_EVENT_ELECTED)
        cv_json_count(&json, "leader", event->detail);
    if (event->type == CV_EVENT_ENTER)
        cv_json_count(&json, "fence", event->detail);
    if (event->type == CV_EVENT_LEAVE)
        write_end(&json, record, event->time, event->text);
    if (event->type == CV_EVENT_CALL && event->detail)
        cv_json_truth(&json, "recalled", true);
    if (event->type == CV_EVENT_NOTE && event->detail)
        cv_json_text(&json, "broken", event->text);
    else if (event->text)
        cv_json_text(&json, event->type == CV_EVENT_TIMEOUT ? "timer" : "text", event->text);
    end_line(record, &json);
}

static void write_view(void *context, const struct cv_view *view)
{
    struct record *record = context;
    struct cv_json json = {.out = record->file};
    cv_json_open(&json, NULL, '{');
    cv_json_count(&json, "time", cv_loop_now());
    cv_json_text(&json, "event", "view");
    cv_json_count(&json, "node", record->settings->id);
    cv_json_count(&json, "view", view->epoch);
    cv_json_count(&json, "base", view->base);
    cv_json_count(&json, "coordinator", id_of(record, view->coordinator));
    cv_json_open(&json, "members", '[');
    for (cv_node node = 0; node < record->member->roster.count; node++)
        if (cv_set_has(view->members, node))
            cv_json_count(&json, NULL, id_of(record, node));
    cv_json_close(&json, ']');
    end_line(record, &json);
}

static void write_grant(void *context, const struct cv_instance *instance, uint64_t fence, uint64_t session,
                        bool shared, enum cv_grant_event event, uint64_t ttl_ms, uint64_t replaces)
{
    static const char *const names[] = {
        [CV_GRANT_BEGINS] = "grant", [CV_GRANT_RENEWED] = "renew", [CV_GRANT_ENDS] = "end"};
    struct record *record = context;
    struct cv_json json = {.out = record->file};
    const uint64_t now = cv_loop_now();
    cv_json_open(&json, NULL, '{');
    cv_json_count(&json, "time", now);
    cv_json_text(&json, "event", names[event]);
    cv_json_count(&json, "node", record->settings->id);
    write_subject(&json, instance);
    cv_json_count(&json, "session", session);
    cv_json_count(&json, "fence", fence);
    if (shared)
        cv_json_truth(&json, "shared", true);
    if (replaces)
        cv_json_count(&json, "replaces", replaces);
    if (ttl_ms)
        cv_json_count(&json, "ttl", ttl_ms);
    else if (event == CV_GRANT_ENDS)
        write_end(&json, record, now, false);
    end_line(record, &json);
}

static void write_header(struct record *record)
{
    const struct cv_settings *settings = record->settings;
    struct cv_json json = {.out = record->file};
    cv_json_open(&json, NULL, '{');
    cv_json_count(&json, "schema", 1);
    cv_json_text(&json, "type", "live");
    cv_json_count(&json, "node", settings->id);
    cv_json_count(&json, "started", cv_loop_now());
    cv_json_open(&json, "nodes", '[');
    for (uint32_t i = 0; i < settings->member_count; i++)
        cv_json_count(&json, NULL, settings->members[i].id);
    cv_json_close(&json, ']');
    cv_json_open(&json, "attributes", '[');
    for (uint32_t i = 0; i < settings->member_count; i++)
        cv_json_count(&json, NULL, settings->members[i].attribute);
    cv_json_close(&json, ']');
    end_line(record, &json);
}

/* A node that restarts appends to the same file. */
int record_open(struct record *record, const char *path, const struct cv_settings *settings,
                struct cv_complaint *complaint)
{
    record->settings = settings;
    record->file = fopen(path, "ae");
    if (!record->file) {
        cv_complain(complaint, "--record %s: %s", cv_brief(path).text, strerror(errno));
        return CV_EFILE;
    }
    setvbuf(record->file, NULL, _IOLBF, 1 << 16);
    record->recorder =
        (struct cv_recorder){.event = write_event, .view = write_view, .grant = write_grant, .context = record};
    write_header(record);
    return 0;
}

void record_mark(struct record *record)
{
    const uint64_t now = cv_loop_now();
    if (!record->file || now < record->marked + MARK_US)
        return;
    record->marked = now;
    fprintf(record->file, "{\"type\":\"mark\",\"time\":%llu}\n", (unsigned long long)now);
}

/* A file without this line belongs to a node that still runs, or died. */
void record_close(struct record *record)
{
    if (!record->file)
        return;
    const uint64_t time = record->asked ? record->asked : cv_loop_now();
    fprintf(record->file, "{\"type\":\"end\",\"time\":%llu}\n", (unsigned long long)time);
    fclose(record->file);
    record->file = NULL;
}
