// SPDX-License-Identifier: MIT
/* The commands of Redis that lock libraries use, on names of locks: each reads its words, redis_call.h runs it. */
#ifndef CONCLAVE_SERVICE_REDIS_COMMANDS_H
#define CONCLAVE_SERVICE_REDIS_COMMANDS_H

#include "service/session.h"

void redis_set(struct session *session, const struct cv_resp_command *command);
void redis_get(struct session *session, const struct cv_resp_command *command);
void redis_del(struct session *session, const struct cv_resp_command *command);
void redis_exists(struct session *session, const struct cv_resp_command *command);
void redis_pexpire(struct session *session, const struct cv_resp_command *command);
void redis_expire(struct session *session, const struct cv_resp_command *command);
void redis_pttl(struct session *session, const struct cv_resp_command *command);
void redis_ttl(struct session *session, const struct cv_resp_command *command);
/* FENCE name token: not of Redis; a library's lock gets a fence by it. */
void redis_fence(struct session *session, const struct cv_resp_command *command);

void redis_eval(struct session *session, const struct cv_resp_command *command);
void redis_evalsha(struct session *session, const struct cv_resp_command *command);
void redis_script(struct session *session, const struct cv_resp_command *command);
void redis_select(struct session *session, const struct cv_resp_command *command);

#endif
