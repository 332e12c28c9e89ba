// SPDX-License-Identifier: MIT
/* A connection's bytes, by TLS or without: as send() and recv(), on a descriptor that does not block. `tls` is NULL for
 * plaintext. */
#ifndef CONCLAVE_CLIENT_LINE_H
#define CONCLAVE_CLIENT_LINE_H

#include <conclave/conclave.h>
#include <sys/types.h>

#include "secure/tls.h"

/* What a client proves itself with: what is given, else what the environment has. False: nothing, so no TLS. */
bool cv_line_files(const struct conclave_options *options, struct cv_tls_files *files);

/* Takes tls:// off the address; was it there? */
bool cv_line_wants_tls(struct cv_text *address);

/* The handshake, within that time. NULL, or why it failed. */
const char *cv_line_shake_hands(int fd, struct cv_tls *tls, int timeout_ms);

/* How many were taken, or -1 and errno: EAGAIN if none can be now. */
ssize_t cv_line_send(int fd, struct cv_tls *tls, const void *bytes, size_t length);
/* Is there something that was taken, and has yet to go out when the descriptor can be written? */
bool cv_line_unsent(const struct cv_tls *tls);
/* Less than there is room for only if no more is there now. 0: the other end has closed it. */
ssize_t cv_line_receive(int fd, struct cv_tls *tls, void *bytes, size_t room);

#endif
