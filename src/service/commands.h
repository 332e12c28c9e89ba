// SPDX-License-Identifier: MIT
/* The commands that clients may send, in one table at the foot of commands.c. */
#ifndef CONCLAVE_SERVICE_COMMANDS_H
#define CONCLAVE_SERVICE_COMMANDS_H

#include "service/session.h"

void commands_run(struct session *session, const struct cv_resp_command *command);

/* May the session wait for that lock? If not, its client is told why. */
bool command_may_wait(struct session *session, const struct lock *lock, bool tries);
/* It waits no longer than that, or tries. */
void command_limit_wait(struct session *session, uint64_t wait_ms);
/* The hold of that fence that this node keeps, or NULL. `kinds`: enum hold_kinds. */
struct lock_hold *command_find(const struct cv_service *service, struct cv_text name, uint64_t fence, uint64_t kinds);
/* Ends the hold, which may be NULL. What to tell the client; below 0: there was nothing to end. */
int64_t command_end(struct lock_hold *hold);
/* Renews the hold, which may be NULL. How many milliseconds it surely lasts; below 0: there was nothing to renew. */
int64_t command_renew(struct lock_hold *hold);
/* For how many milliseconds the hold surely lasts; INT64_MAX: it has no time to live. */
int64_t command_left_ms(const struct lock_hold *hold);

#endif
