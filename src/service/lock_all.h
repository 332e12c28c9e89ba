// SPDX-License-Identifier: MIT
/*
 * LOCKALL: several names at once, all or none. The node takes them one after the other in the order of their bytes,
 * which is the same for all clients, so that no two wait for each other. What it has taken ends if a later name is not
 * to be had in time, if one of them is lost meanwhile, or if the client goes. Times to live begin when all are taken.
 *
 * A client that holds one name and waits for the next keeps others from the first: a row of clients could wait with
 * one of them at work. So those of a node stand in line. One that holds nothing stands back for a moment while an
 * earlier one that has yet to get all its names wants one of the same. Nobody waits for a client that stands back but
 * others that do, so this adds no circle.
 */
#ifndef CONCLAVE_SERVICE_LOCK_ALL_H
#define CONCLAVE_SERVICE_LOCK_ALL_H

#include "resp/resp_read.h"

struct lock_all;
struct lock_hold;
struct session;

/* Those that have yet to get all their names, in the order in which they came. */
struct lock_all_line {
    struct lock_all *first, *last;
    uint32_t count;
};

void lock_all_run(struct session *session, const struct cv_resp_command *command);
/* SEQUENCE: takes the name alone for a moment, and with it numbers that are higher than all before. */
void lock_all_run_sequence(struct session *session, const struct cv_resp_command *command);
/* The session has the next of them. */
void lock_all_granted(struct session *session, const struct lock_hold *hold);
/* It will not have the next: `why` is the error, or NULL if it has waited long enough. */
void lock_all_failed(struct session *session, const char *why);
/* One of those taken is lost, or kept by another member. */
void lock_all_lost(struct session *session);
/* Is the hold one of those that were taken for a LOCKALL that is under way? */
bool lock_all_has(const struct lock_hold *hold);
/* The session's alarm rings. False: it does not stand back. */
bool lock_all_stood_back(struct session *session);
/* The session is gone. */
void lock_all_drop(struct session *session);

#endif
