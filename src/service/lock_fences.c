// SPDX-License-Identifier: MIT
#include "service/lock_fences.h"

#include "service/lock.h"
#include "service/service.h"

struct sharing_fences lock_fences_from(const struct lock *lock, uint64_t first)
{
    const struct cv_view *view = &lock->instance->host->view;
    return (struct sharing_fences){.first = first, .end = view->base + CV_BLOCK, .step = cv_view_step(view)};
}

void lock_fences_note(struct lock *lock)
{
    struct cv_instance *instance = lock->instance;
    const struct cv_view *view = &instance->host->view;
    const uint64_t last = instance->flags & CV_INSIDE ? cv_view_place(view, lock->sharing.next) - 1 : 0;
    const uint64_t places = cv_view_places(view);
    if (lock->sharing.next > view->base && last < places && last > instance->given)
        instance->given = last;
    if (instance->given >= places - places / 8)
        service_renew_view(lock->service);
}

bool lock_fences_are_spent(const struct lock *lock)
{
    return lock->instance->flags & CV_INSIDE && lock->sharing.next >= lock->sharing.end;
}

/* Whole places: the numbers of other nodes in them are never given. */
bool lock_take_numbers(struct lock *lock, uint64_t count, uint64_t *first)
{
    struct sharing *sharing = &lock->sharing;
    const uint64_t length = (count + sharing->step - 1) / sharing->step * sharing->step;
    if (!(lock->instance->flags & CV_INSIDE) || sharing->end - sharing->next < length) {
        service_renew_view(lock->service);
        return false;
    }
    *first = sharing->next - sharing->next % sharing->step;
    sharing->next += length;
    lock_fences_note(lock);
    return true;
}
