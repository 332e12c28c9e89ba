// SPDX-License-Identifier: MIT
#include "service/force.h"

#include <stdio.h>

#include "core/printable.h"
#include "live/process/event_log.h"
#include "service/exchange.h"
#include "service/hold_proof.h"
#include "service/lock.h"
#include "service/session.h"
#include "service/ttl_promise.h"

#define WITHOUT_LEASE_US 1000000u
#define SHOWN_BYTES 300u /* of each text in the log */

static void write_down(const struct lock_hold *hold, struct cv_text admin, struct cv_text reason)
{
    const struct cv_text client = cv_kept(hold_client(hold));
    char name[SHOWN_BYTES], who[SHOWN_BYTES], by[SHOWN_BYTES], why[SHOWN_BYTES], holder[48];
    cv_show(name, sizeof name, cv_instance_name(hold->lock->instance));
    cv_show(who, sizeof who, client);
    cv_show(by, sizeof by, admin);
    cv_show(why, sizeof why, reason);
    snprintf(holder, sizeof holder, "%u/%llu", hold->origin, (unsigned long long)hold->owner);
    cv_log(CV_LOG_FORCED, {"name", .text = name}, {"fence", .number = hold->fence}, {"holder", .text = holder},
           {"client", .text = who}, {"admin", .text = by}, {"reason", .text = why});
}

/* How long its client may go on, if it is not heard of. */
static uint64_t end_of_trust(const struct lock_hold *hold)
{
    const struct cv_member *member = hold->lock->service->member;
    const uint64_t left_us = cv_member_agrees(member) ? cv_member_lease_left_us(member) : WITHOUT_LEASE_US;
    const uint64_t until_us = hold->lock->service->host->calls.now() + left_us;
    return until_us > hold->promised_us ? until_us : hold->promised_us;
}

/* The alarm of a hold with a time to live is set already. Who has asked for a longer one hears that there is none. */
static void begin(struct lock_hold *hold, struct cv_text reason)
{
    const struct cv_service *service = hold->lock->service;
    hold->forced = true;
    if (hold->wanted_ms) {
        hold->wanted_ms = 0;
        peer_request_lengthened(hold, -1);
    }
    if (hold->ttl_ms) {
        ttl_promise_forced(hold);
    } else {
        hold->promised_us = end_of_trust(hold);
        cv_alarm_set(service->alarms, &hold->alarm, hold->promised_us);
    }
    if (hold->lock->exchanging == hold)
        exchange_fail(hold, "LOST an operator has ended the hold");
    session_forced(hold, reason);
}

bool force_hold(struct lock_hold *hold, struct cv_text admin, struct cv_text reason, bool again)
{
    if (!again)
        write_down(hold, admin, reason);
    if (!hold->forced)
        begin(hold, reason);
    return !hold->forcing;
}

void force_hear(struct cv_service *service, const struct peer_notice *notice)
{
    struct lock *lock = lock_find(service, notice->subject, notice->name);
    struct cv_promise *promise = lock ? ttl_promise_find(lock, notice->fence) : NULL;
    struct lock_hold *hold = lock ? lock_find_hold(lock, notice->fence) : NULL;
    if (promise && promise->keeper == notice->from) {
        promise->forced = true;
        claim_forced(lock, notice->fence);
        hold_proof_forced(lock, notice->fence);
        lock_tell(lock, notice->from, (struct peer_notice){.kind = PEER_NOTICE_FORCED, .fence = notice->fence});
        if (lock->first && lock->first->claimed)
            lock_serve(lock); /* that claim may be lost */
    } else if (promise && promise->keeper == service->host->roster->me && hold && hold->forced) {
        ttl_promise_forced_known(hold, notice->from);
    }
}
