// SPDX-License-Identifier: MIT
/* What a client says about its connection: PING, HELLO, QUIT, and what clients of Redis send when they connect. */
#ifndef CONCLAVE_SERVICE_CONNECTION_COMMANDS_H
#define CONCLAVE_SERVICE_CONNECTION_COMMANDS_H

#include "service/session.h"

void connection_ping(struct session *session, const struct cv_resp_command *command);
void connection_hello(struct session *session, const struct cv_resp_command *command);
void connection_quit(struct session *session, const struct cv_resp_command *command);
void connection_command(struct session *session, const struct cv_resp_command *command);
/* CLIENT SETNAME, GETNAME, ID, INFO, LIST; every other word is answered so that a client of Redis goes on. */
void connection_client(struct session *session, const struct cv_resp_command *command);

#endif
