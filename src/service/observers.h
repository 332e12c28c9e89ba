// SPDX-License-Identifier: MIT
/* Sessions that want to know who leads (OBSERVE, UNOBSERVE), or who got a lock last (WATCH, UNWATCH). */
#ifndef CONCLAVE_SERVICE_OBSERVERS_H
#define CONCLAVE_SERVICE_OBSERVERS_H

#include "service/session.h"

/* OBSERVE name, WATCH name: tells the session who leads now, and from now on every change. */
void observers_add(struct session *session, enum cv_subject subject, struct cv_text name);
/* UNOBSERVE [name], UNWATCH [name] */
void observers_end(struct session *session, enum cv_subject subject, const struct cv_resp_command *command);
/* Tells all observers who leads now. */
void observers_tell(const struct lock *lock);
/* That one observes no more. It stays in its session's list. */
void observers_drop(struct observer *observer);

#endif
