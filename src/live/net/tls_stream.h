// SPDX-License-Identifier: MIT
/* The part of a stream that speaks TLS. Its owner reads and writes as without it, and is told when the other end has
 * proved who it is. */
#ifndef CONCLAVE_LIVE_NET_TLS_STREAM_H
#define CONCLAVE_LIVE_NET_TLS_STREAM_H

#include "live/net/loop.h"
#include "secure/tls.h"

/* As soon as it is accepted or connects. `host` is where it connects to. False if there is no memory: then it must not
 * stay open. */
bool stream_secure(struct cv_stream *stream, struct cv_tls_context *context, const char *host, bool accepts);

/* ---- what stream.c needs ---- */

/* The connection stands, and the handshake may begin. */
void stream_shake_hands(struct cv_stream *stream);
/* So many bytes have come into the loop's buffer. */
void stream_decipher(struct cv_stream *stream, size_t length);
/* Takes all of the bytes, or none. */
size_t stream_encipher(struct cv_stream *stream, const void *bytes, size_t length);
/* Before the owner's own flush: does what had to wait. */
void stream_catch_up(struct cv_stream *stream);

#endif
