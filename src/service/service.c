// SPDX-License-Identifier: MIT
#include "service/service.h"

#include <stdlib.h>

#include "core/wall_clock.h"
#include "live/net/listen.h"
#include "live/net/stream.h"
#include "live/process/event_log.h"
#include "live/settings/settings.h"
#include "live/settings/settings_security.h"
#include "live/views.h"
#include "service/access.h"
#include "service/exchange.h"
#include "service/listing.h"
#include "service/named_election.h"
#include "service/position.h"
#include "service/recipe.h"
#include "service/redis_call.h"
#include "service/replica_table.h"
#include "service/session.h"
#include "service/ttl_promise.h"

#define RENEW_US 200000u /* between two requests for a new view, because fences run short */

/* A hold that was granted before the lease ran out, and that too few members knew of, is told to them again. */
static void serve_again(struct lock *lock)
{
    for (struct lock_hold *hold = lock->holds, *next; hold; hold = next) {
        next = hold->next;
        if (hold->confirming && cv_host_ready(lock->service->host))
            lock_promise(hold);
    }
    lock_serve(lock);
}

/* The lease has come or run out. When it runs out, what clients have ends before anything else happens. */
static void leased(void *context, bool leased)
{
    struct cv_service *service = context;
    for (size_t i = 0; i < service->host->count; i++) {
        struct lock *lock = service->host->all[i]->user;
        if (lock && leased)
            serve_again(lock);
        else if (lock)
            lock_lease_lost(lock);
    }
    if (leased)
        peer_request_resume(context);
    if (leased)
        replicas_resume(service);
    else
        recipe_lease_lost(service);
}

static void serve_all(const struct cv_service *service)
{
    for (size_t i = 0; i < service->host->count; i++)
        if (service->host->all[i]->user)
            lock_serve(service->host->all[i]->user);
}

static void grace_ends(struct cv_alarm *alarm)
{
    serve_all(cv_alarm_owner(alarm, struct cv_service, grace));
}

static void refuse_all(struct cv_service *service, const char *why)
{
    recipe_refuse_all(service, why);
    for (size_t i = 0; i < service->host->count; i++)
        if (service->host->all[i]->user)
            lock_refuse_waiting(service->host->all[i]->user, why);
}

/* A view has begun. */
static void began(void *context)
{
    struct cv_service *service = context;
    if (!cv_view_has_fences(&service->host->view))
        refuse_all(service, NO_FENCES);
    peer_request_resume(service);
    replicas_resume(service);
    if (ttl_promise_in_grace(service))
        cv_alarm_set(service->alarms, &service->grace, service->member->grace_until_us);
    else
        cv_alarm_cancel(service->alarms, &service->grace);
}

void service_renew_view(struct cv_service *service)
{
    const uint64_t now = service->host->calls.now();
    if (service->renewed_us && now < service->renewed_us + RENEW_US)
        return;
    service->renewed_us = now;
    cv_views_renew(service->member);
}

static size_t names_in_use(const void *context)
{
    const struct cv_service *service = context;
    return service->statistics.held + service->statistics.waiting + service->observing;
}

static void hopeless(void *context)
{
    refuse_all(context, NO_QUORUM);
}

void cv_service_init(struct cv_service *service, struct cv_member *member, const struct cv_settings *settings)
{
    const struct cv_security_settings *security = &settings->security;
    service->door = (struct cv_door){.loop = &member->loop,
                                     .most = security->most_strangers,
                                     .most_each = security->most_strangers_each,
                                     .patience_us = security->handshake_ms * 1000};
    service->started_ms = cv_unix_ms();
    service->member = member;
    service->host = &member->host;
    service->loop = &member->loop;
    service->alarms = &member->loop.alarms;
    service->most_sessions = settings->most_sessions;
    service->client_timeout_ms = settings->client_timeout_ms;
    service->limits = &settings->limits;
    service->output.most = settings->limits.output;
    member->loop.measures = settings->operations.measures;
    service->grace.ring = grace_ends;
    service->positions.ring = position_tell;
    member->user = (struct cv_member_calls){.entered = lock_entered,
                                            .elected = named_election_elected,
                                            .resume = lock_resume,
                                            .keep = lock_keep,
                                            .ended = lock_ended,
                                            .in_use = names_in_use,
                                            .leased = leased,
                                            .hopeless = hopeless,
                                            .began = began,
                                            .settled = replicas_settled,
                                            .covered = ttl_promise_covered,
                                            .heard = peer_notice_heard,
                                            .context = service};
}

int cv_service_listen(struct cv_service *service, const char *what, const char *address, struct cv_complaint *complaint)
{
    if (!service->listener_count && cv_alarms_reserve(service->alarms, 2)) /* for the grace, and for places in queues */
        return CV_ENOMEM;
    const int error = service->listener_count ? 0 : replicas_open(service, complaint);
    if (error)
        return error;
    struct cv_listener *listener = &service->listeners[service->listener_count++];
    listener->incoming = session_accept;
    listener->context = service;
    cv_security_guard(&service->member->security, listener, false);
    return cv_listen(listener, service->loop, what, address, complaint);
}

/* If a session may not have any more what it waits for, it must not get it. */
static void reconsider_wait(struct session *session)
{
    const struct lock *lock = session->exchanging ? session->exchanging->lock : session->wait.lock;
    const struct cv_instance *instance = lock ? lock->instance : NULL;
    recipe_reconsider(session);
    if (!instance || access_allowed(session, instance->subject == CV_SUBJECT_LEADER ? CV_MAY_ELECT : CV_MAY_LOCK,
                                    cv_instance_name(instance)))
        return;
    if (session->exchanging) {
        exchange_drop(session->exchanging);
        return;
    }
    lock_give_up(&session->wait);
    redis_call_end(session);
    cv_stream_mark(&session->stream);
}

/* All sessions have their new ACLs before anything is granted. */
void cv_service_reconsider(struct cv_service *service)
{
    for (struct session *session = service->sessions; session; session = session->next)
        if (!session->visitor.door && ((session->stream.tls && !cv_tls_still_good(session->stream.tls)) ||
                                       !session_become(session, session->identity)))
            cv_stream_close(&session->stream);
    for (struct session *session = service->sessions; session; session = session->next)
        if (!session->stream.closing)
            reconsider_wait(session);
}

/* Does a client hold anything without a time to live? Other members keep the rest. */
static bool anybody_relies_on_lease(const struct cv_service *service)
{
    for (size_t i = 0; i < service->host->count; i++) {
        const struct lock *lock = service->host->all[i]->user;
        for (const struct lock_hold *hold = lock ? lock->holds : NULL; hold; hold = hold->next)
            if (!hold->ttl_ms)
                return true;
    }
    return false;
}

/*
 * What the clients hold is given back while there is still a member to tell. A client that holds something without a
 * time to live may go on until the node's lease is over, so the lease is given up early only if there is none.
 */
void cv_service_close(struct cv_service *service)
{
    for (uint32_t i = 0; i < service->listener_count;
         i++) /* first, so that clients that are disconnected connect with another node */
        cv_listener_close(&service->listeners[i]);
    for (struct session *session = service->sessions; session; session = session->next)
        cv_stream_close(&session->stream);
    while (service->sessions)
        cv_loop_turn(service->loop);
    if (!anybody_relies_on_lease(service))
        cv_member_leave(service->member);
}

void cv_service_free(struct cv_service *service)
{
    replicas_free(service);
    while (service->discarded)
        listing_discard(&service->discard_chore);
    while (service->spare) {
        struct lock_hold *hold = service->spare;
        service->spare = hold->next;
        free(hold);
    }
}
