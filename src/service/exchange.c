// SPDX-License-Identifier: MIT
#include "service/exchange.h"

#include "service/commands.h"
#include "service/lock_fences.h"
#include "service/ttl_promise.h"
#include "service/words.h"

#define LOST "LOST the hold was lost while it was to be exchanged"

bool exchange_makes(const struct lock_hold *hold)
{
    return hold->lock->exchanging && hold->lock->exchanging->successor == hold;
}

/* The lock and the session know nothing of the exchange any more. The second hold, or NULL. */
static struct lock_hold *forget_exchange(struct lock_hold *hold)
{
    struct lock_hold *second = hold->successor;
    hold->lock->exchanging = NULL;
    hold->successor = NULL;
    cv_alarm_cancel(hold->lock->service->alarms, &hold->session->wait.alarm);
    hold->session->exchanging = NULL;
    return second;
}

/* Ends the exchange of the first hold, and the second one. */
static void give_up(struct lock_hold *hold)
{
    struct lock *lock = hold->lock;
    const struct sharing_queue queue = lock_queue(lock);
    struct lock_hold *second = forget_exchange(hold);
    if (second) {
        ttl_promise_end(second);
        lock_forget(second);
    }
    if (hold->shared && cv_host_ready(lock->service->host))
        sharing_stay(&lock->sharing, &queue);
}

static void tell(struct session *session, const char *why)
{
    if (why)
        cv_resp_error(&session->out, "%s", why);
    else
        cv_resp_nil(&session->out);
    cv_stream_mark(&session->stream);
}

void exchange_drop(struct lock_hold *hold)
{
    give_up(hold);
    if (hold->ttl_ms && !hold->forced)
        lock_extend(hold);
    lock_serve(hold->lock);
}

void exchange_fail(struct lock_hold *hold, const char *why)
{
    tell(hold->session, why);
    exchange_drop(hold);
}

void exchange_move(struct lock_hold *hold)
{
    tell(hold->session, "ELSEWHERE another member keeps the hold now, as it was");
    give_up(hold);
}

/* Without the second hold the exchange goes on: a view has begun, and it is made again. */
void exchange_ended(struct lock_hold *hold)
{
    if (exchange_makes(hold)) {
        hold->lock->exchanging->successor = NULL;
        return;
    }
    struct session *session = hold->session;
    give_up(hold);
    tell(session, LOST);
}

/* ---- the second hold ---- */

static void fill(struct lock_hold *second, const struct lock_hold *first)
{
    const struct cv_roster *roster = first->lock->service->host->roster;
    *second = (struct lock_hold){.session = first->session,
                                 .owner = first->session->number,
                                 .origin = roster->ids[roster->me],
                                 .replaces = first->fence,
                                 .ttl_ms = first->ttl_ms,
                                 .digest = {first->digest[0], first->digest[1]},
                                 .value = cv_share_text(first->value),
                                 .again = first->again,
                                 .asked_back_ms = first->asked_back_ms,
                                 .reminded_ms = first->reminded_ms,
                                 .promised_us = first->promised_us,
                                 .shared = !first->shared,
                                 .confirming = true};
}

void exchange_begin(struct lock *lock)
{
    struct cv_service *service = lock->service;
    struct lock_hold *first = lock->exchanging, *second = lock_new_hold(service);
    const struct sharing_queue queue = lock_queue(lock);
    if (!second) {
        exchange_fail(first, OUT_OF_MEMORY);
        return;
    }
    fill(second, first);
    second->fence = sharing_exchange(&lock->sharing, &queue, second->shared);
    lock_fences_note(lock);
    first->successor = second;
    lock_add_hold(lock, second);
    grant_statistics_add(&service->statistics, second->since_ms - first->session->wait.since_ms);
    session_take(first->session, second);
    if (!second->ttl_ms)
        lock_confirm(second);
    else if (!ttl_promise_make(second))
        exchange_fail(first, OUT_OF_MEMORY);
}

void exchange_serve(struct lock *lock)
{
    const struct lock_hold *hold = lock->exchanging;
    if (!hold || hold->shared || hold->successor || !cv_member_serves(lock->service->member))
        return;
    const struct sharing_queue queue = lock_queue(lock);
    if (sharing_can_downgrade(&lock->sharing, &queue))
        exchange_begin(lock);
}

void exchange_confirmed(struct lock_hold *second)
{
    struct lock *lock = second->lock;
    struct lock_hold *first = lock->exchanging;
    struct cv_promise *promise = ttl_promise_find(lock, second->fence);
    if (promise)
        promise->draft = false;
    forget_exchange(first);
    ttl_promise_end(first);
    lock_forget(first);
    const struct sharing_queue queue = lock_queue(lock);
    if (second->shared)
        sharing_downgraded(&lock->sharing, &queue);
    else
        sharing_upgraded(&lock->sharing, &queue);
}

void exchange_resume(struct lock *lock)
{
    if (!lock->exchanging || !lock->exchanging->shared)
        return;
    const struct sharing_queue queue = lock_queue(lock);
    sharing_upgrade(&lock->sharing, &queue);
}

/* ---- the commands ---- */

/* The hold of that fence, if this session has it and it is the other kind. If not, the session is told why. */
static struct lock_hold *find(struct session *session, struct cv_text name, uint64_t fence, bool upgrades)
{
    struct lock_hold *hold = command_find(session->service, name, fence, HOLD_LOCK);
    const char *command = upgrades ? "UPGRADE" : "DOWNGRADE";
    if (!hold || hold->session != session || hold->forced)
        cv_resp_error(&session->out, "NOTHELD fence %llu: expected a hold of this connection",
                      (unsigned long long)fence);
    else if (hold->permits)
        cv_resp_error(&session->out, "ERR %s: expected a lock taken without PERMITS", command);
    else if (hold->shared != upgrades)
        cv_resp_error(&session->out, "HELD fence %llu: %s", (unsigned long long)fence,
                      upgrades ? "this connection holds it alone already" : "this connection shares it already");
    else if (hold->lock->exchanging)
        cv_resp_error(&session->out, EXCHANGE_UPGRADING);
    else if (cv_member_is_hopeless(session->service->member, false))
        cv_resp_error(&session->out, NO_QUORUM);
    else
        return hold;
    return NULL;
}

static void start(struct session *session, struct lock_hold *hold)
{
    struct lock *lock = hold->lock;
    struct waiter *wait = &session->wait;
    const struct sharing_queue queue = lock_queue(lock);
    wait->deadline = false;
    wait->claimed = 0;
    wait->since_ms = cv_loop_coarse_ms(session->service->loop);
    session->exchanging = lock->exchanging = hold;
    if (hold->shared && cv_host_ready(session->service->host))
        sharing_upgrade(&lock->sharing, &queue);
    lock_serve(lock);
}

/* A try waits until the lender can have answered. The lender knows at once. */
static void limit_wait(struct session *session, uint64_t wait_ms)
{
    struct cv_service *service = session->service;
    const struct lock_hold *hold = session->exchanging;
    const bool knows = hold->lock->instance->flags & CV_INSIDE && !hold->successor;
    if (!wait_ms && knows && cv_host_ready(service->host))
        session_timed_out(&session->wait);
    else
        cv_alarm_set(service->alarms, &session->wait.alarm,
                     service->host->calls.now() + (wait_ms ? wait_ms * 1000 : service->member->try_us));
}

/* UPGRADE name fence [WAIT ms] */
void exchange_run_upgrade(struct session *session, const struct cv_resp_command *command)
{
    uint64_t fence, wait_ms = 0;
    const bool limited = command->count > 3;
    if (!word_is_name(session, command->word[1]) || !word_is_fence(session, command->word[2], &fence))
        return;
    if (limited && (command->count != 5 || !cv_resp_is(command->word[3], "WAIT"))) {
        cv_resp_error(&session->out, "ERR '%s': expected WAIT ms", cv_brief_text(command->word[3]).text);
        return;
    }
    if (limited && !word_is_number(session, "WAIT", command->word[4], &wait_ms))
        return;
    struct lock_hold *hold = find(session, command->word[1], fence, true);
    if (!hold)
        return;
    start(session, hold);
    if (limited && session->exchanging)
        limit_wait(session, wait_ms);
}

/* DOWNGRADE name fence */
void exchange_run_downgrade(struct session *session, const struct cv_resp_command *command)
{
    uint64_t fence;
    if (!word_is_name(session, command->word[1]) || !word_is_fence(session, command->word[2], &fence))
        return;
    struct lock_hold *hold = find(session, command->word[1], fence, false);
    if (hold)
        start(session, hold);
}
