// SPDX-License-Identifier: MIT
#include "explore/recorded_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/registry.h"
#include "core/parse.h"
#include "core/scenario/validity.h"
#include "explore/decision_text.h"
#include "explore/explored.h"

#define MOST_RECORDED_NODES 64u

struct reading {
    struct recorded_lines *to;
    cv_find_algorithm *find; /* or NULL */
    struct cv_complaint *complaint;
    uint64_t text;   /* the number of the text, from 1 */
    uint64_t number; /* of the line */
    const struct json_value *line;
    cv_node node; /* that wrote the text; CV_NOBODY: not known yet */
};

static int refuse(const struct reading *reading, const char *expected)
{
    return cv_complain(reading->complaint, "recording %llu, line %llu: expected %s", (unsigned long long)reading->text,
                       (unsigned long long)reading->number, expected);
}

/* Makes room for one more in a list; NULL: no memory. */
static void *room_for(void *list, uint64_t count, uint64_t *room, size_t bytes)
{
    if (count < *room)
        return list;
    void *larger = realloc(list, (*room ? *room * 2 : 64) * bytes);
    if (larger)
        *room = *room ? *room * 2 : 64;
    return larger;
}

static cv_node node_of(const struct recorded_lines *lines, uint64_t id)
{
    for (cv_node node = 0; node < lines->nodes; node++)
        if (lines->ids[node] == id)
            return node;
    return CV_NOBODY;
}

/* A new line at the end, at that time; NULL: no memory. */
static struct recorded_line *add_line(struct reading *reading, enum cv_event_type type, uint32_t begins, uint64_t time)
{
    struct recorded_lines *to = reading->to;
    struct recorded_line *lines = room_for(to->lines, to->count, &to->room, sizeof *lines);
    if (!lines)
        return NULL;
    to->lines = lines;
    lines[to->count] = (struct recorded_line){
        .event = {.type = type, .node = reading->node, .peer = CV_NOBODY, .time = time},
        .name = OF_NO_NAME,
        .type = begins,
    };
    if (time && (!to->began || time < to->began))
        to->began = time;
    to->each[reading->node].end = to->count + 1;
    to->each[reading->node].last = time;
    return &lines[to->count++];
}

/* ---- headers ---- */

static int meet_nodes(struct reading *reading)
{
    struct recorded_lines *to = reading->to;
    const struct json_value *ids = json_get(reading->line, "nodes"),
                            *attributes = json_get(reading->line, "attributes");
    const size_t count = json_count(ids);
    if (!count || count > MOST_RECORDED_NODES || json_count(attributes) != count)
        return refuse(reading, "the nodes of the group and their attributes");
    if (to->nodes)
        return to->nodes == count ? 0 : refuse(reading, "the same group as in the other recordings");
    to->ids = calloc(count, sizeof *to->ids);
    to->attributes = calloc(count, sizeof *to->attributes);
    to->each = calloc(count, sizeof *to->each);
    if (!to->ids || !to->attributes || !to->each)
        return CV_ENOMEM;
    const struct json_value *attribute = attributes->first;
    for (const struct json_value *id = ids->first; id; id = id->after, attribute = attribute->after) {
        to->ids[to->nodes] = (cv_id)id->number;
        to->attributes[to->nodes++] = (uint32_t)attribute->number;
    }
    return 0;
}

/* The first header of a text says whose it is. Any other: the node was down, and has started again. */
static int read_header(struct reading *reading)
{
    int error = meet_nodes(reading);
    if (error)
        return error;
    const cv_node node = node_of(reading->to, json_number(reading->line, "node", UINT64_MAX));
    if (node == CV_NOBODY || (reading->node != CV_NOBODY && node != reading->node))
        return refuse(reading, "the header of one node of the group");
    struct recorded_node *it = &reading->to->each[node];
    if (reading->node == CV_NOBODY) {
        if (it->recorded)
            return refuse(reading, "one recording for each node; there is another of this one");
        reading->node = node;
        *it = (struct recorded_node){.first = reading->to->count, .end = reading->to->count, .recorded = true};
        return 0;
    }
    const uint64_t started = json_number(reading->line, "started", it->last);
    if ((!it->ended && !add_line(reading, CV_EVENT_CRASH, EVENT_CRASH, it->last)) ||
        !add_line(reading, CV_EVENT_RECOVER, EVENT_RECOVER, started))
        return CV_ENOMEM;
    it->ended = false;
    return 0;
}

/* ---- names ---- */

/* A recording has nothing loaded: a name with a slash would be a file. */
static const struct cv_algorithm *find_algorithm(const struct reading *reading, const char *name)
{
    const struct cv_algorithm *algorithm;
    struct cv_complaint unsaid;
    if (strchr(name, '/'))
        return NULL;
    return reading->find && reading->find(name, &algorithm, &unsaid) == 0 ? algorithm : cv_algorithm_find(name);
}

static int find_name(struct reading *reading, uint32_t *number)
{
    struct recorded_lines *to = reading->to;
    const char *subject = json_text(reading->line, "subject"), *name = json_text(reading->line, "name");
    const char *algorithm_name = json_text(reading->line, "algorithm");
    const struct cv_algorithm *algorithm = algorithm_name ? find_algorithm(reading, algorithm_name) : NULL;
    if (!subject || !name || !algorithm)
        return refuse(reading, "a subject, a name and a known algorithm; conclave explore --with FILE brings your own");
    for (uint64_t i = to->name_count; i-- > 0;)
        if (to->names[i].algorithm == algorithm && strcmp(to->names[i].name, name) == 0 &&
            strcmp(to->names[i].subject, subject) == 0) {
            *number = (uint32_t)i;
            return 0;
        }
    struct recorded_name *names = room_for(to->names, to->name_count, &to->name_room, sizeof *names);
    if (!names)
        return CV_ENOMEM;
    to->names = names;
    names[to->name_count] = (struct recorded_name){strdup(subject), strdup(name), algorithm, 0};
    *number = (uint32_t)to->name_count++;
    return names[*number].subject && names[*number].name ? 0 : CV_ENOMEM;
}

/* ---- events ---- */

static uint32_t step_type(enum cv_event_type type)
{
    switch (type) {
    case CV_EVENT_START:
        return EVENT_START;
    case CV_EVENT_REQUEST:
        return EVENT_REQUEST;
    case CV_EVENT_LEAVE:
        return EVENT_LEAVE;
    case CV_EVENT_RECEIVE:
        return EVENT_DELIVER;
    case CV_EVENT_TIMEOUT:
        return EVENT_TIMEOUT;
    case CV_EVENT_SUSPECT:
        return EVENT_TELL;
    case CV_EVENT_TRUST:
        return EVENT_TRUST;
    default:
        return EVENT_TYPES;
    }
}

static size_t add_words(uint32_t *words, size_t count, const struct json_value *numbers)
{
    for (const struct json_value *it = numbers ? numbers->first : NULL; it; it = it->after)
        words[count++] = (uint32_t)it->number;
    return count;
}

static int read_message(const struct reading *reading, const struct cv_algorithm *algorithm, struct recorded_line *line)
{
    const char *name = json_text(reading->line, "kind");
    const struct json_value *body = json_get(reading->line, "body"), *list = json_get(reading->line, "list");
    const size_t words = json_count(body) + json_count(list);
    const uint32_t kind = name ? cv_kind_find(algorithm, name, strlen(name)) : CV_MAX_KINDS;
    const bool sends = line->event.type == CV_EVENT_SEND;
    const struct cv_kind *told = kind < CV_MAX_KINDS ? &algorithm->kinds[kind] : NULL;
    if (told && (words * 4 < told->bytes || (words * 4 > told->bytes && !cv_kind_has_list(told))))
        return refuse(reading, "a body that is as long as those of its kind");
    if (kind >= CV_MAX_KINDS || words > CV_MAX_WORDS || line->event.peer == CV_NOBODY)
        return refuse(reading, "a message of that algorithm between nodes of the group");
    struct cv_message *message = calloc(1, sizeof *message + (words + 1) / 2 * 8);
    if (!message)
        return CV_ENOMEM;
    message->from = sends ? line->event.node : line->event.peer;
    message->to = sends ? line->event.peer : line->event.node;
    message->clock = line->event.clock & CV_CLOCK_MASK;
    message->kind = kind & (CV_MAX_KINDS - 1);
    message->words = words & CV_MAX_WORDS;
    add_words((uint32_t *)message->body, add_words((uint32_t *)message->body, 0, body), list);
    line->content = message;
    return 0;
}

static int keep_text(struct recorded_line *line, const char *text)
{
    line->text = text ? strdup(text) : NULL;
    line->event.text = line->text;
    return text && !line->text ? CV_ENOMEM : 0;
}

static int read_event(struct reading *reading, enum cv_event_type type, uint32_t name, uint64_t time)
{
    const struct json_value *of = reading->line;
    const char *key = type == CV_EVENT_SEND ? "to" : type == CV_EVENT_RECEIVE ? "from" : "peer";
    const char *text = json_text(of, "broken");
    struct recorded_line *line = add_line(reading, type, step_type(type), time);
    if (!line)
        return CV_ENOMEM;
    text = text ? text : json_text(of, type == CV_EVENT_TIMEOUT ? "timer" : "text");
    line->name = name;
    reading->to->names[name].lines++;
    line->event.peer = json_get(of, key) ? node_of(reading->to, json_number(of, key, UINT64_MAX)) : CV_NOBODY;
    line->event.clock = json_number(of, "lamport", 0);
    line->event.message = json_number(of, "message", 0);
    line->event.detail = json_number(of, type == CV_EVENT_ELECTED ? "leader" : "fence", 0);
    if (json_get(of, "kind"))
        return read_message(reading, reading->to->names[name].algorithm, line);
    return type == CV_EVENT_SEND || type == CV_EVENT_RECEIVE ? refuse(reading, "a kind of message")
                                                             : keep_text(line, text);
}

/* ---- clients and views, which are remarks of a node ---- */

static int add_remark(struct reading *reading, uint32_t name, uint64_t time, const char *text)
{
    struct recorded_line *line = add_line(reading, CV_EVENT_NOTE, EVENT_REMARK, time);
    if (!line)
        return CV_ENOMEM;
    line->name = name;
    if (name != OF_NO_NAME)
        reading->to->names[name].lines++;
    return keep_text(line, text);
}

static int read_grant(struct reading *reading, const char *event, uint32_t name, uint64_t time)
{
    const unsigned long long fence = json_number(reading->line, "fence", 0);
    const unsigned long long session = json_number(reading->line, "session", 0);
    const unsigned long long ttl = json_number(reading->line, "ttl", 0);
    const char *shared = json_number(reading->line, "shared", 0) ? "shared, " : "";
    char text[160], lasts[48] = "";
    if (ttl)
        snprintf(lasts, sizeof lasts, ", for %llu ms", ttl);
    if (strcmp(event, "grant") == 0)
        snprintf(text, sizeof text, "grants it to client %llu: %sfence %llu%s", session, shared, fence, lasts);
    else if (strcmp(event, "renew") == 0)
        snprintf(text, sizeof text, "renews fence %llu of client %llu%s", fence, session, lasts);
    else
        snprintf(text, sizeof text, "ends the hold of client %llu: fence %llu", session, fence);
    return add_remark(reading, name, time, text);
}

static int read_view(struct reading *reading, uint64_t time)
{
    struct recorded_lines *to = reading->to;
    const struct json_value *members = json_get(reading->line, "members");
    struct recorded_view *views = room_for(to->views, to->view_count, &to->view_room, sizeof *views);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (views)
        to->views = views;
    cv_node *list = calloc(json_count(members) + 1, sizeof *list);
    if (!views || !out || !list) {
        if (out)
            fclose(out);
        free(text);
        free(list);
        return CV_ENOMEM;
    }
    struct recorded_view *view = &views[to->view_count++];
    *view = (struct recorded_view){.base = json_number(reading->line, "base", 0), .members = list};
    fprintf(out, "begins view %llu of", (unsigned long long)json_number(reading->line, "view", 0));
    for (const struct json_value *id = members ? members->first : NULL; id; id = id->after) {
        fprintf(out, "%s %llu", id == members->first ? "" : ",", (unsigned long long)id->number);
        list[view->count++] = node_of(to, id->number);
    }
    fprintf(out, "; %llu coordinates", (unsigned long long)json_number(reading->line, "coordinator", 0));
    int error = fclose(out) ? CV_ENOMEM : 0;
    to->each[reading->node].base = view->base;
    if (!error)
        error = add_remark(reading, OF_NO_NAME, time, text);
    free(text);
    return error;
}

/* ---- lines ---- */

static int read_end(struct reading *reading, uint64_t time)
{
    reading->to->each[reading->node].ended = true;
    const int error = add_remark(reading, OF_NO_NAME, time, "is asked to end");
    if (!error)
        reading->to->lines[reading->to->count - 1].event.detail = REMARK_OF_END;
    return error;
}

static int read_line(struct reading *reading)
{
    const char *type = json_text(reading->line, "type"), *event = json_text(reading->line, "event");
    const uint64_t time = json_number(reading->line, "time", 0);
    enum cv_event_type which;
    uint32_t name = 0;
    if (type && strcmp(type, "live") == 0)
        return read_header(reading);
    if (reading->node == CV_NOBODY)
        return refuse(reading, "the header of a live recording");
    if (type && strcmp(type, "end") == 0)
        return read_end(reading, time);
    if (type && strcmp(type, "mark") == 0) {
        reading->to->each[reading->node].last = time;
        return 0;
    }
    if (!event || !time)
        return refuse(reading, "an event and its time");
    if (strcmp(event, "view") == 0)
        return read_view(reading, time);
    const int error = find_name(reading, &name);
    if (error)
        return error;
    if (strcmp(event, "grant") == 0 || strcmp(event, "renew") == 0 || strcmp(event, "end") == 0)
        return read_grant(reading, event, name, time);
    return cv_event_find(event, &which) ? read_event(reading, which, name, time) : refuse(reading, "a known event");
}

/* The last line of a killed node may be incomplete. */
static int read_text(struct reading *reading, const char *text)
{
    char *copy = strdup(text);
    struct text_lines lines = {.rest = copy};
    int error = copy ? 0 : CV_ENOMEM;
    reading->node = CV_NOBODY;
    for (char *line; !error && (line = text_lines_next(&lines));) {
        const bool whole = lines.rest != NULL;
        struct json_value *read = json_read(line);
        reading->number = lines.number;
        reading->line = read;
        if (read)
            error = read_line(reading);
        else if (whole)
            error = refuse(reading, "JSON");
        json_free(read);
    }
    free(copy);
    return error ? error : reading->node == CV_NOBODY ? refuse(reading, "the header of a live recording") : 0;
}

/* Did the others begin a view without the node, after its last one? Then it has died. */
static bool was_missed(const struct recorded_lines *lines, cv_node node)
{
    for (uint64_t i = 0; i < lines->view_count; i++) {
        const struct recorded_view *view = &lines->views[i];
        bool member = false;
        for (uint32_t j = 0; j < view->count; j++)
            member |= view->members[j] == node;
        if (view->base > lines->each[node].base && !member)
            return true;
    }
    return false;
}

bool recorded_lines_are(const char *text)
{
    char *line = strndup(text, strcspn(text, "\n"));
    struct json_value *header = line ? json_read(line) : NULL;
    const char *type = json_text(header, "type");
    const bool are = type && strcmp(type, "live") == 0;
    json_free(header);
    free(line);
    return are;
}

int recorded_lines_read(struct recorded_lines *lines, const struct json_value *texts, cv_find_algorithm *find,
                        struct cv_complaint *complaint)
{
    *lines = (struct recorded_lines){0};
    struct reading reading = {.to = lines, .find = find, .complaint = complaint};
    int error = 0;
    for (const struct json_value *it = texts ? texts->first : NULL; it && !error; it = it->after) {
        reading.text++;
        error = it->type == JSON_TEXT ? read_text(&reading, it->text) : refuse(&reading, "a text");
    }
    if (!error && !lines->name_count)
        return cv_complain(complaint, "recordings: expected at least one name of which something is told");
    return error;
}

bool recorded_lines_died(const struct recorded_lines *lines, cv_node node)
{
    const struct recorded_node *it = &lines->each[node];
    return it->recorded && !it->ended && was_missed(lines, node);
}

void recorded_lines_free(struct recorded_lines *lines)
{
    for (uint64_t i = 0; i < lines->count; i++) {
        free(lines->lines[i].content);
        free(lines->lines[i].text);
    }
    for (uint64_t i = 0; i < lines->name_count; i++) {
        free(lines->names[i].subject);
        free(lines->names[i].name);
    }
    for (uint64_t i = 0; i < lines->view_count; i++)
        free(lines->views[i].members);
    free(lines->lines);
    free(lines->names);
    free(lines->views);
    free(lines->ids);
    free(lines->attributes);
    free(lines->each);
    *lines = (struct recorded_lines){0};
}
