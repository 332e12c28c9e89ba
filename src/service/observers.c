// SPDX-License-Identifier: MIT
#include "service/observers.h"

#include <stdlib.h>

#include "live/net/stream.h"
#include "service/info.h"

#define NEWS_BYTES 2048u /* of what an observer is told, at most */

/* ---- telling them ---- */

static void write_news(struct cv_resp_writer *out, const struct lock *lock)
{
    cv_resp_push(out, lock->leader.value ? 5 : 4);
    cv_resp_word(out, lock->instance->subject == CV_SUBJECT_LOCK ? "lock" : "leader");
    cv_resp_bulk(out, cv_instance_name(lock->instance));
    if (lock->leader.leads)
        info_write_session(out, lock->leader.id, lock->leader.session);
    else
        cv_resp_nil(out);
    cv_resp_integer(out, (int64_t)lock->leader.fence);
    if (lock->leader.value)
        cv_resp_bulk(out, cv_kept(lock->leader.value));
}

/* There may be ten thousand observers, so the push is written once for each protocol. */
void observers_tell(const struct lock *lock)
{
    struct cv_resp_writer news[2];
    for (uint32_t i = 0; i < 2 && lock->observers; i++) {
        cv_resp_begin(&news[i], NEWS_BYTES);
        news[i].protocol = 2 + i;
        write_news(&news[i], lock);
    }
    for (const struct observer *observer = lock->observers; observer; observer = observer->next) {
        struct session *session = observer->session;
        const struct cv_resp_writer *its = &news[session->out.protocol > 2];
        if (session->stream.closing)
            continue;
        if (session->out.length > SESSION_HIGH_WATER || its->full) {
            session->service->dropped_observers++; /* it has not read for long, and must learn that it missed some */
            cv_stream_close(&session->stream);
            continue;
        }
        cv_resp_append(&session->out, (struct cv_text){its->bytes, its->length});
        cv_stream_mark(&session->stream);
    }
    for (uint32_t i = 0; i < 2 && lock->observers; i++)
        cv_resp_end(&news[i]);
}

/* What is known of the lock grows old from now on. */
static void stop_watching(struct lock *lock)
{
    leader_forget(lock);
    lock->leader = (struct leader){0};
    if (cv_host_ready(lock->service->host))
        leader_watch(lock, false);
}

void observers_drop(struct observer *observer)
{
    *(observer->previous ? &observer->previous->next : &observer->lock->observers) = observer->next;
    if (observer->next)
        observer->next->previous = observer->previous;
    observer->session->observing--;
    observer->session->service->observing--;
    if (!observer->lock->observers && observer->lock->instance->subject == CV_SUBJECT_LOCK)
        stop_watching(observer->lock);
    free(observer);
}

/* ---- coming and going ---- */

static bool is_observed(const struct session *session, const struct lock *lock)
{
    const struct observer *observer = session->observers;
    while (observer && observer->lock != lock)
        observer = observer->more;
    return observer != NULL;
}

void observers_add(struct session *session, enum cv_subject subject, struct cv_text name)
{
    struct cv_service *service = session->service;
    const struct lock *known = lock_find(service, subject, name);
    if (known && is_observed(session, known)) {
        info_write_leader(session, known);
        return;
    }
    if (session->observing >= service->limits->observed_each || service->observing >= service->limits->observed) {
        cv_resp_error(&session->out, "BUSY %s observe%s as many names as allowed, expected no more",
                      session->observing >= service->limits->observed_each ? "this connection" : "all clients together",
                      session->observing >= service->limits->observed_each ? "s" : "");
        return;
    }
    struct lock *lock = lock_open(service, subject, name);
    struct observer *observer = lock ? calloc(1, sizeof *observer) : NULL;
    if (!observer) {
        cv_resp_error(&session->out, "BUSY too many names");
        return;
    }
    if (subject == CV_SUBJECT_LOCK && !lock->observers)
        leader_watch(lock, true); /* before it is pushed anything */
    *observer =
        (struct observer){.session = session, .lock = lock, .next = lock->observers, .more = session->observers};
    if (observer->next)
        observer->next->previous = observer;
    lock->observers = session->observers = observer;
    session->observing++;
    service->observing++;
    info_write_leader(session, lock);
}

void observers_end(struct session *session, enum cv_subject subject, const struct cv_resp_command *command)
{
    uint64_t ended = 0;
    for (struct observer **at = &session->observers, *observer; (observer = *at);) {
        const struct cv_text name = cv_instance_name(observer->lock->instance);
        const bool meant = command->count < 2 || (name.length == command->word[1].length &&
                                                  memcmp(name.start, command->word[1].start, name.length) == 0);
        if (!meant || observer->lock->instance->subject != subject) {
            at = &observer->more;
            continue;
        }
        *at = observer->more;
        observers_drop(observer);
        ended++;
    }
    cv_resp_integer(&session->out, (int64_t)ended);
}
