// SPDX-License-Identifier: MIT
#include "cli/study/recording.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/registry.h"
#include "cli/command.h"
#include "cli/study/recording_run.h"
#include "core/parse.h"

struct reading {
    struct recording *recording;
    const char *path;
    uint64_t line;
    struct cv_complaint *complaint;
    cv_node node; /* the node that wrote the file */
    uint64_t last;
    uint64_t base; /* the base of the node's current view */
    bool begun, ended;
};

static int complain(const struct reading *reading, const char *what)
{
    return cv_complain(reading->complaint, "%s:%llu: %s", cv_brief(reading->path).text,
                       (unsigned long long)reading->line, what);
}

/* Makes room for one more entry; NULL if memory is out. */
static void *add(void **list, size_t *count, size_t *room, size_t size)
{
    if (*count == *room) {
        const size_t larger = *room ? 2 * *room : 64;
        void *moved = realloc(*list, larger * size);
        if (!moved)
            return NULL;
        *list = moved;
        *room = larger;
    }
    return memset((char *)*list + (*count)++ * size, 0, size);
}

static uint64_t number_of(const json_t *line, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(line, key));
    return value > 0 ? (uint64_t)value : 0;
}

static const char *text_of(const json_t *line, const char *key)
{
    return json_string_value(json_object_get(line, key));
}

static cv_node node_of(const struct recording *recording, const json_t *id)
{
    const json_int_t value = json_is_integer(id) ? json_integer_value(id) : -1;
    for (cv_node node = 0; node < recording->nodes; node++)
        if (recording->ids[node] == value)
            return node;
    return CV_NOBODY;
}

/* ---- headers ---- */

static int meet_nodes(struct reading *reading, const json_t *header)
{
    struct recording *recording = reading->recording;
    const json_t *ids = json_object_get(header, "nodes"), *attributes = json_object_get(header, "attributes");
    const size_t count = json_array_size(ids);
    if (!count || count > CV_MAX_MEMBERS || json_array_size(attributes) != count)
        return complain(reading, "expected nodes and attributes");
    if (recording->nodes && recording->nodes != count)
        return complain(reading, "expected the same group as in the other files");
    if (recording->nodes)
        return 0;
    recording->ids = calloc(count, sizeof *recording->ids);
    recording->attributes = calloc(count, sizeof *recording->attributes);
    recording->known = calloc(count, sizeof *recording->known);
    if (!recording->ids || !recording->attributes || !recording->known)
        return CV_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        recording->ids[i] = (cv_id)json_integer_value(json_array_get(ids, i));
        recording->attributes[i] = (uint32_t)json_integer_value(json_array_get(attributes, i));
    }
    recording->nodes = (uint32_t)count;
    recording->coordinator = CV_NOBODY;
    return 0;
}

static int note_break(struct recording *recording, struct recording_break it)
{
    struct recording_break *breaks = realloc(recording->breaks, (recording->break_count + 1) * sizeof *breaks);
    if (!breaks)
        return CV_ENOMEM;
    recording->breaks = breaks;
    breaks[recording->break_count++] = it;
    return 0;
}

static int read_header(struct reading *reading, const json_t *header)
{
    int error = meet_nodes(reading, header);
    const cv_node node = error ? 0 : node_of(reading->recording, json_object_get(header, "node"));
    if (error)
        return error;
    if (node == CV_NOBODY || (reading->begun && node != reading->node))
        return complain(reading, "expected the header of one node of the group");
    if (reading->begun)
        error = note_break(reading->recording, (struct recording_break){.node = node, .time = reading->last});
    if (!error && reading->begun)
        error = note_break(reading->recording,
                           (struct recording_break){.node = node, .back = true, .time = number_of(header, "started")});
    reading->node = node;
    reading->begun = true;
    reading->ended = false;
    return error;
}

/* ---- stories ---- */

static struct recording_story *story_of(struct recording *recording, const char *subject, const char *name,
                                        const struct cv_algorithm *algorithm)
{
    for (size_t i = recording->story_count; i-- > 0;) {
        struct recording_story *story = recording->stories[i];
        if (story->algorithm == algorithm && strcmp(story->name, name) == 0 && strcmp(story->subject, subject) == 0)
            return story;
    }
    struct recording_story **stories = realloc(recording->stories, (recording->story_count + 1) * sizeof *stories);
    struct recording_story *story = calloc(1, sizeof *story);
    if (stories)
        recording->stories = stories;
    if (!stories || !story || !(story->subject = strdup(subject)) || !(story->name = strdup(name))) {
        if (story)
            free(story->subject);
        free(story);
        return NULL;
    }
    story->algorithm = algorithm;
    recording->stories[recording->story_count++] = story;
    return story;
}

/* ---- events ---- */

static size_t append_words(uint32_t *words, size_t count, const json_t *numbers)
{
    for (size_t i = 0; i < json_array_size(numbers); i++)
        words[count++] = (uint32_t)json_integer_value(json_array_get(numbers, i));
    return count;
}

static int read_message(struct reading *reading, const json_t *line, const struct cv_algorithm *algorithm,
                        struct cv_event *event)
{
    const char *name = text_of(line, "kind");
    const json_t *body = json_object_get(line, "body"), *list = json_object_get(line, "list");
    uint32_t kind = 0;
    while (name && algorithm->kinds[kind].name && strcmp(algorithm->kinds[kind].name, name) != 0)
        kind++;
    const size_t words = json_array_size(body) + json_array_size(list);
    if (!name || !algorithm->kinds[kind].name || words > CV_MAX_WORDS)
        return complain(reading, "expected a kind of message of that algorithm");
    struct cv_message *message = calloc(1, sizeof *message + (words + 1) / 2 * 8);
    if (!message)
        return CV_ENOMEM;
    message->from = event->type == CV_EVENT_SEND ? event->node : event->peer;
    message->to = event->type == CV_EVENT_SEND ? event->peer : event->node;
    message->clock = event->clock & CV_CLOCK_MASK;
    message->kind = kind & (CV_MAX_KINDS - 1);
    message->words = words & CV_MAX_WORDS;
    append_words((uint32_t *)message->body, append_words((uint32_t *)message->body, 0, body), list);
    event->content = message;
    return 0;
}

/* A lease may have run out before the node noticed. */
static uint64_t ended(const struct reading *reading, const json_t *line)
{
    const uint64_t time = number_of(line, "ended");
    return time && time < reading->last ? time : reading->last;
}

static int read_event(struct reading *reading, const json_t *line, struct recording_story *story,
                      enum cv_event_type type)
{
    const struct recording *recording = reading->recording;
    const json_t *peer = json_object_get(line, type == CV_EVENT_SEND      ? "to"
                                               : type == CV_EVENT_RECEIVE ? "from"
                                                                          : "peer");
    const char *broken = text_of(line, "broken"), *lost = text_of(line, "text");
    struct cv_event *event = add((void **)&story->events, &story->count, &story->room, sizeof *event);
    if (!event)
        return CV_ENOMEM;
    *event = (struct cv_event){.type = type,
                               .node = reading->node,
                               .peer = node_of(recording, peer),
                               .time = reading->last,
                               .clock = number_of(line, "lamport"),
                               .message = type == CV_EVENT_ENTER ? reading->base : number_of(line, "message"),
                               .detail = type == CV_EVENT_ELECTED ? number_of(line, "leader")
                                         : type == CV_EVENT_LEAVE ? ended(reading, line)
                                                                  : number_of(line, "fence")};
    if (broken || json_is_true(json_object_get(line, "recalled")))
        event->detail = 1;
    if (lost && strcmp(lost, "lost") == 0)
        event->text = "lost";
    if (type != CV_EVENT_SEND && type != CV_EVENT_RECEIVE)
        return 0;
    if (event->peer == CV_NOBODY)
        return complain(reading, "expected a message between nodes of the group");
    return read_message(reading, line, story->algorithm, event);
}

static int read_renewal(const struct reading *reading, const json_t *line, struct recording_story *story)
{
    struct recording_renewal *renewal =
        add((void **)&story->renewals, &story->renewal_count, &story->renewal_room, sizeof *renewal);
    if (renewal)
        *renewal = (struct recording_renewal){.fence = number_of(line, "fence"),
                                              .time = reading->last,
                                              .ends = strcmp(text_of(line, "event"), "end") == 0};
    return renewal ? 0 : CV_ENOMEM;
}

static int read_grant(struct reading *reading, const json_t *line, struct recording_story *story)
{
    const uint64_t fence = number_of(line, "fence");
    const bool begins = strcmp(text_of(line, "event"), "grant") == 0;
    if (!begins && json_object_get(line, "ttl"))
        return read_renewal(reading, line, story);
    if (begins) {
        struct recording_grant *grant =
            add((void **)&story->grants, &story->grant_count, &story->grant_room, sizeof *grant);
        if (grant)
            *grant = (struct recording_grant){.node = reading->node,
                                              .session = number_of(line, "session"),
                                              .fence = fence,
                                              .begun = reading->last,
                                              .ended = CV_NEVER,
                                              .replaces = number_of(line, "replaces"),
                                              .ttl = json_object_get(line, "ttl") ? 1000 * number_of(line, "ttl") : 0,
                                              .shared = json_is_true(json_object_get(line, "shared"))};
        return grant ? 0 : CV_ENOMEM;
    }
    for (size_t i = story->grant_count; i-- > 0;)
        if (story->grants[i].fence == fence && story->grants[i].node == reading->node) {
            story->grants[i].ended = ended(reading, line);
            return 0;
        }
    return complain(reading, "expected the end of something granted");
}

/* The numbers of views start again after all nodes were down; the bases keep rising. */
static int note_base(struct recording *recording, uint64_t base)
{
    size_t place = recording->base_count;
    while (place > 0 && recording->bases[place - 1] > base)
        place--;
    if (place > 0 && recording->bases[place - 1] == base)
        return 0;
    uint64_t *bases = realloc(recording->bases, (recording->base_count + 1) * sizeof *bases);
    if (!bases)
        return CV_ENOMEM;
    memmove(bases + place + 1, bases + place, (recording->base_count - place) * sizeof *bases);
    bases[place] = base;
    recording->bases = bases;
    recording->base_count++;
    return 0;
}

static int read_view(struct reading *reading, const json_t *line)
{
    struct recording *recording = reading->recording;
    const uint64_t view = number_of(line, "view");
    const json_t *members = json_object_get(line, "members");
    reading->base = number_of(line, "base");
    struct recording_view *seen =
        add((void **)&recording->seen, &recording->seen_count, &recording->seen_room, sizeof *seen);
    if (!seen)
        return CV_ENOMEM;
    seen->base = reading->base;
    for (size_t i = 0; i < json_array_size(members); i++) {
        const cv_node member = node_of(recording, json_array_get(members, i));
        seen->members |= member == CV_NOBODY ? 0 : cv_set_of(member);
    }
    if (view == 1 || (recording->coordinator == CV_NOBODY && !recording->views))
        recording->coordinator = node_of(recording, json_object_get(line, "coordinator"));
    if (view > recording->views)
        recording->views = view;
    return note_base(recording, reading->base);
}

/* ---- lines ---- */

/* A recording names algorithms, and the user brings those that are not built in: no file is loaded for a recording. */
static const struct cv_algorithm *find_algorithm(const struct recording *recording, const char *name)
{
    for (uint32_t i = 0; i < recording->own_count; i++)
        if (strcmp(recording->own[i]->name, name) == 0)
            return recording->own[i];
    return cv_algorithm_find(name);
}

static int read_line(struct reading *reading, const json_t *line)
{
    const char *type = text_of(line, "type"), *name = text_of(line, "event");
    const char *algorithm_name = text_of(line, "algorithm"), *subject = text_of(line, "subject");
    enum cv_event_type event;
    if (type && strcmp(type, "live") == 0)
        return read_header(reading, line);
    if (!reading->begun)
        return complain(reading, "expected the header of a live recording");
    if (type && strcmp(type, "end") == 0) {
        reading->ended = true;
        reading->last = number_of(line, "time");
        return 0;
    }
    reading->last = number_of(line, "time");
    if (type && strcmp(type, "mark") == 0)
        return 0; /* it is alive, and nothing has happened */
    if (!name || reading->last == 0)
        return complain(reading, "expected an event and its time");
    if (strcmp(name, "view") == 0)
        return read_view(reading, line);
    const struct cv_algorithm *algorithm = algorithm_name ? find_algorithm(reading->recording, algorithm_name) : NULL;
    if (!algorithm || !subject || !text_of(line, "name"))
        return complain(reading, "expected a subject, a name and a known algorithm; --with FILE brings your own");
    struct recording_story *story = story_of(reading->recording, subject, text_of(line, "name"), algorithm);
    if (!story)
        return CV_ENOMEM;
    if (strcmp(name, "grant") == 0 || strcmp(name, "renew") == 0 || strcmp(name, "end") == 0)
        return read_grant(reading, line, story);
    if (!cv_event_find(name, &event))
        return complain(reading, "expected a known event");
    return read_event(reading, line, story, event);
}

/* The last line of a killed node may be incomplete. */
static int read_lines(struct reading *reading, FILE *file)
{
    char *text = NULL;
    size_t room = 0;
    int error = 0;
    for (ssize_t length; !error && (length = getline(&text, &room, file)) > 0;) {
        json_error_t why;
        reading->line++;
        json_t *line = json_loadb(text, (size_t)length, 0, &why);
        if (line)
            error = read_line(reading, line);
        else if (text[length - 1] == '\n')
            error = complain(reading, "expected JSON");
        json_decref(line);
    }
    free(text);
    if (!error && !feof(file))
        error = ferror(file) ? complain(reading, strerror(errno)) : CV_ENOMEM;
    return error;
}

int recording_read(struct recording *recording, const char *path, struct cv_complaint *complaint)
{
    struct reading reading = {.recording = recording, .path = path, .complaint = complaint};
    json_set_alloc_funcs(command_allocate, free);
    FILE *file = fopen(path, "re");
    if (!file) {
        cv_complain(complaint, "%s: %s", cv_brief(path).text, strerror(errno));
        return CV_EFILE;
    }
    int error = read_lines(&reading, file);
    fclose(file);
    if (!error && !reading.begun)
        return complain(&reading, "expected the header of a live recording");
    if (!error && recording->known[reading.node].recorded)
        return cv_complain(complaint, "%s: expected one file for each node; there is another of node %u",
                           cv_brief(path).text, recording->ids[reading.node]);
    if (!error)
        recording->known[reading.node] =
            (struct recording_node){.recorded = true, .ended = reading.ended, .base = reading.base};
    if (!error)
        error = note_break(
            recording,
            (struct recording_break){.node = reading.node, .asked = reading.ended, .last = true, .time = reading.last});
    if (reading.last > recording->last)
        recording->last = reading.last;
    return error;
}

/* Did the others begin a view without the node? Otherwise it is unknown whether it has died. */
static bool was_missed(const struct recording *recording, cv_node node)
{
    for (size_t i = 0; i < recording->seen_count; i++)
        if (recording->seen[i].base > recording->known[node].base && !cv_set_has(recording->seen[i].members, node))
            return true;
    return false;
}

bool recording_lacks(const struct recording *recording, cv_node node)
{
    bool took_part = false;
    for (size_t i = 0; i < recording->seen_count; i++)
        took_part |= cv_set_has(recording->seen[i].members, node);
    return took_part && !recording->known[node].recorded;
}

static void look_at_ends(struct recording *recording)
{
    for (cv_node node = 0; node < recording->nodes; node++) {
        struct recording_node *it = &recording->known[node];
        it->gone = it->recorded && !it->ended && was_missed(recording, node);
        recording->missing += recording_lacks(recording, node);
        recording->endless += it->recorded && !it->ended && !it->gone;
    }
}

/* Nodes that are asked to end together end one after the other, and the last ones suspect the first. */
void recording_close(struct recording *recording)
{
    const uint64_t together_us = 5000000;
    size_t kept = 0;
    look_at_ends(recording);
    recording->curtain = CV_NEVER;
    for (size_t i = 0; i < recording->break_count; i++) {
        const struct recording_break it = recording->breaks[i];
        const bool last_of_all = it.asked && recording->last - it.time < together_us;
        if (last_of_all && it.time < recording->curtain)
            recording->curtain = it.time;
        if (!last_of_all)
            recording->breaks[kept++] = it;
    }
    recording->break_count = kept;
    if (recording->base_count > recording->views)
        recording->views = recording->base_count;
}

void recording_free(struct recording *recording)
{
    for (size_t i = 0; i < recording->story_count; i++) {
        struct recording_story *story = recording->stories[i];
        recording_forget(story);
        for (size_t j = 0; j < story->count; j++)
            free((void *)(uintptr_t)story->events[j].content);
        free(story->events);
        free(story->grants);
        free(story->renewals);
        free(story->subject);
        free(story->name);
        free(story);
    }
    free(recording->stories);
    free(recording->breaks);
    free(recording->seen);
    free(recording->known);
    free(recording->bases);
    free(recording->ids);
    free(recording->attributes);
}
