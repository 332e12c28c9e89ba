// SPDX-License-Identifier: MIT
#include "service/position.h"

#include "live/net/stream.h"
#include "service/session.h"

#define TOLD_EACH_US 250000u
#define LOCKS_EACH_TIME 64u
#define LOOKED_AT 4096u /* clients of a lock: those after them are told when they have come nearer */
#define NEAR 10u        /* from here on every place is told */

void position_changed(struct lock *lock)
{
    struct cv_service *service = lock->service;
    if (lock->moved)
        return;
    lock->moved = true;
    lock->next_moved = service->moved;
    lock->previous_moved = NULL;
    if (service->moved)
        service->moved->previous_moved = lock;
    service->moved = lock;
    if (!service->positions.place)
        cv_loop_set(service->loop, &service->positions, TOLD_EACH_US);
}

void position_forget(struct lock *lock)
{
    if (!lock->moved)
        return;
    *(lock->previous_moved ? &lock->previous_moved->next_moved : &lock->service->moved) = lock->next_moved;
    if (lock->next_moved)
        lock->next_moved->previous_moved = lock->previous_moved;
    lock->moved = false;
}

static bool is_worth_telling(uint64_t place, uint64_t told)
{
    if (!told || place > told)
        return place != told;
    return place < told && (place <= NEAR || place <= told - told / 10);
}

static void tell(const struct lock *lock)
{
    uint64_t place = 0;
    for (struct waiter *wait = lock->first; wait && place < LOOKED_AT; wait = wait->next) {
        struct session *session = wait->session;
        place++;
        if (wait->tries || session->out.protocol < 3 || session->stream.closing ||
            !is_worth_telling(place, wait->told_place))
            continue;
        wait->told_place = place;
        cv_resp_push(&session->out, 3);
        cv_resp_word(&session->out, "position");
        cv_resp_bulk(&session->out, cv_instance_name(lock->instance));
        cv_resp_integer(&session->out, (int64_t)place);
        cv_stream_mark(&session->stream);
    }
}

void position_tell(struct cv_alarm *alarm)
{
    struct cv_service *service = cv_alarm_owner(alarm, struct cv_service, positions);
    for (uint32_t left = LOCKS_EACH_TIME; service->moved && left; left--) {
        struct lock *lock = service->moved;
        position_forget(lock);
        tell(lock);
    }
    if (service->moved)
        cv_loop_set(service->loop, &service->positions, TOLD_EACH_US / LOCKS_EACH_TIME);
}
