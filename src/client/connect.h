// SPDX-License-Identifier: MIT
/* The list of servers, and a connection with one of them. */
#ifndef CONCLAVE_CLIENT_CONNECT_H
#define CONCLAVE_CLIENT_CONNECT_H

#include "client/client_session.h"

/* How many servers the list names. */
size_t cv_client_servers(const char *list);
/* The server whose turn it is. */
struct cv_text cv_client_server(const char *list, size_t turn);
/* Connects with the server at `place` (host:port or a path), by TLS if need be. 0 or an error, which is told. */
int cv_client_dial(struct conclave *session, struct cv_text place);

#endif
