// SPDX-License-Identifier: MIT
#include "service/peer_request.h"

#include <stdlib.h>

#include "live/net/stream.h"
#include "service/commands.h"
#include "service/session.h"
#include "service/ttl_promise.h"

#define AGAIN_US 250000u /* a member that is asked may be unable to say at the moment */
#define ATTEMPT_BITS 16u

static uint64_t ticket_of(const struct peer_request *request)
{
    return request->number << ATTEMPT_BITS | (request->attempt & ((1u << ATTEMPT_BITS) - 1));
}

void peer_request_answer(struct session *session, bool renews, int64_t value)
{
    if (!renews)
        cv_resp_integer(&session->out, value > 0);
    else if (value < 0)
        cv_resp_nil(&session->out);
    else
        cv_resp_integer(&session->out, value == INT64_MAX ? -1 : value);
    cv_stream_mark(&session->stream);
}

static struct cv_text name_of(const struct peer_request *request)
{
    return (struct cv_text){request->name, request->name_length};
}

static struct peer_request **list_of(struct cv_service *service, uint64_t number)
{
    return &service->pending[number % PEER_REQUEST_LISTS];
}

void peer_request_drop(struct session *session)
{
    struct cv_service *service = session->service;
    struct peer_request *request = &session->request;
    if (!request->name)
        return;
    *(request->previous ? &request->previous->next : list_of(service, request->number)) = request->next;
    if (request->next)
        request->next->previous = request->previous;
    cv_alarm_cancel(service->alarms, &request->alarm);
    free(request->name);
    *request = (struct peer_request){.alarm.ring = peer_request_retry};
}

/* ---- this node's own holds ---- */

/* Another member may keep a hold with a time to live by now, unless this node has its lease. */
static bool can_say(const struct cv_service *service, const struct lock_hold *hold)
{
    return !hold->ttl_ms || cv_member_serves(service->member);
}

static int64_t carry_out(struct lock_hold *hold, bool renews)
{
    return renews ? command_renew(hold) : command_end(hold);
}

/* If the hold was this session's before another member came to keep it, this node shows the secret for it. */
static void show_own_secret(const struct session *session, struct cv_text name, struct peer_request_order *order)
{
    const struct hold_proof *proof = session->proofs;
    while (proof && (proof->fence != order->fence || proof->name_length != name.length ||
                     memcmp(proof->name, name.start, name.length) != 0))
        proof = proof->next;
    if (!proof || order->digest[0] | order->digest[1])
        return;
    order->digest[0] = proof->digest[0];
    order->digest[1] = proof->digest[1];
}

/* ---- asking the others ---- */

/* A member was not asked, or has not answered: neither yes nor no would be true. */
static void nobody_knows(struct session *session)
{
    peer_request_drop(session);
    cv_resp_error(&session->out, "NOQUORUM a member that may know does not answer");
    cv_stream_mark(&session->stream);
}

static void conclude(struct session *session, int64_t value)
{
    const struct peer_request_order order = session->request.order;
    if (value < 0 && session->request.unasked)
        return; /* it waits until all members can be asked, perhaps in a new view */
    if (value < 0 && order.renews && order.ttl_ms && ttl_promise_in_grace(session->service)) {
        command_claim(session, name_of(&session->request), &order);
        return;
    }
    if (value < 0 && session->request.unanswered) {
        nobody_knows(session);
        return;
    }
    peer_request_drop(session);
    peer_request_answer(session, order.renews, value);
}

/* Asks all other members of the view, if there are any. */
static void ask(struct session *session)
{
    struct cv_service *service = session->service;
    struct peer_request *request = &session->request;
    const struct peer_request_order *order = &request->order;
    request->attempt++;
    const struct peer_notice question = {.kind = order->renews ? PEER_NOTICE_RENEW : PEER_NOTICE_UNLOCK,
                                         .subject = CV_SUBJECT_LOCK,
                                         .name = name_of(request),
                                         .fence = order->fence,
                                         .ticket = ticket_of(request),
                                         .hold_kinds = order->kinds,
                                         .digest = {order->digest[0], order->digest[1]}};
    request->unanswered |= request->awaited != 0 && !order->renews; /* that member may have ended it */
    request->awaited = peer_notice_send(service, CV_NOBODY, &question);
    request->unasked = (service->host->view.members & ~cv_set_of(service->host->roster->me)) != request->awaited;
    if (!request->awaited)
        conclude(session, -1);
}

/* Ends or renews the hold if it is here; asks the others if it is not. */
static void try(struct session *session)
{
    struct cv_service *service = session->service;
    struct peer_request *request = &session->request;
    show_own_secret(session, name_of(request), &request->order);
    const struct peer_request_order order = request->order;
    struct lock_hold *hold = command_find(service, name_of(request), order.fence, order.kinds);
    const uint64_t now = service->host->calls.now();
    cv_alarm_set(service->alarms, &request->alarm,
                 now + AGAIN_US < request->until_us ? now + AGAIN_US : request->until_us);
    if (hold && !hold_authorizes(hold, session, order.digest)) {
        peer_request_drop(session);
        cv_resp_error(&session->out,
                      "NOPERM fence %llu was not given to this connection: expected SECRET and its secret",
                      (unsigned long long)order.fence);
        cv_stream_mark(&session->stream);
    } else if (hold && can_say(service, hold)) {
        const int64_t value = carry_out(hold, order.renews);
        peer_request_drop(session);
        peer_request_answer(session, order.renews, value);
    } else if (!hold && cv_member_serves(service->member)) {
        ask(session);
    }
}

void peer_request_run(struct session *session, struct cv_text name, const struct peer_request_order *order)
{
    struct cv_service *service = session->service;
    struct peer_request *request = &session->request;
    struct lock_hold *hold = command_find(service, name, order->fence, order->kinds);
    if (hold && hold_authorizes(hold, session, order->digest) && can_say(service, hold)) {
        peer_request_answer(session, order->renews, carry_out(hold, order->renews));
        return; /* the usual case */
    }
    request->name = malloc(name.length + 1);
    if (!request->name) {
        cv_resp_error(&session->out, OUT_OF_MEMORY);
        return;
    }
    memcpy(request->name, name.start, name.length);
    request->name_length = name.length;
    request->order = *order;
    request->number = ++service->tickets;
    request->until_us = service->host->calls.now() + service->member->peers.most_us;
    struct peer_request **list = list_of(service, request->number);
    request->next = *list;
    if (request->next)
        request->next->previous = request;
    *list = request;
    try(session);
    if (request->name && cv_member_is_hopeless(service->member, false)) {
        peer_request_drop(session);
        cv_resp_error(&session->out, NO_QUORUM);
    }
}

static struct session *session_of(struct peer_request *request)
{
    return (struct session *)(void *)((char *)request - offsetof(struct session, request));
}

void peer_request_retry(struct cv_alarm *alarm)
{
    struct session *session = cv_alarm_owner(alarm, struct session, request.alarm);
    if (session->service->host->calls.now() >= session->request.until_us)
        nobody_knows(session);
    else
        try(session);
}

void peer_request_resume(void *context)
{
    struct cv_service *service = context;
    const uint64_t now = service->host->calls.now();
    for (uint32_t i = 0; i < PEER_REQUEST_LISTS; i++)
        for (struct peer_request *request = service->pending[i]; request; request = request->next)
            cv_alarm_set(service->alarms, &request->alarm, now);
}

void peer_request_hear_answer(struct cv_service *service, const struct peer_notice *notice)
{
    const uint64_t number = notice->ticket >> ATTEMPT_BITS;
    struct peer_request *request = *list_of(service, number);
    const bool yes = (int64_t)notice->result >= 0;
    while (request && request->number != number)
        request = request->next;
    if (!request || (!yes && (ticket_of(request) != notice->ticket || !cv_set_has(request->awaited, notice->from))))
        return;
    request->awaited &= ~cv_set_of(notice->from);
    if (yes)
        request->awaited = 0;
    if (!request->awaited)
        conclude(session_of(request), (int64_t)notice->result);
}

/* A node that cannot say does not answer, and is asked again. */
void peer_request_hear_question(struct cv_service *service, const struct peer_notice *notice)
{
    struct lock_hold *hold = command_find(service, notice->name, notice->fence, notice->hold_kinds);
    const bool obeys = hold && hold_authorizes(hold, NULL, notice->digest);
    if (!cv_member_serves(service->member) || (obeys && hold->confirming))
        return;
    const int64_t result = obeys ? carry_out(hold, notice->kind == PEER_NOTICE_RENEW) : -1;
    peer_notice_send(service, notice->from,
                     &(struct peer_notice){.kind = PEER_NOTICE_ANSWER,
                                           .subject = CV_SUBJECT_LOCK,
                                           .name = notice->name,
                                           .ticket = notice->ticket,
                                           .result = (uint64_t)result});
}
