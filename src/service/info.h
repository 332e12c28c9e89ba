// SPDX-License-Identifier: MIT
/* What the node shows of itself: VIEW, INFO, and who leads. */
#ifndef CONCLAVE_SERVICE_INFO_H
#define CONCLAVE_SERVICE_INFO_H

#include "service/session.h"

/* A session as clients see it: "node/session". */
void info_write_session(struct cv_resp_writer *out, cv_id node, uint64_t session);
/* What this node thinks of a member: "self", "alive", "expected" or "suspected". */
const char *info_member_state(const struct cv_member *member, cv_node node);
/* When it last heard of it, -1: never. */
int64_t info_last_heard_ms(const struct cv_member *member, cv_node node);
/* The leader's session, fence and node, and its value if it has one; nil if there is no leader. `lock` may be NULL. */
void info_write_leader(struct session *session, const struct lock *lock);
void info_run_view(struct session *session, const struct cv_resp_command *command);
void info_run_info(struct session *session, const struct cv_resp_command *command);

#endif
