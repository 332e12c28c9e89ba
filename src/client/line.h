// SPDX-License-Identifier: MIT
/*
 * The bytes of a connection, by TLS or without: as send() and recv(), on a descriptor that does not block. `tls` is
 * NULL for plaintext.
 */
#ifndef CONCLAVE_CLIENT_LINE_H
#define CONCLAVE_CLIENT_LINE_H

#include <conclave/conclave.h>
#include <sys/types.h>

#include "secure/tls.h"

/*
 * The files that prove the client's identity: those of the options, else those of the environment. False: there are
 * none, so no TLS.
 */
bool cv_line_files(const struct conclave_options *options, struct cv_tls_files *files);

/* Removes tls:// from the address. Was it there? */
bool cv_line_wants_tls(struct cv_text *address);

/* The TLS handshake, within that time. NULL, or why it failed. */
const char *cv_line_shake_hands(int fd, struct cv_tls *tls, int timeout_ms);

/* How many bytes were taken, or -1 and errno: EAGAIN if none can be taken now. */
ssize_t cv_line_send(int fd, struct cv_tls *tls, const void *bytes, size_t length);
/* Are there bytes that were taken and have yet to be sent, when the descriptor can be written? */
bool cv_line_unsent(const struct cv_tls *tls);
/*
 * How many bytes were received: fewer than there is room for only if no more are there now. 0: the other end has closed
 * the connection.
 */
ssize_t cv_line_receive(int fd, struct cv_tls *tls, void *bytes, size_t room);

#endif
