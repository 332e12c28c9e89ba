// SPDX-License-Identifier: MIT
/* ASKBACK: somebody asks those who hold a name to give it back. What they do about it is up to them. */
#ifndef CONCLAVE_SERVICE_ASK_BACK_H
#define CONCLAVE_SERVICE_ASK_BACK_H

#include "service/lock.h"

/* Tells a session that somebody asks for what it holds. One that speaks RESP2 cannot be told. */
void ask_back_tell(struct session *session, struct cv_text name, uint64_t fence, struct cv_text client);

/*
 * Asks the clients of this node that hold the name: `kinds` says as what (enum hold_kinds), `client` who asks, if that
 * is known. Returns how many hold it here.
 */
uint64_t ask_back(const struct cv_service *service, struct cv_text name, uint64_t kinds, struct cv_text client);

#endif
