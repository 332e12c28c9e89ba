// SPDX-License-Identifier: MIT
#include "service/delay.h"

#include "service/lock.h"
#include "service/service.h"

static uint64_t length_us(const struct lock *lock)
{
    return lock->instance->policy->delay_us;
}

static void over(struct cv_alarm *alarm)
{
    struct cv_service *service = cv_alarm_owner(alarm, struct cv_service, delay);
    service->delay_due_us = 0;
    for (size_t i = 0; i < service->host->count; i++) {
        struct lock *lock = service->host->all[i]->user;
        if (lock && length_us(lock))
            lock_serve(lock);
    }
}

/* The names are looked at again then. Without memory for the alarm they are looked at when something else happens. */
static void look_again(struct cv_service *service, uint64_t due_us)
{
    if (service->delay_due_us && service->delay_due_us <= due_us)
        return;
    if (!service->delay.ring && cv_alarms_reserve(service->alarms, 1))
        return;
    service->delay.ring = over;
    service->delay_due_us = due_us;
    cv_alarm_set(service->alarms, &service->delay, due_us);
}

static bool is_ahead(const struct lock *lock, uint64_t until_us)
{
    if (until_us <= lock->service->host->calls.now())
        return false;
    look_again(lock->service, until_us);
    return true;
}

void delay_begin(struct lock *lock)
{
    if (length_us(lock))
        lock->rests_until_us = lock->service->host->calls.now() + length_us(lock);
}

bool delay_rests(const struct lock *lock)
{
    return lock->rests_until_us && is_ahead(lock, lock->rests_until_us);
}

bool delay_holds_off(const struct lock *lock)
{
    return length_us(lock) && is_ahead(lock, lock->service->member->lost_us + length_us(lock));
}
