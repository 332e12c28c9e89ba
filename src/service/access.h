// SPDX-License-Identifier: MIT
/* AUTH and ACL: a session has an identity, from TLS or by AUTH, and with it an ACL. */
#ifndef CONCLAVE_SERVICE_ACCESS_H
#define CONCLAVE_SERVICE_ACCESS_H

#include "service/session.h"

/* May the session do that to the name? If not, it is told so. */
bool access_allowed(struct session *session, enum cv_right right, struct cv_text name);
/* Makes the session act under that name if the secret belongs to the key of that name. If not, it is told so. */
bool access_prove(struct session *session, struct cv_text name, struct cv_text secret);
void access_auth(struct session *session, const struct cv_resp_command *command);
void access_acl(struct session *session, const struct cv_resp_command *command);

#endif
