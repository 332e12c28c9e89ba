// SPDX-License-Identifier: MIT
/*
 * JOIN, LEAVE, REPLACE and TERMS: the members of the group, and its terms. These commands are answered when the change
 * is asked for; VIEW and TERMS show when it is done.
 */
#ifndef CONCLAVE_SERVICE_MEMBERSHIP_H
#define CONCLAVE_SERVICE_MEMBERSHIP_H

#include "service/session.h"

void membership_join(struct session *session, const struct cv_resp_command *command);
void membership_leave(struct session *session, const struct cv_resp_command *command);
void membership_replace(struct session *session, const struct cv_resp_command *command);
void membership_terms(struct session *session, const struct cv_resp_command *command);

#endif
