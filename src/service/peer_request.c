// SPDX-License-Identifier: MIT
#include "service/peer_request.h"

#include <stdlib.h>

#include "live/net/stream.h"
#include "service/ask_back.h"
#include "service/claim.h"
#include "service/commands.h"
#include "service/force.h"
#include "service/hold_proof.h"
#include "service/session.h"
#include "service/ttl_promise.h"

#define AGAIN_US 250000u /* a member that is asked may be unable to say at the moment */
#define ATTEMPT_BITS 16u
#define HELD_ANEW (-2)  /* instead of -1: there is no such hold, but another one of that name */
#define NOT_THEIRS (-4) /* instead of -1: there is that hold, but the secret is another one */
#define IMPOSSIBLE (-5) /* instead of -1: no hold has such a fence */

static uint64_t ticket_of(const struct peer_request *request)
{
    return request->number << ATTEMPT_BITS | (request->attempt & ((1u << ATTEMPT_BITS) - 1));
}

/* REENTRANT. The keeper has begun the time to live anew no earlier than the client has asked. */
static void answer_again(struct session *session, const struct peer_request_order *order, int64_t value)
{
    if (value < 0) {
        cv_resp_error(&session->out, "NOTHELD fence %llu: this connection has lost the hold",
                      (unsigned long long)order->fence);
        return;
    }
    if (order->deadline)
        cv_resp_array(&session->out, 2);
    cv_resp_integer(&session->out, (int64_t)order->fence);
    if (order->deadline)
        cv_resp_integer(&session->out, value == INT64_MAX ? -1 : value);
}

void peer_request_answer(struct session *session, const struct peer_request_order *order, int64_t value)
{
    if (order->takes_again)
        answer_again(session, order, value);
    else if (value == NOT_THEIRS)
        cv_resp_error(&session->out,
                      "NOPERM fence %llu was not given to this connection: expected SECRET and its secret",
                      (unsigned long long)order->fence);
    else if (order->reason && value == IMPOSSIBLE)
        cv_resp_error(&session->out, "NOTHELD fence %llu: fences are 1 to %llu", (unsigned long long)order->fence,
                      (unsigned long long)CV_FENCE_END - 1);
    else if (order->reason && value < 0)
        cv_resp_error(&session->out, "NOTHELD fence %llu: %s", (unsigned long long)order->fence,
                      value == HELD_ANEW ? "the name is held under another fence" : "nobody holds the name");
    else if (order->reason)
        cv_resp_status(&session->out, "OK");
    else if (!order->renews)
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
    cv_drop_text(&request->order.reason);
    *request = (struct peer_request){.alarm.ring = peer_request_retry};
}

/* ---- this node's own holds ---- */

/*
 * Another member may keep a hold with a time to live by now, unless this node has its lease. Without it nothing is
 * taken again.
 */
static bool can_say(const struct cv_service *service, const struct lock_hold *hold,
                    const struct peer_request_order *order)
{
    const bool alone = !hold->ttl_ms && !order->takes_again;
    return !hold->confirming && (alone || cv_member_serves(service->member));
}

static bool is_shown(const uint64_t digest[2])
{
    return digest[0] | digest[1];
}

/* An operator need not show the secret, but cannot force what its client has not been told of. */
static bool authorizes(const struct lock_hold *hold, const struct session *session,
                       const struct peer_request_order *order)
{
    if (order->reason)
        return !hold->confirming;
    return order->looks || hold_authorizes(hold, session, order->digest);
}

/*
 * A lock and a leadership of one name may have the same fence: it is the one that the client may speak of. A hold that
 * its client has not been told of cannot be seen yet.
 */
static struct lock_hold *find(const struct cv_service *service, struct cv_text name, const struct session *session,
                              const struct peer_request_order *order)
{
    if (order->fence) {
        struct lock_hold *hold = command_find(service, name, order->fence, order->kinds);
        struct lock_hold *lead = command_find(service, name, order->fence, order->kinds & HOLD_LEADER);
        return hold && lead && !authorizes(hold, session, order) && authorizes(lead, session, order) ? lead : hold;
    }
    const struct lock *lock = lock_find(service, CV_SUBJECT_LOCK, name);
    struct lock_hold *hold = lock ? lock->holds : NULL;
    while (hold && ((is_shown(order->digest) ? !hold_authorizes(hold, NULL, order->digest) : !order->looks) ||
                    (order->looks && hold->confirming)))
        hold = hold->next;
    return hold;
}

static void begin_to_end(struct lock_hold *hold)
{
    struct cv_service *service = hold->lock->service;
    hold->ending = ++service->tickets << ATTEMPT_BITS;
    hold->aware_ended = cv_set_of(service->host->roster->me);
    if (hold->wanted_ms) {
        hold->wanted_ms = 0;
        peer_request_lengthened(hold, -1);
    }
}

/* Must the others know that the hold is over before anybody is told? If so, tells them, and asks whether they do. */
static bool ends_later(struct lock_hold *hold)
{
    const struct lock *lock = hold->lock;
    if (!hold->ttl_ms || hold->again || !cv_member_may_be_left_out(lock->service->member))
        return false;
    if (!hold->ending)
        begin_to_end(hold);
    lock_tell(lock, CV_NOBODY, (struct peer_notice){.kind = PEER_NOTICE_OVER, .fence = hold->fence});
    lock_tell(lock, CV_NOBODY,
              (struct peer_notice){.kind = PEER_NOTICE_UNLOCK,
                                   .fence = hold->fence,
                                   .ticket = hold->ending,
                                   .hold_kinds = lock->instance->subject == CV_SUBJECT_LOCK ? HOLD_LOCK : HOLD_LEADER,
                                   .digest = {hold->digest[0], hold->digest[1]}});
    return true;
}

/* The members of the new view have to know it. Whoever waits asks again, but it ends without that, too. */
void peer_request_end_anew(struct lock_hold *hold)
{
    hold->ending = 0;
    hold->asked = 0;
    ends_later(hold);
}

static int64_t end(struct lock_hold *hold)
{
    return ends_later(hold) ? TTL_PROMISE_LATER : command_end(hold);
}

static struct peer_request_result carry_out(struct lock_hold *hold, const struct peer_request_order *order,
                                            struct cv_text admin)
{
    if (order->looks)
        return (struct peer_request_result){
            .value = command_left_ms(hold), .fence = hold->fence, .token = cv_kept(hold->value)};
    if (order->reason) {
        const bool known = force_hold(hold, admin, cv_kept(order->reason), order->again);
        return (struct peer_request_result){.value = known ? 1 : TTL_PROMISE_LATER};
    }
    const bool asked_back = order->renews && hold->asked_back_ms;
    const int64_t value = order->lasts_ms ? ttl_promise_change(hold, order->lasts_ms)
                          : order->renews ? command_renew(hold)
                                          : end(hold);
    return (struct peer_request_result){.value = value, .asked_back = asked_back};
}

/* To take a hold without a time to live again promises nothing that ends, unless the client asks for how long. */
static int64_t take_again(struct lock_hold *hold, const struct peer_request_order *order)
{
    const int64_t value = hold->ttl_ms || order->deadline ? command_renew(hold) : hold->forced ? -1 : INT64_MAX;
    hold->again += value >= 0;
    return value;
}

/* A client of this node ends, renews, forces or looks at a hold that this node keeps. */
static struct peer_request_result obey(struct session *session, struct lock_hold *hold,
                                       const struct peer_request_order *order)
{
    if (order->takes_again)
        return (struct peer_request_result){.value = take_again(hold, order)};
    if (order->renews && !order->done)
        session_adopt(session, hold);
    return carry_out(hold, order, cv_text(session->identity));
}

/* Does a client of this node hold the name, under whichever fence? */
static bool is_held(const struct cv_service *service, struct cv_text name)
{
    const struct lock *lock = lock_find(service, CV_SUBJECT_LOCK, name);
    const struct lock *lead = lock_find(service, CV_SUBJECT_LEADER, name);
    return (lock && lock->holds) || (lead && lead->holds);
}

static void tell(struct session *session, const struct peer_request_order *order,
                 const struct peer_request_result *result)
{
    if (order->done)
        order->done(session, result);
    else
        peer_request_answer(session, order, result->value);
}

/* The session's proof of the hold that the request is about, or NULL. */
static struct hold_proof *proof_for(const struct session *session, const struct peer_request *request)
{
    const struct cv_service *service = session->service;
    const struct cv_text name = name_of(request);
    const struct peer_request_order *order = &request->order;
    struct hold_proof *proof = NULL;
    if (order->fence && order->kinds & HOLD_LOCK)
        proof = hold_proof_find(session, lock_find(service, CV_SUBJECT_LOCK, name), order->fence);
    if (order->fence && order->kinds & HOLD_LEADER && !proof)
        proof = hold_proof_find(session, lock_find(service, CV_SUBJECT_LEADER, name), order->fence);
    return proof;
}

/* If the hold was this session's before another member came to keep it, this node shows the secret for it. */
static void show_own_secret(const struct session *session, struct peer_request *request)
{
    const struct hold_proof *proof = proof_for(session, request);
    if (!proof || is_shown(request->order.digest))
        return;
    request->order.digest[0] = proof->digest[0];
    request->order.digest[1] = proof->digest[1];
}

/* UNLOCK and RESIGN */
static bool ends(const struct peer_request_order *order)
{
    return !order->renews && !order->looks && !order->reason;
}

/* How often the session has taken that hold again: only this node knows. NULL: it does not have it. */
static uint64_t *again_of(const struct session *session)
{
    const struct peer_request *request = &session->request;
    struct hold_proof *proof = proof_for(session, request);
    if (proof)
        return &proof->again;
    struct lock_hold *hold =
        command_find(session->service, name_of(request), request->order.fence, request->order.kinds);
    return hold && hold->session == session ? &hold->again : NULL;
}

/* Does the hold go on after that UNLOCK? Then its keeper is only asked whether it is held. */
static bool is_kept(const struct session *session)
{
    const uint64_t *again = ends(&session->request.order) ? again_of(session) : NULL;
    return again && *again;
}

/* Another member has said yes: what this session holds there is taken or given back once more, or has ended. */
static void count(const struct session *session)
{
    const struct peer_request_order *order = &session->request.order;
    struct hold_proof *proof = proof_for(session, &session->request);
    uint64_t *again = again_of(session);
    if (again && order->takes_again)
        ++*again;
    else if (is_kept(session))
        --*again;
    else if (proof && ends(order))
        hold_proof_drop(proof);
}

/* ---- asking the others ---- */

static void fail(struct session *session, const char *why)
{
    const struct peer_request_order order = session->request.order;
    peer_request_drop(session);
    cv_resp_error(&session->out, "%s", why);
    cv_stream_mark(&session->stream);
    if (order.done)
        order.done(session, NULL);
}

/* A member was not asked, or has not answered: neither yes nor no would be true. */
static void nobody_knows(struct session *session)
{
    fail(session, "NOQUORUM a member that may know does not answer");
}

static void conclude(struct session *session, const struct peer_request_result *result)
{
    struct peer_request_order order = session->request.order;
    const bool none = result->value < 0;
    if (none && session->request.unasked)
        return; /* it waits until all members can be asked, perhaps in a new view */
    if (none && !session->request.not_theirs && claim_is_allowed(session, &order)) {
        claim_begin(session, name_of(&session->request), &order);
        return;
    }
    if (none && session->request.unanswered) {
        nobody_knows(session);
        return;
    }
    if (!none)
        count(session);
    struct peer_request_result told = *result;
    if (none && session->request.held_anew)
        told.value = HELD_ANEW;
    if (none && session->request.not_theirs)
        told.value = NOT_THEIRS;
    cv_share_text(order.reason);
    peer_request_drop(session);
    tell(session, &order, &told);
    cv_drop_text(&order.reason);
}

/* Asks all other members of the view, if there are any. */
static void ask(struct session *session)
{
    struct cv_service *service = session->service;
    struct peer_request *request = &session->request;
    const struct peer_request_order *order = &request->order;
    request->attempt++;
    const bool looks = order->looks || is_kept(session);
    const struct peer_notice question = {.kind = looks           ? PEER_NOTICE_LOOK
                                                 : order->reason ? PEER_NOTICE_FORCE
                                                 : order->renews ? PEER_NOTICE_RENEW
                                                                 : PEER_NOTICE_UNLOCK,
                                         .subject = CV_SUBJECT_LOCK,
                                         .name = name_of(request),
                                         .fence = order->fence,
                                         .ticket = ticket_of(request),
                                         .hold_kinds = order->kinds,
                                         .ttl_ms = order->lasts_ms,
                                         .digest = {order->digest[0], order->digest[1]},
                                         .admin = cv_text(session->identity),
                                         .reason = cv_kept(order->reason)};
    request->unanswered |= request->awaited != 0 && !order->renews && !order->looks; /* it may have been ended */
    request->awaited = peer_notice_send(service, CV_NOBODY, &question);
    request->unasked = (service->host->view.members & ~cv_set_of(service->host->roster->me)) != request->awaited;
    if (!request->awaited)
        conclude(session, &(struct peer_request_result){.value = -1});
}

/* When to try again. */
static void set_alarm(struct session *session)
{
    const struct cv_service *service = session->service;
    struct peer_request *request = &session->request;
    const uint64_t again_us = service->host->calls.now() + AGAIN_US;
    cv_alarm_set(service->alarms, &request->alarm, again_us < request->until_us ? again_us : request->until_us);
}

/* Ends, renews or looks at the hold if it is here; asks the others if it is not. */
static void try(struct session *session)
{
    struct cv_service *service = session->service;
    struct peer_request *request = &session->request;
    show_own_secret(session, request);
    struct peer_request_order order = request->order;
    struct lock_hold *hold = find(service, name_of(request), session, &order);
    set_alarm(session);
    if (hold && !authorizes(hold, session, &order)) {
        peer_request_drop(session);
        peer_request_answer(session, &order, NOT_THEIRS);
    } else if (hold && can_say(service, hold, &order)) {
        const struct peer_request_result result = obey(session, hold, &order);
        if (result.value == TTL_PROMISE_LATER) {
            request->order.again = true;
            return;
        }
        cv_share_text(order.reason);
        peer_request_drop(session);
        tell(session, &order, &result);
        cv_drop_text(&order.reason);
    } else if (!hold && cv_member_serves(service->member)) {
        request->held_anew |= order.reason && is_held(service, name_of(request));
        ask(session);
    }
}

void peer_request_run(struct session *session, struct cv_text name, const struct peer_request_order *order)
{
    struct cv_service *service = session->service;
    struct peer_request *request = &session->request;
    struct lock_hold *hold = find(service, name, session, order);
    bool later = false;
    if (hold && authorizes(hold, session, order) && can_say(service, hold, order)) {
        const struct peer_request_result result = obey(session, hold, order);
        later = result.value == TTL_PROMISE_LATER;
        if (!later) {
            tell(session, order, &result);
            return; /* the usual case */
        }
    }
    request->order = *order;
    request->order.again = later;
    request->name = malloc(name.length + 1);
    if (!request->name) {
        fail(session, OUT_OF_MEMORY);
        return;
    }
    memcpy(request->name, name.start, name.length);
    request->name_length = name.length;
    cv_share_text(order->reason);
    request->number = ++service->tickets;
    const uint64_t most_us = service->member->peers.most_us;
    request->until_us = service->host->calls.now() +
                        (order->patience_us && order->patience_us < most_us ? order->patience_us : most_us);
    struct peer_request **list = list_of(service, request->number);
    request->next = *list;
    if (request->next)
        request->next->previous = request;
    *list = request;
    if (later)
        set_alarm(session);
    else
        try(session);
    if (request->name && cv_member_is_hopeless(service->member, false))
        fail(session, NO_QUORUM);
}

void peer_request_run_by_fence(struct session *session, struct cv_text name, const struct peer_request_order *order)
{
    if (order->fence && order->fence < CV_FENCE_END)
        peer_request_run(session, name, order);
    else
        peer_request_answer(session, order, IMPOSSIBLE);
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

static struct lock_hold *find_ending(const struct cv_service *service, enum cv_subject subject,
                                     const struct peer_notice *notice)
{
    const struct lock *lock = lock_find(service, subject, notice->name);
    struct lock_hold *hold = lock && notice->ticket ? lock->holds : NULL;
    while (hold && hold->ending != notice->ticket)
        hold = hold->next;
    return hold;
}

/* A member of this view knows that the hold of that ticket is over. */
static void hear_end(const struct cv_service *service, const struct peer_notice *notice)
{
    struct lock_hold *hold = find_ending(service, CV_SUBJECT_LOCK, notice);
    if (!hold)
        hold = find_ending(service, CV_SUBJECT_LEADER, notice);
    if (!hold)
        return;
    hold->aware_ended |= cv_set_of(notice->from);
    if (!(service->host->view.members & ~hold->aware_ended) && cv_member_serves(service->member))
        command_end(hold);
}

void peer_request_hear_answer(struct cv_service *service, const struct peer_notice *notice)
{
    const uint64_t number = notice->ticket >> ATTEMPT_BITS;
    struct peer_request *request = *list_of(service, number);
    const bool yes = (int64_t)notice->result >= 0;
    while (request && request->number != number)
        request = request->next;
    if (!request && notice->current)
        hear_end(service, notice);
    if (!request || (!yes && (ticket_of(request) != notice->ticket || !cv_set_has(request->awaited, notice->from))))
        return;
    if (notice->asked_back && yes) /* this node's client renews what another member keeps, so this node tells it */
        ask_back_tell(session_of(request), name_of(request), request->order.fence, (struct cv_text){NULL, 0});
    request->held_anew |= (int64_t)notice->result == HELD_ANEW;
    request->not_theirs |= (int64_t)notice->result == NOT_THEIRS;
    request->awaited &= ~cv_set_of(notice->from);
    if (yes)
        request->awaited = 0;
    const struct peer_request_result result = {
        .value = (int64_t)notice->result, .fence = notice->fence, .token = notice->value};
    if (!request->awaited)
        conclude(session_of(request), &result);
}

static void send_answer(struct cv_service *service, cv_node to, struct cv_text name, uint64_t ticket,
                        const struct peer_request_result *result)
{
    peer_notice_send(service, to,
                     &(struct peer_notice){.kind = PEER_NOTICE_ANSWER,
                                           .subject = CV_SUBJECT_LOCK,
                                           .name = name,
                                           .ticket = ticket,
                                           .result = (uint64_t)result->value,
                                           .fence = result->fence,
                                           .asked_back = result->asked_back,
                                           .value = result->token});
}

static void answer_member(struct lock_hold *hold, int64_t value)
{
    const struct peer_request_result result = {.value = value};
    if (hold->asked)
        send_answer(hold->lock->service, hold->asked_by, cv_instance_name(hold->lock->instance), hold->asked, &result);
    hold->asked = 0;
}

void peer_request_lengthened(struct lock_hold *hold, int64_t value)
{
    answer_member(hold, value);
    peer_request_resume(hold->lock->service);
}

static bool has_name(const struct peer_request *request, const struct lock *lock)
{
    const struct cv_text name = cv_instance_name(lock->instance);
    return request->name && request->name_length == name.length && memcmp(request->name, name.start, name.length) == 0;
}

bool peer_request_ends(const struct session *session, const struct lock *lock, uint64_t fence)
{
    const struct peer_request *request = &session->request;
    return has_name(request, lock) && request->order.fence == fence && ends(&request->order) && !is_kept(session);
}

/* Does a client of this node wait for the end of that hold, or an operator who has forced it? */
static bool waits_for(const struct peer_request *request, const struct lock_hold *hold)
{
    const struct peer_request_order *order = &request->order;
    const bool meant = order->fence ? order->fence == hold->fence : hold_authorizes(hold, NULL, order->digest);
    return order->again && !order->renews && meant && has_name(request, hold->lock);
}

void peer_request_known(struct lock_hold *hold, bool over)
{
    struct cv_service *service = hold->lock->service;
    answer_member(hold, 1);
    for (uint32_t i = 0; i < PEER_REQUEST_LISTS; i++)
        for (struct peer_request *request = service->pending[i], *next; request; request = next) {
            next = request->next;
            if ((over || request->order.reason) && waits_for(request, hold))
                conclude(session_of(request), &(struct peer_request_result){.value = 1});
        }
}

static int64_t miss(const struct cv_service *service, const struct peer_notice *notice, const struct lock_hold *hold)
{
    if (hold && !hold->confirming)
        return NOT_THEIRS;
    return notice->kind == PEER_NOTICE_FORCE && is_held(service, notice->name) ? HELD_ANEW : -1;
}

/* A node that cannot say does not answer, and is asked again. */
void peer_request_hear_question(struct cv_service *service, const struct peer_notice *notice)
{
    const bool forces = notice->kind == PEER_NOTICE_FORCE;
    struct peer_request_order order = {.fence = notice->fence,
                                       .digest = {notice->digest[0], notice->digest[1]},
                                       .kinds = notice->hold_kinds,
                                       .lasts_ms = notice->ttl_ms,
                                       .renews = notice->kind == PEER_NOTICE_RENEW,
                                       .looks = notice->kind == PEER_NOTICE_LOOK,
                                       .reason = forces ? cv_keep_text(notice->reason) : NULL};
    struct lock_hold *hold = find(service, notice->name, NULL, &order);
    order.again = forces && hold && hold->forcing && hold->asked_by == notice->from &&
                  hold->asked >> ATTEMPT_BITS == notice->ticket >> ATTEMPT_BITS;
    const bool obeys = hold && (!forces || order.reason) && authorizes(hold, NULL, &order);
    if (!cv_member_serves(service->member) || (obeys && hold->confirming) || (forces && !order.reason)) {
        cv_drop_text(&order.reason);
        return;
    }
    struct peer_request_result result = {.value = miss(service, notice, hold)};
    if (obeys)
        result = carry_out(hold, &order, notice->admin);
    cv_drop_text(&order.reason);
    if (result.value == TTL_PROMISE_LATER) {
        hold->asked_by = notice->from;
        hold->asked = notice->ticket;
        return;
    }
    send_answer(service, notice->from, notice->name, notice->ticket, &result);
}
