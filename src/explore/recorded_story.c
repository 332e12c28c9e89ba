// SPDX-License-Identifier: MIT
#include "explore/recorded_story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash_map.h"
#include "core/scenario/label.h"
#include "explore/explored_events.h"
#include "explore/explored_network.h"
#include "explore/explored_step.h"
#include "explore/recorded_lines.h"

/* A line of the story. */
struct part {
    const struct recorded_line *line;
    uint64_t serial; /* of the message that is sent or received; 0: nobody recorded that it was sent */
    bool arrives;    /* a message that is sent: somebody recorded that it arrived */
};

struct recorded {
    struct recorded_lines lines;
    uint32_t name;
    struct part *parts;
    uint64_t part_count;
    uint64_t *steps; /* where each begins among the parts; after the last, their number */
    uint64_t step_count;
    struct recorded_line *deaths; /* by node: a line for a recording that ends although the others go on */
};

/* ---- order ---- */

/* What is known of a message by its number. */
struct flight {
    uint64_t serial; /* once it is sent */
    bool sent, received;
};

struct ordering {
    struct recorded *recorded;
    struct cv_hash_map by_number;
    struct flight *flights;
    uint64_t flight_count;
    uint64_t *next;   /* by node: the line that comes next */
    uint64_t serials; /* so many messages there are so far */
};

static bool is_wanted(const struct recorded *recorded, const struct recorded_line *line)
{
    return line->name == recorded->name || line->name == OF_NO_NAME;
}

static struct flight *flight_of(const struct ordering *ordering, const struct recorded_line *line)
{
    const struct cv_hash_entry *entry =
        line->content ? cv_hash_map_find(&ordering->by_number, line->event.message) : NULL;
    return entry ? entry->pointer : NULL;
}

/* Notes which messages were sent, and which arrived. False if there is no memory. */
static bool note_flights(struct ordering *ordering)
{
    const struct recorded_lines *lines = &ordering->recorded->lines;
    for (uint64_t i = 0; i < lines->count; i++) {
        const struct recorded_line *line = &lines->lines[i];
        if (!is_wanted(ordering->recorded, line) || !line->content || !line->event.message)
            continue;
        struct cv_hash_entry *entry = cv_hash_map_add(&ordering->by_number, line->event.message);
        if (!entry)
            return false;
        if (!entry->pointer)
            entry->pointer = &ordering->flights[ordering->flight_count++];
        struct flight *flight = entry->pointer;
        flight->sent |= line->event.type == CV_EVENT_SEND;
        flight->received |= line->event.type == CV_EVENT_RECEIVE;
    }
    return true;
}

/* The line of a node that comes next; NULL: there is none. */
static const struct recorded_line *peek(struct ordering *ordering, cv_node node)
{
    struct recorded *recorded = ordering->recorded;
    const struct recorded_node *it = &recorded->lines.each[node];
    uint64_t *at = &ordering->next[node];
    while (*at < it->end && !is_wanted(recorded, &recorded->lines.lines[*at]))
        ++*at;
    if (*at < it->end)
        return &recorded->lines.lines[*at];
    return *at == it->end && recorded_lines_died(&recorded->lines, node) ? &recorded->deaths[node] : NULL;
}

/* May it happen now? A message arrives after it was sent, whatever the clocks say. */
static bool may_follow(const struct ordering *ordering, const struct recorded_line *line)
{
    const struct flight *flight = line->event.type == CV_EVENT_RECEIVE ? flight_of(ordering, line) : NULL;
    return !flight || !flight->sent || flight->serial;
}

/* The node whose step is next: the earliest that may follow; if the recordings contradict each other, the earliest. */
static cv_node choose(struct ordering *ordering)
{
    cv_node found[2] = {CV_NOBODY, CV_NOBODY};
    uint64_t times[2] = {0, 0};
    for (cv_node node = 0; node < ordering->recorded->lines.nodes; node++) {
        const struct recorded_line *line = peek(ordering, node);
        const bool free = line && may_follow(ordering, line);
        if (line && (found[free] == CV_NOBODY || line->event.time < times[free])) {
            found[free] = node;
            times[free] = line->event.time;
        }
    }
    return found[1] != CV_NOBODY ? found[1] : found[0];
}

static void add_part(struct ordering *ordering, const struct recorded_line *line)
{
    struct recorded *recorded = ordering->recorded;
    struct part *part = &recorded->parts[recorded->part_count++];
    struct flight *flight = flight_of(ordering, line);
    *part = (struct part){.line = line};
    if (line->event.type == CV_EVENT_SEND) {
        part->serial = ++ordering->serials;
        part->arrives = flight && flight->received;
        if (flight)
            flight->serial = part->serial;
    } else if (line->event.type == CV_EVENT_RECEIVE) {
        part->serial = flight ? flight->serial : 0;
        ordering->serials += !part->serial; /* it is made when it arrives */
    }
}

/* A step is a line that begins one, and the effects after it. */
static void add_step(struct ordering *ordering, cv_node node)
{
    struct recorded *recorded = ordering->recorded;
    recorded->steps[recorded->step_count++] = recorded->part_count;
    const struct recorded_line *line = peek(ordering, node);
    do {
        add_part(ordering, line);
        ordering->next[node]++;
        line = peek(ordering, node);
    } while (line && line->type == EVENT_TYPES);
}

static int put_in_order(struct recorded *recorded)
{
    const uint64_t most = recorded->lines.count + recorded->lines.nodes;
    struct ordering ordering = {.recorded = recorded,
                                .flights = calloc(most + 1, sizeof *ordering.flights),
                                .next = calloc(recorded->lines.nodes, sizeof *ordering.next)};
    recorded->parts = calloc(most + 1, sizeof *recorded->parts);
    recorded->steps = calloc(most + 2, sizeof *recorded->steps);
    int error = ordering.flights && ordering.next && recorded->parts && recorded->steps && note_flights(&ordering)
                    ? 0
                    : CV_ENOMEM;
    for (cv_node node = 0; !error && node < recorded->lines.nodes; node++)
        ordering.next[node] = recorded->lines.each[node].first;
    for (cv_node node; !error && (node = choose(&ordering)) != CV_NOBODY;)
        add_step(&ordering, node);
    if (!error)
        recorded->steps[recorded->step_count] = recorded->part_count;
    cv_hash_map_free(&ordering.by_number);
    free(ordering.flights);
    free(ordering.next);
    return error;
}

/* ---- beginning ---- */

static uint32_t most_told(const struct recorded_lines *lines)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < lines->name_count; i++) {
        const struct recorded_name *it = &lines->names[i], *than = &lines->names[best];
        const bool lock = it->algorithm->problem == CV_MUTEX, best_lock = than->algorithm->problem == CV_MUTEX;
        if (lock != best_lock ? lock : it->lines > than->lines)
            best = i;
    }
    return best;
}

static void spell(char *text, size_t room, const uint32_t *numbers, uint32_t count)
{
    size_t used = 0;
    for (uint32_t i = 0; i < count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%u", i ? "," : "", numbers[i]);
}

/* The scenario that the nodes played: their group and their algorithm. */
static struct json_value *words_of(const struct recorded *recorded)
{
    const struct recorded_lines *lines = &recorded->lines;
    const struct cv_algorithm *algorithm = lines->names[recorded->name].algorithm;
    const bool ranked = memcmp(lines->ids, lines->attributes, lines->nodes * sizeof *lines->ids) != 0;
    const size_t room = (size_t)lines->nodes * 11 + 1;
    char *text = calloc(1, room);
    struct json_value *words = calloc(1, sizeof *words);
    bool good = text && words;
    if (words)
        words->type = JSON_LIST;
    if (good)
        spell(text, room, lines->ids, lines->nodes);
    good = good && json_add_text(words, NULL, algorithm->name) && json_add_text(words, NULL, "--ids") &&
           json_add_text(words, NULL, text);
    if (good && ranked && algorithm->problem == CV_ELECTION) {
        spell(text, room, lines->attributes, lines->nodes);
        good = json_add_text(words, NULL, "--attr") && json_add_text(words, NULL, text);
    }
    free(text);
    if (!good)
        json_free(words);
    return good ? words : NULL;
}

/* Whatever the algorithm did when it began is forgotten: the recording tells it. */
static void forget_beginning(struct explored *world)
{
    for (uint64_t i = 0; i < world->message_count; i++)
        free(world->messages[i]);
    world->message_count = world->told_count = 0;
    world->present.first = world->present.last = NULL;
    world->present.under_way = world->present.total = world->present.preparing = world->present.entries = 0;
    memset(world->counts, 0, sizeof world->counts);
    for (cv_node node = 0; node < world->nodes; node++) {
        struct explored_node *it = explored_node(world, node);
        memset(it->timers, 0, sizeof it->timers);
        it->flags = EXPLORED_ALIVE;
        it->clock = 0;
        it->entry = NO_OPEN_ENTRY;
    }
    world->recorded = true;
}

static int begin(struct recorded *recorded, struct cv_story **story, cv_find_algorithm *find,
                 struct cv_complaint *complaint)
{
    const struct word_sources sources = {.find = find};
    const struct recorded_lines *lines = &recorded->lines;
    recorded->deaths = calloc(lines->nodes, sizeof *recorded->deaths);
    struct json_value *words = words_of(recorded);
    int error = recorded->deaths && words ? 0 : CV_ENOMEM;
    for (cv_node node = 0; !error && node < lines->nodes; node++)
        recorded->deaths[node] = (struct recorded_line){
            .event = {.type = CV_EVENT_CRASH, .node = node, .peer = CV_NOBODY, .time = lines->each[node].last},
            .name = OF_NO_NAME,
            .type = EVENT_CRASH};
    if (!error)
        error = put_in_order(recorded);
    if (!error)
        error = cv_story_begin(story, words, &sources, complaint);
    json_free(words);
    return error;
}

int recorded_begin(struct cv_story **story, const struct json_value *texts, uint64_t name, cv_find_algorithm *find,
                   struct cv_complaint *complaint)
{
    struct recorded *recorded = calloc(1, sizeof *recorded);
    *story = NULL;
    int error = recorded ? recorded_lines_read(&recorded->lines, texts, find, complaint) : CV_ENOMEM;
    if (!error && name != UINT64_MAX && name >= recorded->lines.name_count)
        error = cv_complain(complaint, "name %llu: expected the number of one of %llu names", (unsigned long long)name,
                            (unsigned long long)recorded->lines.name_count);
    if (!error) {
        recorded->name = name == UINT64_MAX ? most_told(&recorded->lines) : (uint32_t)name;
        error = begin(recorded, story, find, complaint);
    }
    if (error) {
        recorded_free(recorded);
        return error;
    }
    (*story)->recorded = recorded;
    forget_beginning(&(*story)->world);
    return 0;
}

void recorded_free(struct recorded *recorded)
{
    if (!recorded)
        return;
    recorded_lines_free(&recorded->lines);
    free(recorded->parts);
    free(recorded->steps);
    free(recorded->deaths);
    free(recorded);
}

/* ---- steps ---- */

static void set(struct explored_node *it, enum explored_flag flag, bool on)
{
    it->flags = on ? it->flags | flag : it->flags & ~(uint32_t)flag;
}

static void send(struct explored *world, const struct part *part)
{
    const struct cv_message *content = part->line->content;
    struct explored_message *message = explored_new_message(world, content);
    if (!message)
        return;
    if (content->to != content->from) {
        explored_save(world, &world->counts[content->kind], sizeof *world->counts);
        world->counts[content->kind]++;
        world->present.total++;
    }
    explored_tell(world, (struct cv_event){.type = CV_EVENT_SEND, .node = content->from, .peer = content->to}, message);
    if (part->arrives)
        explored_link(world, message, NULL);
    else
        explored_tell(world, (struct cv_event){.type = CV_EVENT_LOST, .node = content->to, .peer = content->from},
                      message);
}

static void receive(struct explored *world, const struct part *part)
{
    struct explored_message *message =
        part->serial ? world->messages[part->serial - 1] : explored_new_message(world, part->line->content);
    if (message && part->serial)
        explored_unlink(world, message);
    if (message)
        explored_tell(world, part->line->event, message);
}

static void enter(struct explored *world, const struct cv_event *event)
{
    struct explored_node *it = explored_node(world, event->node);
    set(it, EXPLORED_WAITING, false);
    set(it, EXPLORED_INSIDE, true);
    world->entries =
        explored_room(world, world->entries, world->present.entries, &world->entry_room, sizeof *world->entries);
    if (world->out_of_memory)
        return;
    world->entries[world->present.entries] = (struct cv_entry){.node = event->node,
                                                               .requested = explored_time(world),
                                                               .entered = explored_time(world),
                                                               .left = CV_NEVER,
                                                               .fence = event->detail};
    it->entry = world->present.entries++;
}

static void leave(struct explored *world, cv_node node, bool died)
{
    struct explored_node *it = explored_node(world, node);
    set(it, EXPLORED_WAITING, false);
    set(it, EXPLORED_INSIDE, false);
    explored_end_entry(world, node, died);
}

static void end_life(struct explored *world, cv_node node)
{
    struct explored_node *it = explored_node(world, node);
    leave(world, node, true);
    world->present.alive -= (it->flags & EXPLORED_ALIVE) != 0;
    it->flags = 0;
}

static void suspect(struct explored *world, const struct cv_event *event, bool on)
{
    uint32_t *suspects = explored_set(world, event->node, SET_SUSPECTS);
    if (event->peer >= world->nodes)
        return;
    if (on)
        cv_bits_add(suspects, event->peer);
    else
        suspects[event->peer / 32] &= ~(1u << event->peer % 32);
    world->present.mistakes += on;
    explored_network_changed(world);
}

/* What a line says of the node's standing. */
static void happen(struct explored *world, const struct cv_event *event)
{
    struct explored_node *it = explored_node(world, event->node);
    switch (event->type) {
    case CV_EVENT_REQUEST:
        set(it, EXPLORED_WAITING, !(it->flags & EXPLORED_INSIDE));
        break;
    case CV_EVENT_ENTER:
        enter(world, event);
        break;
    case CV_EVENT_LEAVE:
        leave(world, event->node, false);
        break;
    case CV_EVENT_CALL:
        set(it, EXPLORED_CALLING, true);
        break;
    case CV_EVENT_YIELD:
        set(it, EXPLORED_CALLING, false);
        break;
    case CV_EVENT_ELECTED:
        set(it, EXPLORED_CALLING, false);
        set(it, EXPLORED_KNOWS, true);
        it->leader = (cv_id)event->detail;
        break;
    case CV_EVENT_FORGET:
        set(it, EXPLORED_KNOWS, false);
        break;
    case CV_EVENT_SUSPECT:
    case CV_EVENT_TRUST:
        suspect(world, event, event->type == CV_EVENT_SUSPECT);
        break;
    case CV_EVENT_CRASH:
        end_life(world, event->node);
        break;
    case CV_EVENT_RECOVER:
        it->flags = EXPLORED_ALIVE;
        world->present.alive++;
        break;
    case CV_EVENT_NOTE:
        if (event->detail == REMARK_OF_END && !event->clock)
            end_life(world, event->node);
        break;
    default:
        break;
    }
}

static void play(struct explored *world, const struct part *part)
{
    const struct cv_event *event = &part->line->event;
    struct explored_node *it = explored_node(world, event->node);
    if (event->clock)
        it->clock = event->clock & CV_CLOCK_MASK;
    if (event->type == CV_EVENT_SEND) {
        send(world, part);
    } else if (event->type == CV_EVENT_RECEIVE) {
        receive(world, part);
    } else {
        struct cv_event told = *event;
        told.message = 0;
        happen(world, event);
        explored_tell(world, told, NULL);
    }
}

bool recorded_goes_on(const struct cv_story *story)
{
    return story->world.step_count < story->recorded->step_count;
}

bool recorded_take(struct cv_story *story)
{
    struct explored *world = &story->world;
    const struct recorded *recorded = story->recorded;
    if (!recorded_goes_on(story))
        return false;
    const uint64_t first = recorded->steps[world->step_count], end = recorded->steps[world->step_count + 1];
    const struct part *part = &recorded->parts[first];
    const struct cv_event *event = &part->line->event;
    const bool begins = part->line->type != EVENT_TYPES;
    const uint64_t mark = world->undo_used;
    explored_save(world, &world->present, sizeof world->present);
    explored_save_node(world, event->node);
    world->steps = explored_room(world, world->steps, world->step_count, &world->step_room, sizeof *world->steps);
    if (world->out_of_memory)
        return false;
    world->steps[world->step_count++] = (struct explored_step){
        .decision = {.node = event->node, .peer = begins ? event->peer : CV_NOBODY, .sent = CV_WHOLE},
        .undo = mark,
        .told = world->told_count,
        .serial = event->type == CV_EVENT_RECEIVE ? part->serial : 0,
        .type = begins ? part->line->type : EVENT_REMARK,
        .partition = UINT32_MAX};
    if (event->time - recorded->lines.began > world->present.now)
        world->present.now = event->time - recorded->lines.began;
    world->steps[world->step_count - 1].time = world->present.now;
    if (!begins) /* the node acts by itself, such as when a view begins */
        explored_tell(
            world, (struct cv_event){.type = CV_EVENT_NOTE, .node = event->node, .peer = CV_NOBODY, .text = "goes on"},
            NULL);
    for (uint64_t i = first; i < end && !world->out_of_memory; i++)
        play(world, &recorded->parts[i]);
    return true;
}

/* ---- telling ---- */

void recorded_tell_events(struct cv_json *json, const char *key, const struct cv_story *story)
{
    const struct explored *world = &story->world;
    cv_json_open(json, key, '[');
    if (recorded_goes_on(story)) {
        const struct recorded *recorded = story->recorded;
        const struct recorded_line *line = recorded->parts[recorded->steps[world->step_count]].line;
        char text[80];
        snprintf(text, sizeof text, "what %s did next", cv_name(world->scenario, line->event.node).text);
        cv_json_open(json, NULL, '{');
        cv_json_count(json, "index", 0);
        cv_json_text(json, "type", explored_type_name(line->type == EVENT_TYPES ? EVENT_REMARK : line->type));
        cv_json_count(json, "node", line->event.node);
        cv_json_null(json, "peer");
        cv_json_null(json, "message");
        cv_json_text(json, "text", text);
        cv_json_truth(json, "likely", true);
        cv_json_truth(json, "next", true);
        cv_json_truth(json, "early", false);
        cv_json_truth(json, "planned", false);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

void recorded_tell_names(struct cv_json *json, const struct cv_story *story)
{
    const struct recorded_lines *lines = &story->recorded->lines;
    cv_json_open(json, "names", '[');
    for (uint64_t i = 0; i < lines->name_count; i++) {
        cv_json_open(json, NULL, '{');
        cv_json_text(json, "subject", lines->names[i].subject);
        cv_json_text(json, "name", lines->names[i].name);
        cv_json_text(json, "algorithm", lines->names[i].algorithm->name);
        cv_json_count(json, "lines", lines->names[i].lines);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
    cv_json_count(json, "chosen", story->recorded->name);
    cv_json_open(json, "missing", '[');
    for (cv_node node = 0; node < lines->nodes; node++)
        if (!lines->each[node].recorded)
            cv_json_count(json, NULL, lines->ids[node]);
    cv_json_close(json, ']');
}
