// SPDX-License-Identifier: MIT
/* The keys and certificates of an end: those that it authenticates with, and those that it accepts. */
#ifndef CONCLAVE_SECURE_TLS_CONTEXT_H
#define CONCLAVE_SECURE_TLS_CONTEXT_H

#include "core/error.h"
#include "core/parse.h"
#include "secure/key.h"

enum cv_tls_side {
    CV_TLS_MEMBER, /* a member that talks to other members */
    CV_TLS_NODE,   /* a node that serves clients, and accepts all that is configured */
    CV_TLS_CLIENT
};

/* NULL: not given. Certificates need all three files. Members and clients with a key use only the key. */
struct cv_tls_files {
    const char *keys;
    const char *ca, *certificate, *private_key;
    const char *crl; /* a list of revoked certificates; NULL: none is revoked */
};

struct cv_tls_context;

/* Sets OpenSSL's allocator, before its first use. OpenSSL does not survive a failed allocation, so our own programs set
 * one that ends the process in order. A library leaves that to its program. */
void cv_tls_heap(void *(*resize)(void *block, size_t size));

/* 0, CV_ENOMEM, or CV_EINPUT with a complaint, in which the names of the files' options begin with `prefix`. */
int cv_tls_open(struct cv_tls_context **context, enum cv_tls_side side, const struct cv_tls_files *files,
                const char *prefix, struct cv_complaint *complaint);
/* Reads the files again, for new connections. If that fails, everything stays as it was. */
int cv_tls_reload(struct cv_tls_context *context, const struct cv_tls_files *files, const char *prefix,
                  struct cv_complaint *complaint);
void cv_tls_close(struct cv_tls_context *context);
/* When this end's certificate expires, in seconds since 1970; 0: it has none. */
int64_t cv_tls_expires(const struct cv_tls_context *context);
/* Is that the secret of that client's key? */
bool cv_tls_secret_is(const struct cv_tls_context *context, struct cv_text name, struct cv_text secret);

#endif
