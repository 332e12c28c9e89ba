// SPDX-License-Identifier: MIT
/*
 * UPGRADE and DOWNGRADE: a client that shares a lock becomes its only holder, or the other way round, and leaves it at
 * no moment. It gets a second hold, with a higher fence, in place of the first one:
 *
 *     UPGRADE: it waits until nobody else is inside (service/sharing.h)
 *     the second hold begins      a time to live is promised again (service/ttl_promise.h)
 *     the first hold ends         once enough members know the second, and in the same moment
 *     the client is told          it holds by the new fence
 *
 * Until then only the first hold counts: if a view begins meanwhile, members that go on forget the second one, and the
 * exchange begins anew. The time to live of the first does not run out while its client waits here.
 */
#ifndef CONCLAVE_SERVICE_EXCHANGE_H
#define CONCLAVE_SERVICE_EXCHANGE_H

#include "resp/resp_read.h"

#define EXCHANGE_UPGRADING "UPGRADING another holder waits to upgrade it: both would wait for ever"

struct lock;
struct lock_hold;
struct session;

void exchange_run_upgrade(struct session *session, const struct cv_resp_command *command);
void exchange_run_downgrade(struct session *session, const struct cv_resp_command *command);

/* Is it the second hold of an exchange? */
bool exchange_makes(const struct lock_hold *hold);
/* Nobody else is inside: the client that waits gets its second hold. */
void exchange_begin(struct lock *lock);
/* A client that is alone wants to share, and this node can do that now. */
void exchange_serve(struct lock *lock);
/* Enough members know the second hold: the first one ends. */
void exchange_confirmed(struct lock_hold *hold);
/* A view has begun. */
void exchange_resume(struct lock *lock);
/* The exchange of the first hold is over, and the hold stays as it is. Its client is told why; NULL: it waited long. */
void exchange_fail(struct lock_hold *hold, const char *why);
/* The same, but its client is told nothing, or was told already. */
void exchange_drop(struct lock_hold *hold);
/* A view has begun in which another member keeps the first hold. */
void exchange_move(struct lock_hold *hold);
/* One of the two holds ends for another reason. */
void exchange_ended(struct lock_hold *hold);

#endif
