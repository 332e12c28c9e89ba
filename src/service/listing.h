// SPDX-License-Identifier: MIT
/* LOCKS: an answer that may have a hundred thousand items. It is made and sent in parts. */
#ifndef CONCLAVE_SERVICE_LISTING_H
#define CONCLAVE_SERVICE_LISTING_H

#include "service/session.h"

void listing_begin(struct session *session, const struct cv_resp_command *command);
/* Is the answer complete? It goes out after everything that was said before. */
bool listing_is_ready(const struct session *session);
/* Has it begun to go out? Then nothing else may be sent before its end. */
bool listing_is_begun(const struct session *session);
/* Sends some of it. */
void listing_send(struct session *session);
void listing_end(struct session *session);
/* Frees some parts of answers that are not wanted any more. */
void listing_discard(struct cv_chore *chore);
/* A name is gone, and the last one has taken its place among the host's names. */
void listing_moved(struct cv_service *service, const struct cv_instance *gone);

#endif
