// SPDX-License-Identifier: MIT
#include "service/lock.h"

#include <stdlib.h>

#include "core/printable.h"
#include "live/host/host_names.h"
#include "live/process/event_log.h"
#include "live/views.h"
#include "service/delay.h"
#include "service/exchange.h"
#include "service/hold_proof.h"
#include "service/listing.h"
#include "service/lock_all.h"
#include "service/lock_fences.h"
#include "service/named_election.h"
#include "service/permits.h"
#include "service/position.h"
#include "service/session.h"
#include "service/ttl_promise.h"

#define LOGGED_BYTES 300u /* of each text in the log */
#define LOGGED_EACH_MS 20u
#define GRANTS_EACH_TIME 64u /* thousands of readers may wait, and all are let in together */

static void serve_on(struct cv_chore *chore);

/* ---- names ---- */

static struct lock *lock_of(const struct cv_instance *instance)
{
    return instance->user;
}

cv_set lock_tell(const struct lock *lock, cv_node to, struct peer_notice notice)
{
    notice.subject = lock->instance->subject;
    notice.name = cv_instance_name(lock->instance);
    return peer_notice_send(lock->service, to, &notice);
}

static void tell_sharing(void *context, cv_node to, const struct sharing_message *message)
{
    const struct lock *lock = context;
    const cv_set told = lock_tell(lock, to,
                                  (struct peer_notice){.kind = PEER_NOTICE_SHARING,
                                                       .sharing_kind = message->kind,
                                                       .generation = message->generation,
                                                       .first = message->first,
                                                       .entry = message->entry,
                                                       .permits = message->permits});
    lock->service->sharing_notices += cv_set_count(told);
}

struct lock *lock_find(const struct cv_service *service, enum cv_subject subject, struct cv_text name)
{
    const struct cv_instance *instance = cv_host_find(service->host, subject, name);
    return instance ? lock_of(instance) : NULL;
}

struct lock *lock_open(struct cv_service *service, enum cv_subject subject, struct cv_text name)
{
    struct cv_instance *instance = cv_host_open(service->host, subject, name);
    if (!instance || lock_of(instance))
        return instance ? lock_of(instance) : NULL;
    struct lock *lock = calloc(1, sizeof *lock);
    if (!lock)
        return NULL;
    *lock = (struct lock){.service = service,
                          .instance = instance,
                          .chore.run = serve_on,
                          .sharing = {.tell = tell_sharing,
                                      .context = lock,
                                      .me = service->host->roster->me,
                                      .step = cv_view_step(&service->host->view)}};
    sharing_forget(&lock->sharing);
    lock->elects = subject == CV_SUBJECT_LEADER &&
                   cv_host_policy(service->host, CV_SUBJECT_ELECTION, instance->name) < service->host->policy_count;
    instance->user = lock;
    return lock;
}

bool lock_keep(const struct cv_instance *instance)
{
    const struct lock *lock = lock_of(instance);
    return lock && (lock->first || lock->holds || lock->proofs || lock->observers || lock->leader.leads ||
                    claim_is_remembered(lock));
}

/* ---- waiting ---- */

static void enqueue(struct lock *lock, struct waiter *wait)
{
    struct waiter *ahead = lock->last;
    while (ahead && ahead->priority < wait->priority)
        ahead = ahead->previous;
    wait->lock = lock;
    wait->previous = ahead;
    wait->next = ahead ? ahead->next : lock->first;
    *(ahead ? &ahead->next : &lock->first) = wait;
    *(wait->next ? &wait->next->previous : &lock->last) = wait;
    lock->waiting++;
    lock->service->statistics.waiting++;
    wait->told_place = 0;
    wait->since_ms = cv_loop_coarse_ms(lock->service->loop);
}

static void dequeue(struct waiter *wait)
{
    struct lock *lock = wait->lock;
    *(wait->previous ? &wait->previous->next : &lock->first) = wait->next;
    *(wait->next ? &wait->next->previous : &lock->last) = wait->previous;
    wait->lock = NULL;
    lock->waiting--;
    lock->service->statistics.waiting--;
    if (lock->first)
        position_changed(lock);
    cv_alarm_cancel(lock->service->alarms, &wait->alarm);
}

/* ---- holds ---- */

/*
 * A time to live that has run out is written down, with the name of the client. Very many may run out at the same
 * moment: no more than some of them are, so that the others do not wait for it.
 */
static void log_loss(const struct lock_hold *hold)
{
    struct cv_service *service = hold->lock->service;
    const uint64_t now_ms = cv_loop_coarse_ms(service->loop);
    char name[LOGGED_BYTES], client[LOGGED_BYTES];
    if (hold->forced || now_ms - service->loss_logged_ms < LOGGED_EACH_MS)
        return;
    service->loss_logged_ms = now_ms;
    cv_show(name, sizeof name, cv_instance_name(hold->lock->instance));
    cv_show(client, sizeof client, cv_kept(hold_client(hold)));
    cv_log(CV_LOG_HOLD_LOST, {"name", .text = name}, {"fence", .number = hold->fence}, {"client", .text = client});
}

static void expired(struct cv_alarm *alarm)
{
    struct lock_hold *hold = cv_alarm_owner(alarm, struct lock_hold, alarm);
    if (hold->confirming || lock_all_has(hold) || hold->lock->exchanging == hold) {
        lock_extend(hold); /* its time begins when enough members know of it, and when its client has its answer */
        return;
    }
    log_loss(hold);
    session_lost(hold);
    lock_lose(hold);
}

bool hold_authorizes(const struct lock_hold *hold, const struct session *session, const uint64_t digest[2])
{
    if (session && hold->session == session)
        return true;
    return (digest[0] | digest[1]) && digest[0] == hold->digest[0] && digest[1] == hold->digest[1];
}

struct cv_kept_text *hold_client(const struct lock_hold *hold)
{
    return hold->session ? hold->session->name : hold->client;
}

struct lock_hold *lock_new_hold(struct cv_service *service)
{
    struct lock_hold *hold = service->spare;
    if (hold) {
        service->spare = hold->next;
        return hold;
    }
    if (cv_alarms_reserve(service->alarms, 1))
        return NULL;
    hold = calloc(1, sizeof *hold);
    if (!hold)
        cv_alarms_release(service->alarms, 1);
    return hold;
}

void lock_forget(struct lock_hold *hold)
{
    struct lock *lock = hold->lock;
    struct cv_service *service = lock->service;
    if (lock->exchanging && (lock->exchanging == hold || exchange_makes(hold)))
        exchange_ended(hold);
    *(hold->previous ? &hold->previous->next : &lock->holds) = hold->next;
    if (hold->next)
        hold->next->previous = hold->previous;
    lock->holding--;
    service->statistics.ends++;
    service->statistics.held--;
    session_drop_hold(hold);
    cv_drop_text(&hold->client);
    cv_drop_text(&hold->value);
    cv_alarm_cancel(service->alarms, &hold->alarm);
    hold->next = service->spare;
    service->spare = hold;
}

struct lock_hold *lock_find_hold(const struct lock *lock, uint64_t fence)
{
    struct lock_hold *hold = lock->holds;
    while (hold && hold->fence != fence)
        hold = hold->next;
    return hold;
}

void lock_ended(void *context, struct cv_instance *instance)
{
    struct cv_service *service = context;
    struct lock *lock = lock_of(instance);
    while (lock && lock->holds)
        lock_forget(lock->holds);
    if (lock) {
        cv_loop_call_off(service->loop, &lock->chore);
        leader_forget(lock);
        position_forget(lock);
    }
    listing_moved(service, instance);
    if (service->watcher)
        service->watcher->moved(service->watcher->context, instance);
}

/* ---- letting in ---- */

/* The client counts the time to live by a clock of its own, which may be as slow as this node's is fast. */
void lock_extend(struct lock_hold *hold)
{
    const struct cv_service *service = hold->lock->service;
    const uint64_t ttl_us = cv_member_outlast_us(service->member, hold->ttl_ms * 1000);
    cv_alarm_set(service->alarms, &hold->alarm, service->host->calls.now() + ttl_us);
}

void lock_add_hold(struct lock *lock, struct lock_hold *hold)
{
    hold->alarm.ring = expired;
    hold->lock = lock;
    hold->next = lock->holds;
    hold->since_ms = cv_loop_coarse_ms(lock->service->loop);
    if (lock->holds)
        lock->holds->previous = hold;
    lock->holds = hold;
    lock->holding++;
    lock->service->statistics.held++;
    if (hold->ttl_ms)
        lock_extend(hold);
}

void lock_inherit(struct lock *lock, const struct cv_promise *promise)
{
    struct lock_hold *hold = lock_new_hold(lock->service);
    if (!hold) {
        cv_member_fail(lock->service->member, CV_LOG_MEMORY, "no memory for a hold that was promised to last");
        return;
    }
    *hold = (struct lock_hold){.fence = promise->fence,
                               .ttl_ms = promise->ttl_ms,
                               .digest = {promise->digest[0], promise->digest[1]},
                               .owner = promise->owner,
                               .origin = promise->origin,
                               .shared = promise->generation,
                               .permits = promise->permits,
                               .client = cv_share_text(promise->client),
                               .value = cv_share_text(promise->value),
                               .forced = promise->forced,
                               .ends_here = true};
    lock_add_hold(lock, hold);
    hold_proof_return(hold);
}

/* What this node reports of an exchange when a view ends has to be true as soon as the client is told. */
void lock_confirm(struct lock_hold *hold)
{
    const bool exchanges = hold->replaces && exchange_makes(hold);
    if (exchanges)
        exchange_confirmed(hold);
    if (hold->ttl_ms)
        lock_extend(hold);
    hold->confirming = false;
    session_granted(hold);
    leader_announce(hold->lock, hold, true);
    if (exchanges)
        lock_serve(hold->lock);
}

/* A client that shows no secret has one all the same, which its own node knows. */
static void choose_digest(struct cv_service *service, const struct waiter *wait, uint64_t digest[2])
{
    struct cv_random *random = &service->host->random;
    const bool chosen = wait->digest[0] | wait->digest[1];
    for (int i = 0; i < 2; i++)
        digest[i] = chosen ? wait->digest[i] : wait->ttl_ms ? cv_random_next(random) | 1 : 0;
}

/* Without memory for the promise the hold ends, and its client is told so. */
void lock_promise(struct lock_hold *hold)
{
    if (ttl_promise_make(hold))
        return;
    if (exchange_makes(hold)) {
        exchange_fail(hold->lock->exchanging, OUT_OF_MEMORY);
        return;
    }
    if (hold->session)
        session_no_memory(&hold->session->wait);
    ttl_promise_end(hold);
    lock_forget(hold);
}

static void grant(struct lock *lock, struct waiter *wait, struct lock_hold *hold, uint64_t fence)
{
    const struct cv_roster *roster = lock->service->host->roster;
    dequeue(wait);
    *hold = (struct lock_hold){.session = wait->session,
                               .owner = wait->session->number,
                               .origin = roster->ids[roster->me],
                               .fence = wait->claimed ? wait->claimed : fence,
                               .ttl_ms = wait->ttl_ms,
                               .shared = wait->shared,
                               .permits = wait->permits,
                               .value = wait->value,
                               .confirming = true};
    wait->value = NULL;
    choose_digest(lock->service, wait, hold->digest);
    lock_add_hold(lock, hold);
    grant_statistics_add(&lock->service->statistics, hold->since_ms - wait->since_ms);
    session_take(wait->session, hold);
    if (hold->ttl_ms)
        lock_promise(hold);
    else
        lock_confirm(hold);
}

/* Must this node stay inside although nobody holds anything, and let nobody in? */
static bool must_stay_inside(const struct lock *lock)
{
    return lock->unaware || lock_fences_are_spent(lock) || delay_rests(lock);
}

/* The clock is read each time before anything is granted: a node that was stopped does not know that. */
struct sharing_queue lock_queue(const struct lock *lock)
{
    const bool stays = must_stay_inside(lock);
    const bool serves = (lock->first || lock->exchanging) && !stays && cv_member_serves(lock->service->member) &&
                        cv_view_has_fences(&lock->service->host->view);
    const struct waiter *first = serves && lock->first && !delay_holds_off(lock) ? lock->first : NULL;
    if (first && !first->claimed && ttl_promise_in_grace(lock->service))
        first = NULL;
    const bool upgrades = lock->exchanging && lock->exchanging->shared && !lock->exchanging->successor;
    return (struct sharing_queue){.upgrades = upgrades && serves && !delay_holds_off(lock) &&
                                              !ttl_promise_in_grace(lock->service),
                                  .inside = lock->instance->flags & CV_INSIDE,
                                  .wants = lock->instance->flags & CV_WANTS,
                                  .waits = first && named_election_won(lock),
                                  .reader = first && first->shared,
                                  .firm = first && !first->tries,
                                  .shared = lock->holds && lock->holds->shared,
                                  .permits = first ? first->permits : 0,
                                  .held = lock->holds ? lock->holds->permits : 0,
                                  .holding = lock->holding + stays,
                                  .handoffs = lock->elects ? 1 : HANDOFFS};
}

/* Notes what this node reports when the view ends. */
static void note_sharing(struct lock *lock)
{
    const struct sharing *sharing = &lock->sharing;
    struct cv_instance *instance = lock->instance;
    const struct lock_hold *hold = lock->exchanging ? lock->exchanging : lock->holds;
    const bool alone = sharing->borrows && sharing->alone && hold && !hold->shared;
    instance->sharing = (sharing->shares || sharing->borrows) && !alone ? sharing->generation : 0;
    instance->flags &= ~(uint32_t)CV_BORROWS;
    if (sharing->borrows) {
        instance->flags |= CV_BORROWS;
        instance->fence = sharing->entry;
    }
}

static void refuse_first(struct lock *lock)
{
    struct waiter *wait = lock->first;
    dequeue(wait);
    permits_refuse(wait, lock->sharing.permits);
}

static enum sharing_turn take_turn(struct lock *lock)
{
    struct cv_service *service = lock->service;
    const struct sharing_queue queue = lock_queue(lock);
    const uint64_t next = lock->sharing.next;
    const enum sharing_turn turn = sharing_next_turn(&lock->sharing, &queue);
    struct lock_hold *hold = turn == TURN_GRANT ? lock_new_hold(service) : NULL;
    if (turn == TURN_MISMATCH)
        refuse_first(lock);
    if (turn == TURN_UPGRADE)
        exchange_begin(lock);
    else if (turn == TURN_UPGRADING)
        exchange_fail(lock->exchanging, EXCHANGE_UPGRADING);
    if (turn == TURN_GRANT && !hold) {
        struct waiter *wait = lock->first;
        dequeue(wait);
        session_no_memory(wait);
    }
    if (hold)
        grant(lock, lock->first, hold, sharing_grant(&lock->sharing, &queue));
    note_sharing(lock);
    if (lock->sharing.next != next)
        lock_fences_note(lock);
    if (turn == TURN_LEAVE)
        cv_host_release(service->host, lock->instance);
    else if (turn == TURN_REQUEST)
        cv_host_request(service->host, lock->instance);
    return turn;
}

/* Is there more to do? A node that the algorithm lets in at once has served its clients before the request returns. */
static bool goes_on(const struct lock *lock, enum sharing_turn turn)
{
    return turn != TURN_REST && turn != TURN_REQUEST && (turn != TURN_LEAVE || lock->first);
}

static void refuse_lost_claims(struct lock *lock)
{
    for (struct waiter *wait = lock->first, *next; wait && wait->claimed; wait = next) {
        next = wait->next;
        if (!claim_is_lost(lock, wait))
            continue;
        dequeue(wait);
        peer_request_answer(wait->session, &(struct peer_request_order){.renews = true}, -1);
    }
}

void lock_serve(struct lock *lock)
{
    if (!cv_host_ready(lock->service->host))
        return;
    refuse_lost_claims(lock);
    if (cv_member_serves(lock->service->member))
        named_election_update(lock);
    if (lock->exchanging)
        exchange_serve(lock);
    uint32_t granted = 0;
    enum sharing_turn turn;
    do {
        turn = take_turn(lock);
        refuse_lost_claims(lock); /* by what was granted */
        granted += turn == TURN_GRANT;
    } while (granted < GRANTS_EACH_TIME && goes_on(lock, turn));
    if (granted == GRANTS_EACH_TIME)
        cv_loop_defer(lock->service->loop, &lock->chore);
}

static void serve_on(struct cv_chore *chore)
{
    lock_serve((struct lock *)(void *)((char *)chore - offsetof(struct lock, chore)));
}

/* Each entry takes a place, even if nobody is let in. What a member that lies has told can only raise it. */
void lock_entered(struct cv_instance *instance)
{
    struct lock *lock = lock_of(instance);
    const struct cv_algorithm_host *host = instance->host;
    const bool spent = instance->given + 1 >= cv_view_places(&host->view);
    instance->given += !spent;
    struct sharing_fences fences =
        lock_fences_from(lock, cv_view_fence(&host->view, instance->given, host->roster->me));
    if (spent)
        fences.first = fences.end;
    sharing_enter(&lock->sharing, &fences, instance->fence);
    lock_fences_note(lock);
    lock_serve(lock);
}

/*
 * The lock is opened even if nobody here wants it yet: later readers have to know whom to ask. A node can lend nothing
 * but fences of its own entry.
 */
void lock_hear_sharing(struct cv_service *service, const struct peer_notice *notice)
{
    const cv_node from = notice->from;
    struct sharing_message message = {.kind = (enum sharing_kind)notice->sharing_kind,
                                      .generation = notice->generation,
                                      .first = notice->first,
                                      .entry = notice->entry,
                                      .permits = notice->permits};
    const uint64_t loan = message.permits ? 1 : LOAN_FENCES;
    const bool lends = message.kind == SHARING_LEND || message.kind == SHARING_ALONE;
    if (lends && !cv_view_gives(&service->host->view, message.first, loan, from)) {
        message.kind = message.kind == SHARING_LEND ? SHARING_REFUSE : SHARING_UPGRADING;
        cv_peers_cut_off(&service->member->peers, from, "it lends fences that are not its own");
    }
    struct lock *lock = lock_open(service, notice->subject, notice->name);
    if (!lock)
        return;
    const struct sharing_queue queue = lock_queue(lock);
    sharing_hear(&lock->sharing, &queue, from, &message);
    lock_fences_note(lock);
    lock_serve(lock);
}

void lock_wait(struct lock *lock, struct waiter *wait)
{
    if (permits_differ(lock, wait))
        return;
    enqueue(lock, wait);
    lock_serve(lock);
    if (wait->lock)
        position_changed(lock);
}

void lock_give_up(struct waiter *wait)
{
    struct lock *lock = wait->lock;
    dequeue(wait);
    lock_serve(lock); /* it may have kept others from sharing */
}

void lock_end(struct lock_hold *hold)
{
    struct lock *lock = hold->lock;
    leader_announce(lock, hold, false);
    ttl_promise_end(hold);
    if (hold->forcing || hold->ending)
        peer_request_known(hold, true);
    lock_forget(hold);
    lock_serve(lock);
}

void lock_lose(struct lock_hold *hold)
{
    delay_begin(hold->lock);
    lock_end(hold);
}

static void lose(struct lock *lock, struct lock_hold *hold)
{
    delay_begin(lock);
    session_lost(hold);
    leader_announce(lock, hold, false);
    ttl_promise_end(hold);
    lock_forget(hold);
}

/* A hold with a time to live does not depend on this node's lease. */
static void lose_unpromised(struct lock *lock)
{
    for (struct lock_hold *hold = lock->holds, *next; hold; hold = next) {
        next = hold->next;
        if (!hold->ttl_ms)
            lose(lock, hold);
    }
}

/*
 * This node leaves the section as soon as all its borrowers are gone, and returns what it has borrowed. If the view is
 * over, the node does not report that it is inside.
 */
void lock_lease_lost(struct lock *lock)
{
    struct cv_instance *instance = lock->instance;
    lose_unpromised(lock);
    if (cv_host_ready(instance->host)) {
        lock_serve(lock);
        return;
    }
    if (lock->holds)
        return;
    sharing_forget(&lock->sharing);
    note_sharing(lock);
    instance->flags &= ~(uint32_t)CV_INSIDE;
}

void lock_refuse_waiting(struct lock *lock, const char *why)
{
    if (lock->exchanging)
        exchange_fail(lock->exchanging, why);
    for (struct lock_hold *hold = lock->holds, *next; hold; hold = next) {
        next = hold->next;
        if (hold->confirming) {
            session_refuse(&hold->session->wait, why);
            lock_end(hold);
        }
    }
    while (lock->first) {
        struct waiter *wait = lock->first;
        dequeue(wait);
        session_refuse(wait, why);
    }
}

/* The client has not been told, and another member may keep the hold: the client waits again, from the beginning. */
static void withdraw(struct lock *lock, struct lock_hold *hold)
{
    struct waiter *wait = &hold->session->wait;
    ttl_promise_withdraw(hold);
    if (exchange_makes(hold)) {
        lock_forget(hold);
        return;
    }
    wait->value = hold->value;
    hold->value = NULL;
    lock_forget(hold);
    if (wait->session->stream.closing)
        return;
    enqueue(lock, wait);
    if (wait->tries) /* it was let in, and need not wait for whoever comes before it now */
        cv_alarm_set(lock->service->alarms, &wait->alarm,
                     lock->service->host->calls.now() + lock->service->member->try_us);
}

/* A hold that the new view does not know of is lost. A hold that another member keeps is not. */
static void find_losses(struct lock *lock)
{
    const struct cv_instance *instance = lock->instance;
    const cv_node me = instance->host->roster->me;
    if (!(instance->flags & (CV_INSIDE | CV_BORROWS)))
        lose_unpromised(lock);
    for (struct lock_hold *hold = lock->holds, *next; hold; hold = next) {
        const struct cv_promise *promise = ttl_promise_find(lock, hold->fence);
        next = hold->next;
        if (!hold->ttl_ms || (promise && promise->keeper == me))
            continue;
        if (hold->confirming) {
            withdraw(lock, hold);
        } else if (promise) {
            if (lock->exchanging == hold)
                exchange_move(hold);
            session_hand_over(hold);
            lock_forget(hold);
        } else {
            lose(lock, hold);
        }
    }
}

/* A name that this node was only told of has no lock yet. */
static struct lock *lock_of_promises(struct cv_instance *instance)
{
    const struct cv_member *member = instance->host->calls.context;
    return lock_of(instance) || !instance->promises
               ? lock_of(instance)
               : lock_open(member->user.context, instance->subject, cv_instance_name(instance));
}

void lock_resume(struct cv_instance *instance)
{
    struct lock *lock = lock_of_promises(instance);
    const cv_node me = instance->host->roster->me;
    if (!lock)
        return;
    lock->election = NULL; /* it ended with its view */
    sharing_end_upgrade(&lock->sharing);
    find_losses(lock);
    ttl_promise_inherit(lock);
    hold_proof_resume(lock);
    const struct sharing_queue queue = lock_queue(lock);
    const struct sharing_fences fences =
        lock_fences_from(lock, cv_instance_first_fence(instance, &instance->host->view, me));
    sharing_resume(&lock->sharing, &queue, instance->holder, instance->sharers, &fences, instance->fence);
    exchange_resume(lock);
    leader_resume(lock);
    for (struct lock_hold *hold = lock->holds, *next; hold; hold = next) {
        next = hold->next;
        if (hold->ending)
            peer_request_end_anew(hold);
        if (hold->confirming)
            lock_promise(hold);
        else if (hold->wanted_ms)
            ttl_promise_make(hold);
        else if (hold->forced && hold->ttl_ms)
            ttl_promise_forced(hold); /* perhaps not all members of this view know it */
    }
    lock_serve(lock);
}
