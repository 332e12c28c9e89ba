// SPDX-License-Identifier: MIT
#include "show/history.h"

#include <stdlib.h>

#include "core/error.h"
#include "core/writer.h"

/* Later events are only counted: nobody reads more than this. */
#define LARGEST_HISTORY_EVENTS (1u << 20)
#define LARGEST_HISTORY_BYTES (128u << 20)
#define CHUNK_BYTES (64u << 10)

struct cv_history_chunk {
    struct cv_history_chunk *next;
    size_t used, room;
    uint64_t data[];
};

int cv_history_init(struct cv_history *history, uint32_t nodes)
{
    *history = (struct cv_history){.node_count = nodes, .span = 1};
    history->nodes = calloc(nodes, sizeof *history->nodes);
    if (!history->nodes) {
        history->out_of_memory = true;
        return CV_ENOMEM;
    }
    for (uint32_t node = 0; node < nodes; node++)
        history->nodes[node].crashed = history->nodes[node].recovered = CV_NEVER;
    return 0;
}

void cv_history_free(struct cv_history *history)
{
    for (struct cv_history_chunk *chunk = history->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    cv_state_changes_free(&history->states);
    free(history->changes);
    free(history->events);
    free(history->nodes);
    *history = (struct cv_history){0};
}

/* ---- counting: all of the run ---- */

static void widen_spans(struct cv_history *history)
{
    history->span *= 2;
    for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++) {
        uint64_t *sent = history->sent[kind];
        for (uint32_t bin = 0; bin < CV_HISTORY_BINS / 2; bin++)
            sent[bin] = sent[2 * bin] + sent[2 * bin + 1];
        for (uint32_t bin = CV_HISTORY_BINS / 2; bin < CV_HISTORY_BINS; bin++)
            sent[bin] = 0;
    }
}

static void count(struct cv_history *history, const struct cv_event *event)
{
    history->last = event->time > history->last ? event->time : history->last;
    while (history->last / history->span >= CV_HISTORY_BINS)
        widen_spans(history);
    if (event->node >= history->node_count)
        return;
    struct cv_history_node *node = &history->nodes[event->node];
    switch (event->type) {
    case CV_EVENT_SEND:
        if (event->peer == event->node)
            return; /* the texts do not count messages to oneself */
        node->sent++;
        history->sent[event->content->kind][event->time / history->span]++;
        return;
    case CV_EVENT_RECEIVE:
        node->received += event->peer != event->node;
        return;
    case CV_EVENT_CRASH:
        node->crashed = event->time;
        node->down = true;
        node->knows = false;
        node->waiting = node->inside = 0;
        return;
    case CV_EVENT_RECOVER:
        node->recovered = event->time;
        node->down = false;
        return;
    case CV_EVENT_ELECTED:
        node->leader = (cv_id)event->detail;
        node->knows = true;
        return;
    case CV_EVENT_FORGET:
        node->knows = false;
        return;
    case CV_EVENT_REQUEST:
        node->waiting += !event->text;
        return;
    case CV_EVENT_ENTER:
        node->waiting -= node->waiting > 0;
        node->inside++;
        node->entries++;
        return;
    case CV_EVENT_LEAVE:
        node->inside -= node->inside > 0;
        return;
    case CV_EVENT_RESULT:
        node->result = event->detail;
        node->via = event->peer;
        node->came = true;
        return;
    default:
        return;
    }
}

/* ---- remembering: as much as anybody looks at ---- */

static void *keep(struct cv_history *history, const void *content, size_t length)
{
    const size_t bytes = (length + 7) / 8 * 8;
    struct cv_history_chunk *chunk = history->chunks;
    if (!chunk || chunk->room - chunk->used < bytes) {
        const size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        chunk = malloc(sizeof *chunk + room);
        if (!chunk)
            return NULL;
        *chunk = (struct cv_history_chunk){.next = history->chunks, .room = room};
        history->chunks = chunk;
    }
    void *copy = (unsigned char *)chunk->data + chunk->used;
    memcpy(copy, content, length);
    chunk->used += bytes;
    history->bytes += bytes;
    return copy;
}

static bool grow(struct cv_history *history)
{
    const size_t capacity = history->capacity ? history->capacity * 2 : 256;
    struct cv_event *events = realloc(history->events, capacity * sizeof *events);
    if (!events)
        return false;
    history->events = events;
    history->capacity = capacity;
    return true;
}

void cv_history_event(void *context, const struct cv_event *event)
{
    struct cv_history *history = context;
    if (!history->nodes)
        return;
    count(history, event);
    if (history->truncated)
        return;
    history->truncated = history->count == LARGEST_HISTORY_EVENTS || history->bytes > LARGEST_HISTORY_BYTES;
    if (history->truncated)
        return;
    struct cv_message *copy = event->content ? keep(history, event->content, cv_message_bytes(event->content)) : NULL;
    if ((event->content && !copy) || (history->count == history->capacity && !grow(history))) {
        history->truncated = history->out_of_memory = true;
        return;
    }
    history->events[history->count] = *event;
    history->events[history->count].content = copy;
    history->count++;
}

/* ---- states ---- */

int cv_history_watch(struct cv_history *history, const struct cv_scenario *scenario)
{
    return cv_state_changes_init(&history->states, scenario);
}

#define CHANGE_BYTES 400u

/* The texts of a change, while they are made. */
struct change_texts {
    char text[CHANGE_BYTES], brief[CHANGE_BYTES];
    struct cv_writer whole, few;
};

static void add_change(void *context, const struct cv_field_change *change)
{
    struct change_texts *texts = context;
    const struct cv_fields *field = change->field;
    if (!change->before)
        return;
    cv_writef(&texts->whole, "%s%s ", texts->whole.used ? ", " : "", field->name);
    cv_write(&texts->whole, change->before);
    cv_write(&texts->whole, " → ");
    cv_write(&texts->whole, change->text);
    const bool flag = field->type == CV_FIELD_FLAG;
    if (field->each || (flag && strcmp(change->text, "no") == 0))
        return; /* what is long, or gone */
    cv_write(&texts->few, texts->few.used ? ", " : "");
    if (field->type != CV_FIELD_MODE)
        cv_writef(&texts->few, "%s%s", field->name, flag ? "" : " ");
    cv_write(&texts->few, flag ? "" : change->text);
}

static bool grow_changes(struct cv_history *history)
{
    const size_t room = history->change_room ? 2 * history->change_room : 256;
    struct cv_history_change *changes = realloc(history->changes, room * sizeof *changes);
    if (!changes)
        return false;
    history->changes = changes;
    history->change_room = room;
    return true;
}

void cv_history_state(void *context, const struct cv_snapshot *snapshot)
{
    struct cv_history *history = context;
    struct change_texts texts;
    if (!history->states.seen || !cv_state_changes_look(&history->states, snapshot) || history->truncated)
        return;
    texts.whole = cv_writer(texts.text, sizeof texts.text);
    texts.few = cv_writer(texts.brief, sizeof texts.brief);
    cv_state_changes_tell(&history->states, snapshot, false, add_change, &texts);
    if (!texts.whole.used || !history->count)
        return;
    struct cv_history_change change = {.event = history->count - 1, .node = snapshot->node};
    change.text = keep(history, texts.text, strlen(texts.text) + 1);
    change.brief = keep(history, texts.brief, strlen(texts.brief) + 1);
    const bool room = history->change_count < history->change_room || grow_changes(history);
    if (!change.text || !change.brief || !room || history->states.out_of_memory)
        history->truncated = history->out_of_memory = true;
    else
        history->changes[history->change_count++] = change;
}

const struct cv_history_change *cv_history_change(const struct cv_history *history, size_t first, size_t end,
                                                  cv_node node)
{
    size_t low = 0, high = history->change_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (history->changes[middle].event < first)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < history->change_count && history->changes[low].event < end; low++)
        if (history->changes[low].node == node)
            return &history->changes[low];
    return NULL;
}

/* ---- flights ---- */

static int by_message(const void *one, const void *other)
{
    const struct cv_event *const *a = one, *const *b = other;
    return ((*a)->message > (*b)->message) - ((*a)->message < (*b)->message);
}

static int by_send(const void *one, const void *other)
{
    const struct cv_flight *a = one, *b = other;
    return (a->sent > b->sent) - (a->sent < b->sent);
}

struct cv_flight *cv_history_flights(const struct cv_history *history, size_t *flight_count)
{
    size_t found = 0;
    const struct cv_event **sends = malloc((history->count + 1) * sizeof *sends);
    struct cv_flight *flights = malloc((history->count + 1) * sizeof *flights);
    if (!sends || !flights) {
        free(flights);
        flights = NULL;
        goto out;
    }
    for (size_t i = 0; i < history->count; i++)
        if (history->events[i].type == CV_EVENT_SEND)
            sends[found++] = &history->events[i];
    qsort(sends, found, sizeof *sends, by_message);
    for (size_t i = 0; i < found; i++)
        flights[i] = (struct cv_flight){(size_t)(sends[i] - history->events), CV_NO_EVENT};
    for (size_t i = 0; i < history->count; i++) {
        const struct cv_event *event = &history->events[i];
        if (event->type != CV_EVENT_RECEIVE && event->type != CV_EVENT_LOST)
            continue;
        const struct cv_event **send = bsearch(&event, sends, found, sizeof *sends, by_message);
        if (send)
            flights[send - sends].arrived = i;
    }
    qsort(flights, found, sizeof *flights, by_send);
    *flight_count = found;
out:
    free(sends);
    return flights;
}
