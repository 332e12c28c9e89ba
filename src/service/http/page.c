// SPDX-License-Identifier: MIT
#include "service/http/page.h"

#include <stdlib.h>
#include <string.h>

#include "live/net/tls_stream.h"

#define ROUND_US 1000000u   /* from one to the next */
#define LEAST_US 100000u    /* the same, if somebody comes in between */
#define WORK_SHARE 20u      /* one part of so many is for the work */
#define BEHIND_US 10000000u /* a reader that does not read for so long has to go */
#define UNREAD_BYTES (64u << 10)
#define TURN_BYTES (512u << 10) /* of snapshots, in a millisecond */

/* ---- who may see what ---- */

/* Rights of somebody who may see no names. */
static const struct cv_acl nothing;

/* The same identities as those of clients. Every reader who is let in sees the page, without the names if need be. */
static const struct cv_acl *acl_of(const struct page *page, const struct cv_stream *stream)
{
    const char *identity = stream->tls                               ? cv_tls_identity(stream->tls)
                           : stream->uv.handle.type == UV_NAMED_PIPE ? CV_IDENTITY_LOCAL
                                                                     : CV_IDENTITY_ANYBODY;
    const struct cv_acl *acl;
    return cv_acls_find(&page->service->member->security.settings->acls, identity, &acl) ? acl : &nothing;
}

void page_reconsider(struct page *page)
{
    for (struct page_reader *it = page->readers; it; it = it->next) {
        it->acl = acl_of(page, it->stream);
        it->round = 0;
        if (it->stream->tls && (it->acl == &nothing || !cv_tls_still_good(it->stream->tls)))
            cv_stream_close(it->stream);
    }
    page->surveys = false; /* its ACL may be gone */
}

/* ---- rounds ---- */

static void give(struct page_reader *reader, struct snapshot *snapshot)
{
    if ((reader->unsent || reader->stream->writing) && !reader->behind_us)
        reader->behind_us = cv_loop_now();
    snapshot_leave(reader->unsent);
    reader->unsent = snapshot;
    snapshot->users++;
    cv_stream_mark(reader->stream);
}

static void give_all(struct page *page)
{
    const struct cv_acl *acl = page->survey->acl;
    struct snapshot *snapshot = snapshot_make(page->survey, &page->recent);
    for (struct page_reader *it = page->readers; it; it = it->next)
        if (it->acl == acl) {
            it->round = page->round;
            if (snapshot && !it->stream->closing)
                give(it, snapshot);
        }
    snapshot_leave(snapshot);
}

/* A reader for which this round has made nothing yet. */
static struct page_reader *next_reader(const struct page *page)
{
    struct page_reader *it = page->readers;
    while (it && it->round == page->round)
        it = it->next;
    return it;
}

static void end_round(struct page *page)
{
    const uint64_t now = cv_loop_now();
    const uint64_t pause = page->taken_us * WORK_SHARE > LEAST_US ? page->taken_us * WORK_SHARE : LEAST_US;
    page->earliest_us = now + pause;
    const uint64_t due = page->round_us + ROUND_US;
    cv_alarm_set(page->service->alarms, &page->tick, due > page->earliest_us ? due : page->earliest_us);
}

static void work(struct cv_chore *chore)
{
    struct page *page = cv_alarm_owner(chore, struct page, chore);
    const uint64_t begun = cv_loop_now();
    if (!page->surveys) {
        const struct page_reader *next = next_reader(page);
        if (!next) {
            end_round(page);
            return;
        }
        survey_begin(page->survey, page->service, next->acl);
        page->surveys = true;
    }
    if (survey_work(page->survey)) {
        page->surveys = false;
        give_all(page);
    }
    page->taken_us += cv_loop_now() - begun;
    cv_loop_defer(page->service->loop, chore);
}

static void begin_round(struct cv_alarm *alarm)
{
    struct page *page = cv_alarm_owner(alarm, struct page, tick);
    const uint64_t now = cv_loop_now();
    for (struct page_reader *it = page->readers; it; it = it->next)
        if (it->behind_us && now - it->behind_us > BEHIND_US)
            cv_stream_close(it->stream);
    page->round++;
    page->round_us = now;
    page->taken_us = 0;
    cv_loop_defer(page->service->loop, &page->chore);
}

/* ---- readers ---- */

bool page_join(struct page *page, struct page_reader *reader, struct cv_stream *stream, struct cv_visitor *visitor)
{
    const uint64_t now = cv_loop_now();
    if (!page->survey && !(page->survey = malloc(sizeof *page->survey)))
        return false;
    cv_door_leave(visitor);
    cv_door_enter(&page->door, visitor, stream);
    cv_stream_limit_output(stream, UNREAD_BYTES);
    *reader = (struct page_reader){.stream = stream, .page = page, .next = page->readers, .acl = acl_of(page, stream)};
    if (page->readers)
        page->readers->previous = reader;
    page->readers = reader;
    if (!page->chore.deferred)
        cv_alarm_set(page->service->alarms, &page->tick, now > page->earliest_us ? now : page->earliest_us);
    return true;
}

/* So much in one millisecond leaves time for others. The time of the turn would stand still when the loop closes. */
static bool has_sent_enough(struct page *page)
{
    const uint64_t now = cv_loop_now() / 1000;
    if (page->sent_ms != now)
        page->sent = 0;
    page->sent_ms = now;
    return page->sent >= TURN_BYTES;
}

void page_flush(struct page_reader *reader)
{
    if (!reader->unsent || reader->stream->writing)
        return; /* it is called again when what is on its way has arrived */
    if (has_sent_enough(reader->page)) {
        cv_stream_mark(reader->stream);
        return;
    }
    if (!cv_stream_write(reader->stream, reader->unsent->bytes, reader->unsent->length))
        return;
    reader->page->sent += reader->unsent->length;
    snapshot_leave(reader->unsent);
    reader->unsent = NULL;
    reader->behind_us = 0;
}

/* The page of an honest browser then waits until somebody wants to go on reading there. */
static void say_full(struct cv_stream *stream)
{
    static const char full[] = "event: full\ndata: \n\n";
    cv_stream_write(stream, full, sizeof full - 1);
}

void page_leave(struct page *page, struct page_reader *reader)
{
    if (!reader->stream)
        return;
    *(reader->previous ? &reader->previous->next : &page->readers) = reader->next;
    if (reader->next)
        reader->next->previous = reader->previous;
    snapshot_leave(reader->unsent);
    *reader = (struct page_reader){0};
    if (page->readers)
        return;
    cv_loop_call_off(page->service->loop, &page->chore);
    cv_alarm_cancel(page->service->alarms, &page->tick);
    free(page->survey);
    page->survey = NULL;
    page->surveys = false;
}

/* ---- opening ---- */

static void moved(void *context, const struct cv_instance *gone)
{
    const struct page *page = context;
    if (page->surveys)
        survey_moved(page->survey, gone);
}

static void changed(void *context, const struct lock_hold *hold, enum hold_change change)
{
    struct page *page = context;
    recent_holds_add(&page->recent, hold, change);
}

int page_open(struct page *page, struct cv_service *service)
{
    page->service = service;
    page->door = (struct cv_door){
        .loop = service->loop, .most = PAGE_READERS, .most_each = PAGE_READERS_EACH, .farewell = say_full};
    page->tick.ring = begin_round;
    page->chore.run = work;
    page->watcher = (struct cv_service_watcher){.moved = moved, .changed = changed, .context = page};
    service->watcher = &page->watcher;
    return cv_alarms_reserve(service->alarms, 1);
}
