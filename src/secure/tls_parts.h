// SPDX-License-Identifier: MIT
/* What tls.c and tls_context.c share. */
#ifndef CONCLAVE_SECURE_TLS_PARTS_H
#define CONCLAVE_SECURE_TLS_PARTS_H

#include "secure/openssl.h"
#include "secure/tls.h"

struct cv_tls_context {
    const struct cv_openssl *ssl;
    SSL_CTX *handle;
    enum cv_tls_side side;
    struct cv_keys keys;
};

struct cv_tls {
    const struct cv_openssl *ssl;
    const struct cv_tls_context *context;
    SSL *handle;
    BIO *in, *out; /* the handle's */
    bool accepts;
    bool by_key; /* nothing but a key will do */
    bool established;
    bool broken;
    char own[CV_KEY_NAME_BYTES + CV_KEY_ID_DIGITS + 2]; /* which key this end says it has */
    char claimed[CV_KEY_NAME_BYTES + 1]; /* the key that the other end says it has; true once established by one */
    char identity[CV_KEY_NAME_BYTES + 1];
    char wrong[128];
};

#endif
