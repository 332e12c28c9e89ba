// SPDX-License-Identifier: MIT
#include "service/permits.h"

#include <stdio.h>

#include "service/session.h"

void permits_refuse(struct waiter *wait, uint64_t permits)
{
    char why[96];
    if (permits)
        snprintf(why, sizeof why, "PERMITS expected %llu, as other clients say", (unsigned long long)permits);
    else
        snprintf(why, sizeof why, "PERMITS expected none, as other clients share it without");
    session_refuse(wait, why);
}

bool permits_differ(const struct lock *lock, struct waiter *wait)
{
    const struct lock_hold *hold = lock->holds && lock->holds->shared ? lock->holds : NULL;
    const struct waiter *other = lock->first;
    while (other && !other->shared)
        other = other->next;
    const uint64_t expected = hold ? hold->permits : other ? other->permits : wait->permits;
    if (!wait->shared || wait->permits == expected)
        return false;
    permits_refuse(wait, expected);
    return true;
}
