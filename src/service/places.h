// SPDX-License-Identifier: MIT
/*
 * How many clients may be connected. There are `clients` places for all, and a few reserved places for operators and
 * tools that want to know what is going on: a session there may ask and administer, but holds nothing, waits for
 * nothing and has to be quick. So an operator gets in when all places are taken, above all by a Unix socket, and every
 * other client is told why it does not.
 */
#ifndef CONCLAVE_SERVICE_PLACES_H
#define CONCLAVE_SERVICE_PLACES_H

#include "service/session.h"

enum place { PLACE_FREE, PLACE_RESERVED, PLACE_NONE };

/* Where a client that connects can go; `local`: by a Unix socket. */
enum place places_find(const struct cv_service *service, bool local);
/* Tells the client that there is no place, and closes. */
void places_refuse(struct cv_service *service, struct session *session);
/* The session takes a reserved place. */
void places_reserve(struct session *session);
void places_leave(struct session *session);
/* May a session do that where it is? If not, it is told so, and ends. */
bool places_allow(struct session *session, bool harmless);

#endif
