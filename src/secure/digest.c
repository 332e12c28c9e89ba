// SPDX-License-Identifier: MIT
#include "secure/digest.h"

#include <stdio.h>

#include "secure/openssl.h"

bool cv_digest_make(const void *bytes, size_t length, struct cv_digest *digest)
{
    const struct cv_openssl *ssl = cv_openssl();
    return ssl && ssl->EVP_Digest(bytes, length, digest->bytes, NULL, ssl->EVP_sha256(), NULL) == 1;
}

const char *cv_digest_text(const struct cv_digest *digest, char text[CV_DIGEST_TEXT_BYTES])
{
    for (size_t i = 0; i < CV_DIGEST_BYTES; i++)
        sprintf(text + 2 * i, "%02x", digest->bytes[i]);
    return text;
}
