// SPDX-License-Identifier: MIT
/* The keys and certificates of an end: what it proves itself with, and what it expects of others. */
#ifndef CONCLAVE_SECURE_TLS_CONTEXT_H
#define CONCLAVE_SECURE_TLS_CONTEXT_H

#include "core/error.h"
#include "core/parse.h"
#include "secure/key.h"

enum cv_tls_side {
    CV_TLS_MEMBER, /* of the group: talks to its equals */
    CV_TLS_NODE,   /* serves clients: accepts whatever is configured */
    CV_TLS_CLIENT
};

/* NULL: not that. Certificates need all three; members and clients that have a key use it alone. */
struct cv_tls_files {
    const char *keys;
    const char *ca, *certificate, *private_key;
    const char *crl; /* certificates of the authority that are none any more; NULL: all are good */
};

struct cv_tls_context;

/* Before its first use: where OpenSSL gets its memory. It does not survive that there is none, so a program of our own
 * gives it something that ends in order instead; a library leaves that to the program. */
void cv_tls_heap(void *(*resize)(void *block, size_t size));

/* 0, CV_ENOMEM, or CV_EINPUT with a complaint. The names of the files' options begin with `prefix`. */
int cv_tls_open(struct cv_tls_context **context, enum cv_tls_side side, const struct cv_tls_files *files,
                const char *prefix, struct cv_complaint *complaint);
/* The files are read again, for connections from now on. If that fails, everything stays as it was. */
int cv_tls_reload(struct cv_tls_context *context, const struct cv_tls_files *files, const char *prefix,
                  struct cv_complaint *complaint);
void cv_tls_close(struct cv_tls_context *context);
/* When its own certificate runs out, in seconds since 1970; 0: it has none. */
int64_t cv_tls_expires(const struct cv_tls_context *context);
/* The key of a client: is its secret this one? */
bool cv_tls_secret_is(const struct cv_tls_context *context, struct cv_text name, struct cv_text secret);

#endif
