// SPDX-License-Identifier: MIT
/* The words of a command: a name, a number. Each function is false if the word is none, and tells the client why. */
#ifndef CONCLAVE_SERVICE_WORDS_H
#define CONCLAVE_SERVICE_WORDS_H

#include "service/session.h"

bool word_is_name(struct session *session, struct cv_text name);
/* Milliseconds, of the option `what`. */
bool word_is_number(struct session *session, const char *what, struct cv_text text, uint64_t *number);
/* A time to live, in that unit; `what` names it. */
bool word_is_duration(struct session *session, const char *what, struct cv_text text, uint64_t unit_ms, uint64_t *ms);
bool word_is_ttl(struct session *session, struct cv_text text, uint64_t *ttl_ms);
bool word_is_fence(struct session *session, struct cv_text text, uint64_t *fence);
bool word_is_priority(struct session *session, struct cv_text text, int64_t *priority);
bool word_is_permits(struct session *session, struct cv_text text, uint64_t *permits);
/* Of a secret, as holds keep it: nobody can find out the secret from it. */
void word_digest(struct cv_text secret, uint64_t digest[2]);
bool word_is_secret(struct session *session, struct cv_text text, uint64_t digest[2]);

#endif
