// SPDX-License-Identifier: MIT
#include "service/session.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "live/net/listen.h"
#include "live/net/stream.h"
#include "live/net/tls_stream.h"
#include "live/process/event_log.h"
#include "live/settings/settings_security.h"
#include "service/commands.h"
#include "service/exchange.h"
#include "service/hold_proof.h"
#include "service/listing.h"
#include "service/lock_all.h"
#include "service/observers.h"
#include "service/places.h"
#include "service/recipe.h"
#include "service/redis_call.h"
#include "service/ttl_promise.h"

#define ALARMS_EACH 5u /* its wait, its request, its time at the door and in a reserved place, its half command */
#define HOLDS_EACH_TIME 64u

static struct session *session_of(struct cv_stream *stream)
{
    return (struct session *)(void *)stream;
}

static struct session *session_of_chore(struct cv_chore *chore)
{
    return (struct session *)(void *)((char *)chore - offsetof(struct session, chore));
}

/* ---- input ---- */

/* Does a command of the session wait for something? */
static bool is_busy(const struct session *session)
{
    return session->wait.lock || session->granting || session->request.name || session->all || session->redis ||
           session->order || session->exchanging;
}

static bool may_go_on(const struct session *session)
{
    return !is_busy(session) && !session->leaving && !session->congested && !session->stream.closing &&
           !session->listing && !session->chore.deferred;
}

static void took_too_long(struct cv_alarm *alarm)
{
    struct session *session = cv_alarm_owner(alarm, struct session, unfinished);
    session->service->dropped_unfinished++;
    cv_resp_error(&session->out, "ERR Protocol error: the command did not end within %llu ms",
                  (unsigned long long)session->service->limits->command_ms);
    session->leaving = true;
    cv_stream_pause(&session->stream);
    cv_stream_mark(&session->stream);
}

/* A command that has begun must end: half a command must not take up a place for ever. */
static void expect_end(struct session *session, bool half, bool progress)
{
    struct cv_service *service = session->service;
    if (!half || progress)
        cv_alarm_cancel(service->alarms, &session->unfinished);
    if (half && !session->unfinished.place)
        cv_alarm_set(service->alarms, &session->unfinished,
                     service->host->calls.now() + service->limits->command_ms * 1000);
}

/*
 * As Redis does: a web page in a browser, or a service that fetches any address, can be made to send a request here.
 */
static void refuse_http(struct session *session)
{
    char name[CV_VISITOR_NAME_BYTES];
    session->service->http_requests++;
    cv_door_look(&session->visitor, &session->stream);
    cv_log(CV_LOG_CLIENT_REFUSED, {"from", .text = cv_visitor_name(&session->visitor, name)},
           {"why", .text = "an HTTP request to the port of clients"});
    session->leaving = true;
}

/* Runs the next command, if all of it is there. Its length, or what the reader says. */
static long run_next(struct session *session)
{
    const struct cv_stream *stream = &session->stream;
    struct cv_resp_command command;
    const long length = cv_resp_read_command(stream->in + session->read, stream->in_used - session->read, &command);
    if (length == CV_RESP_BROKEN) {
        cv_resp_error(&session->out, "ERR Protocol error: %s", command.wrong);
        session->leaving = true;
    }
    if (length <= 0)
        return length;
    session->read += (size_t)length;
    if (cv_resp_is_http(&command))
        refuse_http(session);
    else if (command.count)
        commands_run(session, &command);
    session->congested = session->out.length > SESSION_HIGH_WATER;
    return length;
}

static void listen_to(struct session *session)
{
    struct cv_stream *stream = &session->stream;
    uint64_t begun = 0; /* a command that comes alone needs no clock */
    long length = CV_RESP_BROKEN;
    while (may_go_on(session) && session->read < stream->in_used) {
        if ((length = run_next(session)) <= 0)
            break;
        if (session->read == stream->in_used)
            break;
        const uint64_t now = cv_loop_now();
        begun = begun ? begun : now;
        if (now - begun >= CV_SLICE_US)
            cv_loop_defer(session->service->loop, &session->chore);
    }
    expect_end(session, length == CV_RESP_MORE, session->read > 0);
    if (session->read) {
        cv_stream_take(stream, session->read);
        session->read = 0;
    }
    if (is_busy(session) && stream->in_used == SESSION_INPUT_BYTES) {
        cv_resp_error(&session->out, "BUSY too many bytes after a command that waits");
        session->leaving = true;
    }
    if (session->congested || session->leaving)
        cv_stream_pause(stream);
}

/* A stream that was full has room again. */
static void listen_on(struct session *session)
{
    listen_to(session);
    if (!session->stream.reading && !session->congested && !session->leaving)
        cv_stream_resume(&session->stream);
    cv_stream_mark(&session->stream);
}

static void catch_up(struct cv_chore *chore)
{
    listen_on(session_of_chore(chore));
}

/* Very many clients may send at the same moment: some are answered now, the others in later turns of the loop. */
static void received(struct cv_stream *stream)
{
    struct session *session = session_of(stream);
    if (cv_loop_is_late(stream->loop)) {
        cv_loop_defer(stream->loop, &session->chore);
        return;
    }
    listen_to(session);
    cv_stream_mark(stream);
}

/* ---- output ---- */

/* Nothing may come into the middle of an answer to LOCKS: what is pushed meanwhile waits in `out`. */
static void write_out(struct session *session)
{
    struct cv_stream *stream = &session->stream;
    struct cv_resp_writer *out = &session->out;
    if (!listing_is_begun(session) && out->length) {
        const size_t sent = cv_stream_write(stream, out->bytes, out->length);
        cv_resp_sent(out, sent);
        session->untold = sent ? NULL : session->untold;
    }
    if (!listing_is_ready(session) || (out->length && !listing_is_begun(session)))
        return;
    listing_send(session);
    if (!session->listing) {
        cv_stream_mark(stream);
        if (!stream->reading && !session->congested)
            cv_stream_resume(stream);
    }
}

static void flush(struct cv_stream *stream)
{
    struct session *session = session_of(stream);
    struct cv_resp_writer *out = &session->out;
    if (stream->in_used && may_go_on(session))
        listen_to(session);
    write_out(session);
    session->service->refused_output += out->full && !stream->closing;
    if (out->full || (session->leaving && !out->length && !stream->writing && !session->listing)) {
        cv_stream_close(stream);
    } else if (session->congested && !out->length && !stream->writing) {
        session->congested = false;
        cv_stream_resume(stream);
        cv_stream_mark(stream); /* commands that came meanwhile lie in the buffer */
    }
}

static void add_hold(struct session *session, struct lock_hold *hold)
{
    hold->more = session->holds;
    hold->less = NULL;
    if (session->holds)
        session->holds->less = hold;
    session->holds = hold;
    session->holding++;
}

void session_have(struct session *session, struct lock_hold *hold)
{
    cv_drop_text(&hold->client);
    hold->session = session;
    add_hold(session, hold);
}

void session_take(struct session *session, struct lock_hold *hold)
{
    add_hold(session, hold);
    session->granting = hold;
}

/* A session that hears no pushes would have to be closed to be told of a loss, so it stays as it is. */
void session_adopt(struct session *session, struct lock_hold *hold)
{
    if (hold->session || hold->forced || !hold->ttl_ms || session->out.protocol < 3 ||
        session->holding >= session->service->limits->held_each)
        return;
    session_have(session, hold);
}

/* Tells how long the hold surely lasts, counted from when LOCK came, and so from when it was sent. */
static void tell_deadline(struct session *session, struct lock_hold *hold)
{
    const struct cv_service *service = session->service;
    const uint64_t waited_ms = cv_loop_coarse_ms(service->loop) - session->wait.since_ms;
    const int64_t left_ms = command_renew(hold);
    cv_resp_array(&session->out, 2);
    cv_resp_integer(&session->out, (int64_t)hold->fence);
    cv_resp_integer(&session->out, left_ms == INT64_MAX ? -1 : left_ms + (int64_t)waited_ms);
}

static void tell_watcher(const struct lock_hold *hold, enum hold_change change)
{
    const struct cv_service_watcher *watcher = hold->lock->service->watcher;
    if (watcher)
        watcher->changed(watcher->context, hold, change);
}

/* Tells the fence, and how long it surely lasts if that was asked for. */
static void tell_grant(struct lock_hold *hold)
{
    if (hold->session->wait.deadline)
        tell_deadline(hold->session, hold);
    else
        cv_resp_integer(&hold->session->out, (int64_t)hold->fence);
}

void session_granted(struct lock_hold *hold)
{
    struct session *session = hold->session;
    const struct waiter *wait = &session->wait;
    session->granting = NULL;
    session->untold = hold->replaces ? NULL : hold; /* a client that does not know it goes on holding the former */
    cv_alarm_cancel(session->service->alarms, &session->wait.alarm);
    hold->ends_here = true;
    tell_watcher(hold, HOLD_GRANTED);
    if (!wait->claimed)
        cv_member_record_grant(session->service->member, hold->lock->instance, hold->fence, hold->owner, hold->shared,
                               CV_GRANT_BEGINS, hold->ttl_ms, hold->replaces);
    if (session->all)
        lock_all_granted(session, hold);
    else if (session->redis)
        redis_call_granted(session);
    else if (wait->claimed)
        peer_request_answer(session, &(struct peer_request_order){.renews = true}, command_renew(hold));
    else
        tell_grant(hold);
    cv_stream_mark(&session->stream);
}

void session_hand_over(struct lock_hold *hold)
{
    hold->ends_here = false;
    if (lock_all_has(hold)) {
        ttl_promise_withdraw(hold);
        lock_all_lost(hold->session);
    } else {
        hold_proof_make(hold);
    }
}

bool session_counts_itself(const struct lock_hold *hold)
{
    return hold->ttl_ms && hold->value && hold->lock->instance->subject == CV_SUBJECT_LOCK;
}

void session_tell_loss(struct session *session, const struct lock *lock, uint64_t fence, struct cv_text reason)
{
    if (session->out.protocol < 3) {
        cv_stream_close(&session->stream); /* RESP2 has no other way to tell it */
        return;
    }
    cv_resp_push(&session->out, reason.start ? 4 : 3);
    cv_resp_word(&session->out, "lost");
    cv_resp_bulk(&session->out, cv_instance_name(lock->instance));
    cv_resp_integer(&session->out, (int64_t)fence);
    if (reason.start)
        cv_resp_bulk(&session->out, reason);
    cv_stream_mark(&session->stream);
}

static void tell_loss(struct lock_hold *hold, struct cv_text reason)
{
    struct session *session = hold->session;
    hold->lock->service->statistics.losses++;
    hold->lost = true;
    if (!session || session_counts_itself(hold))
        return;
    if (lock_all_has(hold))
        lock_all_lost(session);
    else
        session_tell_loss(session, hold->lock, hold->fence, reason);
}

void session_lost(struct lock_hold *hold)
{
    if (!hold->forced) /* then it has been told */
        tell_loss(hold, (struct cv_text){NULL, 0});
}

void session_forced(struct lock_hold *hold, struct cv_text reason)
{
    tell_loss(hold, reason);
}

void session_drop_hold(struct lock_hold *hold)
{
    if (hold->ends_here) {
        tell_watcher(hold, hold->lost ? HOLD_LOST : HOLD_ENDED);
        cv_member_record_grant(hold->lock->service->member, hold->lock->instance, hold->fence, hold->owner,
                               hold->shared, CV_GRANT_ENDS, hold->ttl_ms, 0);
    }
    if (!hold->session)
        return;
    if (hold->session->granting == hold)
        hold->session->granting = NULL;
    if (hold->session->untold == hold)
        hold->session->untold = NULL;
    *(hold->less ? &hold->less->more : &hold->session->holds) = hold->more;
    if (hold->more)
        hold->more->less = hold->less;
    hold->session->holding--;
    hold->session = NULL;
}

void session_refuse(struct waiter *wait, const char *why)
{
    if (wait->session->all) {
        lock_all_failed(wait->session, why);
        return;
    }
    cv_resp_error(&wait->session->out, "%s", why);
    redis_call_end(wait->session);
    cv_stream_mark(&wait->session->stream);
}

void session_no_memory(struct waiter *wait)
{
    cv_alarm_cancel(wait->session->service->alarms, &wait->alarm);
    session_refuse(wait, OUT_OF_MEMORY);
}

static void waited_too_long(struct cv_alarm *alarm)
{
    session_timed_out(cv_alarm_owner(alarm, struct waiter, alarm));
}

void session_timed_out(struct waiter *wait)
{
    struct session *session = wait->session;
    if (session->order) {
        recipe_timed_out(session);
        return;
    }
    if (session->exchanging) {
        exchange_fail(session->exchanging, NULL);
        return;
    }
    if (lock_all_stood_back(session))
        return;
    if (wait->lock)
        lock_give_up(wait);
    else if (session->granting)
        lock_end(session->granting);
    if (session->all) {
        lock_all_failed(session, NULL);
        return;
    }
    if (session->redis)
        redis_call_missed(session);
    else
        cv_resp_nil(&session->out);
    cv_stream_mark(&session->stream);
}

/* ---- coming and going ---- */

/* The session is gone, and the hold goes on without it. */
static void orphan(struct lock_hold *hold)
{
    struct session *session = hold->session;
    session->holds = hold->more;
    if (hold->more)
        hold->more->less = NULL;
    session->holding--;
    hold->client = cv_share_text(session->name);
    hold->session = NULL;
}

/*
 * A hold with a time to live outlasts its session. So does a hold whose client was promised a time: the client may not
 * know that its connection is gone. A session may have very many holds, so some of them end at a time.
 */
static void let_go_some(struct session *session)
{
    const uint64_t now = session->service->host->calls.now();
    for (uint32_t left = HOLDS_EACH_TIME; session->holds && left; left--) {
        struct lock_hold *hold = session->holds;
        if (hold == session->untold) {
            lock_end(hold); /* its client went at the moment it was granted, and never knew */
        } else if (hold->ttl_ms && !hold->confirming) {
            orphan(hold);
        } else if (hold->promised_us > now) {
            orphan(hold);
            cv_alarm_set(session->service->alarms, &hold->alarm, hold->promised_us);
        } else {
            lock_lose(hold);
        }
    }
}

static void let_go(struct session *session)
{
    lock_all_drop(session);
    recipe_drop(session);
    if (session->exchanging)
        exchange_drop(session->exchanging);
    if (session->wait.lock)
        lock_give_up(&session->wait);
    cv_alarm_cancel(session->service->alarms, &session->wait.alarm);
    cv_drop_text(&session->wait.value);
    peer_request_drop(session);
    redis_call_end(session);
    while (session->proofs)
        hold_proof_drop(session->proofs);
    for (struct observer *observer = session->observers, *more; observer; observer = more) {
        more = observer->more;
        observers_drop(observer);
    }
    session->observers = NULL;
}

/* The connection ended before its identity was known. */
static void refuse(struct session *session)
{
    const char *wrong = session->stream.tls ? cv_tls_wrong(session->stream.tls) : "";
    char name[CV_VISITOR_NAME_BYTES];
    session->service->refused++;
    cv_log(CV_LOG_CLIENT_REFUSED, {"from", .text = cv_visitor_name(&session->visitor, name)},
           {"why", .text = *wrong               ? wrong
                           : *session->identity ? "may do nothing here"
                                                : "did not prove who it is"});
}

static void leave(struct cv_chore *chore);

static void closed(struct cv_stream *stream)
{
    struct session *session = session_of(stream);
    struct cv_service *service = session->service;
    if (session->visitor.door)
        refuse(session);
    cv_door_leave(&session->visitor);
    listing_end(session);
    cv_loop_call_off(service->loop, &session->chore);
    cv_alarm_cancel(service->alarms, &session->unfinished);
    let_go(session);
    places_leave(session);
    session->stream.tls = NULL; /* it is freed with the stream */
    session->chore.run = leave;
    leave(&session->chore);
}

/* The session's holds end first, some of them in each turn of the loop. */
static void leave(struct cv_chore *chore)
{
    struct session *session = session_of_chore(chore);
    struct cv_service *service = session->service;
    let_go_some(session);
    if (session->holds) {
        cv_loop_defer(service->loop, chore);
        return;
    }
    *(session->previous ? &session->previous->next : &service->sessions) = session->next;
    if (session->next)
        session->next->previous = session->previous;
    service->session_count--;
    cv_alarms_release(service->alarms, ALARMS_EACH);
    cv_resp_end(&session->out);
    cv_drop_text(&session->name);
    free(session);
}

bool session_become(struct session *session, const char *identity)
{
    const struct cv_security_settings *security = session->service->member->security.settings;
    if (identity != session->identity)
        snprintf(session->identity, sizeof session->identity, "%s", identity);
    return *identity && cv_acls_find(&security->acls, identity, &session->acl);
}

/* TLS has found out the client's identity. */
static bool admitted(struct cv_stream *stream)
{
    struct session *session = session_of(stream);
    if (!session_become(session, cv_tls_identity(stream->tls)))
        return false;
    cv_door_leave(&session->visitor);
    return true;
}

static const struct cv_stream_calls calls = {
    .received = received, .flush = flush, .closed = closed, .admitted = admitted};

static void refused(struct cv_stream *stream)
{
    free(session_of(stream));
}

static const struct cv_stream_calls refusal = {.closed = refused};

/*
 * A machine that has vanished does not close its connections. The kernel probes it, and ends the connection if no
 * answer comes, or if the machine does not acknowledge what it is sent.
 */
static void limit_silence(struct session *session, uint64_t timeout_ms)
{
    const int timeout_s = (int)(timeout_ms / 1000);
    const struct {
        int level, option, value;
    } options[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, timeout_s > 4 ? timeout_s * 2 / 5 : 1},
        {IPPROTO_TCP, TCP_KEEPINTVL,
         timeout_s > 10  ? timeout_s / 5
         : timeout_s > 4 ? 2
                         : 1},
        {IPPROTO_TCP, TCP_KEEPCNT, 3},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, (int)timeout_ms},
    };
    int fd;
    if (session->stream.uv.handle.type != UV_TCP || uv_fileno(&session->stream.uv.handle, &fd))
        return;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        setsockopt(fd, options[i].level, options[i].option, &options[i].value, sizeof options[i].value);
}

void session_accept(struct cv_listener *listener)
{
    struct cv_service *service = listener->context;
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return;
    session->stream.calls = &refusal;
    session->stream.in_most = SESSION_INPUT_BYTES;
    const bool local = listener->uv.handle.type != UV_TCP;
    const enum place place = places_find(service, local);
    if (place == PLACE_NONE || cv_alarms_reserve(service->alarms, ALARMS_EACH)) {
        if (!cv_stream_accept(&session->stream, listener))
            places_refuse(service, session);
        return;
    }
    session->stream.calls = &calls;
    session->service = service;
    session->number = ++service->session_total;
    session->since_ms = cv_loop_coarse_ms(service->loop);
    session->wait = (struct waiter){.alarm.ring = waited_too_long, .session = session};
    session->request.alarm.ring = peer_request_retry;
    session->unfinished.ring = took_too_long;
    session->chore.run = catch_up;
    cv_resp_begin(&session->out, service->limits->output_each);
    session->out.pool = &service->output;
    session->next = service->sessions;
    if (session->next)
        session->next->previous = session;
    service->sessions = session;
    service->session_count++;
    if (place == PLACE_RESERVED)
        places_reserve(session);
    if (cv_stream_accept(&session->stream, listener))
        return;
    limit_silence(session, service->client_timeout_ms);
    const char *identity = local ? CV_IDENTITY_LOCAL : CV_IDENTITY_ANYBODY;
    if (session->stream.tls)
        cv_door_enter(&service->door, &session->visitor, &session->stream);
    else if (!session_become(session, identity))
        cv_stream_close(&session->stream);
}
