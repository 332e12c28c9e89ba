// SPDX-License-Identifier: MIT
/*
 * TLS 1.3 without I/O: the caller feeds received bytes, and takes bytes to send. Both ends authenticate, by a key of
 * Conclave's own or by certificates. A key is an external pre-shared key, always with an ephemeral Diffie-Hellman
 * exchange, so that a key stolen later decrypts nothing recorded before (forward secrecy). There is no resumption: no
 * tickets, no early data.
 */
#ifndef CONCLAVE_SECURE_TLS_H
#define CONCLAVE_SECURE_TLS_H

#include "secure/tls_context.h"

struct cv_tls;

/* `host`: the server's certificate must be for it; NULL: no check. `accepts`: this end is the server. NULL if there is
 * no memory. */
struct cv_tls *cv_tls_new(struct cv_tls_context *context, const char *host, bool accepts);
void cv_tls_free(struct cv_tls *tls);

/* False if there is no memory. */
bool cv_tls_feed(struct cv_tls *tls, const void *bytes, size_t length);
/* Decrypts, and drives the handshake. Returns the number of bytes, 0 if there are none yet, or CV_TLS_BROKEN if there
 * will be no more. */
enum { CV_TLS_BROKEN = -1 };
long cv_tls_read(struct cv_tls *tls, void *bytes, size_t room);
bool cv_tls_write(struct cv_tls *tls, const void *bytes, size_t length);
/* The bytes to send. They stay valid until the next call. */
struct cv_text cv_tls_unsent(const struct cv_tls *tls);
void cv_tls_sent(struct cv_tls *tls, size_t length);

/* Has the other end authenticated itself? */
bool cv_tls_established(const struct cv_tls *tls);
/* The name of the other end's key, or its certificate's common name; empty if that is unusable. */
const char *cv_tls_identity(const struct cv_tls *tls);
/* Is the other end's certificate for that host? An end with the members' key is a member on any host. */
bool cv_tls_is_host(const struct cv_tls *tls, const char *host);
/* Is the other end's certificate still valid, by the files as read last? Keys are not checked again. */
bool cv_tls_still_good(const struct cv_tls *tls);
/* Why the connection is broken. */
const char *cv_tls_wrong(const struct cv_tls *tls);

#endif
