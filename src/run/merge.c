// SPDX-License-Identifier: MIT
/*
 * Puts the steps of all processes in one order: by the time at which they began, each process's own in their order, and
 * no receipt before its send. Tells which messages were lost: those that never arrived, when their receiver died, or
 * their sender while it still kept them back.
 */
#include <stdlib.h>

#include "core/error.h"
#include "run/account_parts.h"
#include "run/run_view.h"

#define NO_LIMIT UINT64_MAX

/* A message, by the slot of its sender and its number there. */
struct flight {
    uint64_t number; /* in the order of the merged run; 0: not sent yet */
    bool over;       /* it arrived, or a cut kept it back */
};

struct source {
    const unsigned char *at, *end; /* the next step */
    struct flight *flights;
    uint64_t flight_count;
    bool dead; /* the process has ended, in the merged run */
};

/* A message that never arrives. */
struct stray {
    struct log_record record;
    const struct cv_message *message;
};

struct merger {
    struct account_parts *parts;
    const struct cv_observer *observer;
    struct source *sources;
    uint32_t count;
    uint64_t numbers;      /* messages so far */
    uint64_t last_ns;      /* later steps do not count */
    struct run_view view;  /* the present one */
    struct cv_group group; /* as its members know it */
    struct stray *strays;
    size_t stray_count, stray_room;
};

/* ---- reading ---- */

/* The next step of a source; NULL if it has none, or only a part of one. */
static const struct log_step *step_at(const struct source *source)
{
    const size_t left = (size_t)(source->end - source->at);
    const struct log_step *step = (const void *)source->at;
    return left >= sizeof *step && left - sizeof *step >= step->bytes ? step : NULL;
}

static void skip(struct source *source)
{
    source->at += sizeof(struct log_step) + step_at(source)->bytes;
}

static const struct log_record *first_record(const struct log_step *step)
{
    return (const void *)(step + 1);
}

static const struct log_record *next_record(const struct log_record *record)
{
    return (const void *)((const unsigned char *)(record + 1) + record->bytes);
}

static const void *content_of(const struct log_record *record)
{
    return record->bytes ? record + 1 : NULL;
}

static struct flight *flight_of(const struct merger *merger, uint64_t serial)
{
    return &merger->sources[log_serial_slot(serial)].flights[log_serial_number(serial)];
}

/* ---- looking ahead ---- */

static void survey_record(struct merger *merger, const struct log_record *record, uint64_t ns, bool count)
{
    if (record->type == CV_EVENT_SEND && count)
        merger->sources[log_serial_slot(record->serial)].flight_count = log_serial_number(record->serial);
    if ((record->type == CV_EVENT_RECEIVE || record->type == CV_EVENT_LOST) && !count)
        flight_of(merger, record->serial)->over = true;
    if (record->type == CV_EVENT_LEAVE && (merger->last_ns == NO_LIMIT || ns > merger->last_ns))
        merger->last_ns = ns;
}

static void survey(struct merger *merger, bool count)
{
    for (uint32_t i = 0; i < merger->count; i++) {
        struct source ahead = merger->sources[i];
        for (const struct log_step *step = step_at(&ahead); step; skip(&ahead), step = step_at(&ahead)) {
            const struct log_record *record = first_record(step);
            for (uint32_t r = 0; r < step->records; r++, record = next_record(record))
                survey_record(merger, record, step->ns, count);
        }
    }
}

/* ---- telling ---- */

static void tell(struct merger *merger, const struct log_record *record, uint64_t ns)
{
    const struct cv_observer *observer = merger->observer;
    if (record->type == LOG_STATE && observer->state)
        observer->state(observer->context, &(struct cv_snapshot){.node = record->node,
                                                                 .name = record->name,
                                                                 .time = ns / NS_PER_MS,
                                                                 .clock = record->clock,
                                                                 .group = &merger->group,
                                                                 .state = content_of(record)});
    if (record->type >= LOG_STATE || !observer->event)
        return;
    const bool message =
        record->type == CV_EVENT_SEND || record->type == CV_EVENT_RECEIVE || record->type == CV_EVENT_LOST;
    observer->event(observer->context,
                    &(struct cv_event){.type = (enum cv_event_type)record->type,
                                       .node = record->node,
                                       .peer = record->peer,
                                       .time = ns / NS_PER_MS,
                                       .clock = record->clock,
                                       .message = message ? flight_of(merger, record->serial)->number : 0,
                                       .detail = record->detail,
                                       .name = record->name,
                                       .content = message ? content_of(record) : NULL,
                                       .text = record->text});
}

static void tell_lost(struct merger *merger, const struct stray *stray, uint64_t ns)
{
    const struct cv_observer *observer = merger->observer;
    if (observer->event)
        observer->event(observer->context,
                        &(struct cv_event){.type = CV_EVENT_LOST,
                                           .node = stray->record.peer,
                                           .peer = stray->record.node,
                                           .time = ns / NS_PER_MS,
                                           .clock = stray->record.clock,
                                           .message = flight_of(merger, stray->record.serial)->number,
                                           .name = stray->record.name,
                                           .content = stray->message});
}

static bool is_lost(const struct merger *merger, const struct log_record *record)
{
    return record->slot == NO_SLOT || merger->sources[record->slot].dead;
}

static void keep_stray(struct merger *merger, const struct log_record *record, uint64_t ns)
{
    const struct stray stray = {*record, content_of(record)};
    if (is_lost(merger, record)) {
        tell_lost(merger, &stray, ns);
        return;
    }
    if (merger->stray_count == merger->stray_room) {
        const size_t room = merger->stray_room ? 2 * merger->stray_room : 64;
        struct stray *larger = realloc(merger->strays, room * sizeof *larger);
        if (!larger) {
            merger->parts->out_of_memory = true;
            return;
        }
        merger->strays = larger;
        merger->stray_room = room;
    }
    merger->strays[merger->stray_count++] = stray;
}

/* The slot's process has ended: messages to it are lost, and those that it kept back. */
static void lose_strays(struct merger *merger, uint32_t slot, uint64_t ns)
{
    size_t kept = 0;
    merger->sources[slot].dead = true;
    for (size_t i = 0; i < merger->stray_count; i++) {
        const struct stray *stray = &merger->strays[i];
        if (stray->record.slot == slot || log_serial_slot(stray->record.serial) == slot)
            tell_lost(merger, stray, ns);
        else
            merger->strays[kept++] = *stray;
    }
    merger->stray_count = kept;
}

/* ---- in order ---- */

/* Another view begins: messages of the last one never arrive. */
static void change_view(struct merger *merger, const struct view_order *order)
{
    const struct cv_scenario *scenario = merger->parts->scenario;
    merger->stray_count = 0;
    if (run_view_change(&merger->view, scenario, order, (const void *)(order + 1)))
        merger->parts->out_of_memory = true;
    run_view_apply(&merger->view, scenario, &merger->group);
}

/* A step that begins with a receipt comes after the send. */
static bool is_ready(const struct merger *merger, const struct log_step *step)
{
    const struct log_record *record = first_record(step);
    return !step->records || record->type != CV_EVENT_RECEIVE || flight_of(merger, record->serial)->number;
}

static void play_record(struct merger *merger, const struct log_record *record, uint64_t ns)
{
    if (record->type == CV_EVENT_SEND)
        flight_of(merger, record->serial)->number = ++merger->numbers;
    account_record(merger->parts, record, content_of(record), ns);
    tell(merger, record, ns);
    if (record->type == CV_EVENT_SEND && !flight_of(merger, record->serial)->over)
        keep_stray(merger, record, ns);
    if (record->type == CV_EVENT_CRASH && record->slot != NO_SLOT)
        lose_strays(merger, record->slot, ns);
    if (record->type == CV_EVENT_VIEW)
        change_view(merger, content_of(record));
}

static void play_step(struct merger *merger, const struct log_step *step)
{
    const struct log_record *record = first_record(step);
    const bool last = step->ns == merger->last_ns && step->records && record->type == CV_EVENT_LEAVE;
    uint64_t round = 0;
    bool pulsed = false;
    for (uint32_t r = 0; r < step->records && (!last || r == 0); r++, record = next_record(record)) {
        if (record->type == CV_EVENT_PULSE && merger->parts->scenario->app) {
            account_pulse(merger->parts, record, step->ns);
            round = record->detail;
            pulsed = true;
        }
        if (record->type == CV_EVENT_SEND && pulsed)
            account_sent_in_round(merger->parts, content_of(record), round, step->ns);
        play_record(merger, record, step->ns);
    }
}

static struct source *choose(const struct merger *merger)
{
    struct source *chosen = NULL;
    uint64_t least = NO_LIMIT;
    for (uint32_t i = 0; i < merger->count; i++) {
        const struct log_step *step = step_at(&merger->sources[i]);
        if (step && step->ns < least && is_ready(merger, step)) {
            chosen = &merger->sources[i];
            least = step->ns;
        }
    }
    return chosen;
}

static bool is_last_state(const struct log_step *step)
{
    return step->records && first_record(step)->type == LOG_LAST_STATE;
}

int merge_steps(struct account_parts *parts, const struct account_source *sources, uint32_t count,
                const struct cv_observer *observer, bool to_last_exit)
{
    struct merger merger = {.parts = parts, .observer = observer, .count = count, .last_ns = NO_LIMIT};
    bool room = (merger.sources = calloc(count, sizeof *merger.sources)) != NULL;
    merger.group = parts->scenario->group;
    room = !run_view_first(&merger.view, parts->scenario) && room;
    if (room)
        run_view_apply(&merger.view, parts->scenario, &merger.group);
    for (uint32_t i = 0; room && i < count; i++)
        merger.sources[i] = (struct source){.at = sources[i].bytes, .end = sources[i].bytes + sources[i].size};
    if (room)
        survey(&merger, true);
    for (uint32_t i = 0; room && i < count; i++)
        room = (merger.sources[i].flights = calloc(merger.sources[i].flight_count + 1, sizeof(struct flight))) != NULL;
    if (room) {
        survey(&merger, false);
        if (!to_last_exit)
            merger.last_ns = NO_LIMIT;
        for (struct source *source = choose(&merger); source; source = choose(&merger)) {
            const struct log_step *step = step_at(source);
            if (step->ns <= merger.last_ns || is_last_state(step))
                play_step(&merger, step);
            skip(source);
        }
    }
    for (uint32_t i = 0; merger.sources && i < count; i++)
        free(merger.sources[i].flights);
    free(merger.sources);
    free(merger.strays);
    run_view_free(&merger.view);
    return room ? 0 : CV_ENOMEM;
}
