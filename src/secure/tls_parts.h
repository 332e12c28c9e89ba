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
    BIO *in, *out; /* owned by the handle */
    bool accepts;
    bool by_key; /* the other end must use a key */
    bool established;
    bool broken;
    char own[CV_KEY_NAME_BYTES + CV_KEY_ID_DIGITS + 2]; /* the identity of this end's key */
    char claimed[CV_KEY_NAME_BYTES + 1]; /* the key that the other end claims; proved once established by a key */
    char identity[CV_KEY_NAME_BYTES + 1];
    char wrong[128];
};

#endif
