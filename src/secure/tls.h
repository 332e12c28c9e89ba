// SPDX-License-Identifier: MIT
/*
 * TLS 1.3, without I/O: received bytes are fed to it, and bytes to send are taken from it. Both ends prove who they
 * are, by a key of Conclave's own or by certificates. A key is an external pre-shared key, always with an ephemeral
 * Diffie-Hellman exchange, so that a key that is stolen later opens nothing recorded before. Nothing is resumed: no
 * tickets, no early data.
 */
#ifndef CONCLAVE_SECURE_TLS_H
#define CONCLAVE_SECURE_TLS_H

#include "secure/tls_context.h"

struct cv_tls;

/* `host`: of the end that is called, whose certificate must be for it; NULL: this end is called. NULL if there is no
 * memory. */
struct cv_tls *cv_tls_new(struct cv_tls_context *context, const char *host, bool accepts);
void cv_tls_free(struct cv_tls *tls);

/* False if there is no memory. */
bool cv_tls_feed(struct cv_tls *tls, const void *bytes, size_t length);
/* Drives the handshake, too. How many bytes came out, 0 if none did, CV_TLS_BROKEN if there will be no more. */
enum { CV_TLS_BROKEN = -1 };
long cv_tls_read(struct cv_tls *tls, void *bytes, size_t room);
bool cv_tls_write(struct cv_tls *tls, const void *bytes, size_t length);
/* The bytes to send. They stay valid until the next call. */
struct cv_text cv_tls_unsent(const struct cv_tls *tls);
void cv_tls_sent(struct cv_tls *tls, size_t length);

/* The other end has proved who it is. */
bool cv_tls_established(const struct cv_tls *tls);
/* Its key's name, or its certificate's common name; empty if that is not one to go by. */
const char *cv_tls_identity(const struct cv_tls *tls);
/* Is its certificate for that host? An end with the members' key is a member, whatever its host. */
bool cv_tls_is_host(const struct cv_tls *tls, const char *host);
/* Is its certificate still good, by the files as they were read last? A key's holder is not asked again. */
bool cv_tls_still_good(const struct cv_tls *tls);
/* Why it is broken. */
const char *cv_tls_wrong(const struct cv_tls *tls);

#endif
