// SPDX-License-Identifier: MIT
/* SHA-256 of bytes, by which members know that they have the same file. */
#ifndef CONCLAVE_SECURE_DIGEST_H
#define CONCLAVE_SECURE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#define CV_DIGEST_BYTES 32u
#define CV_DIGEST_TEXT_BYTES (2 * CV_DIGEST_BYTES + 1)

struct cv_digest {
    unsigned char bytes[CV_DIGEST_BYTES];
};

/* False if OpenSSL is missing. */
bool cv_digest_make(const void *bytes, size_t length, struct cv_digest *digest);
/* The digest as sha256sum(1) writes it. */
const char *cv_digest_text(const struct cv_digest *digest, char text[CV_DIGEST_TEXT_BYTES]);

#endif
