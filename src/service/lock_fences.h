// SPDX-License-Identifier: MIT
/*
 * Grants of a name have rising places in the view's block of fences. A node inside knows the highest place that was
 * given: every message of the algorithm tells what its sender knows (instance->given), and mutual exclusion makes sure
 * that messages lead from each exit to the next entry. So no place is lost between nodes.
 */
#ifndef CONCLAVE_SERVICE_LOCK_FENCES_H
#define CONCLAVE_SERVICE_LOCK_FENCES_H

#include "service/sharing.h"

struct lock;

/* The fences of this view that this node may give, from that one on. */
struct sharing_fences lock_fences_from(const struct lock *lock, uint64_t first);
/* Notes the places that were given, and asks for a new view in good time before the block is used up. */
void lock_fences_note(struct lock *lock);
/* Has this node no fence left to give in this view, though it is inside? Then it lets nobody in before the next. */
bool lock_fences_are_spent(const struct lock *lock);
/*
 * Takes so many numbers one after the other out of the view's fences for this name, which a client of this node holds
 * alone. False: the view has not so many left, and the next one was asked for.
 */
bool lock_take_numbers(struct lock *lock, uint64_t count, uint64_t *first);

#endif
