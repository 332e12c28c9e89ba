// SPDX-License-Identifier: MIT
/*
 * SHA-1 (FIPS 180-4), by which clients of Redis name a script. It is a name and no proof: nobody relies on it that two
 * texts cannot have the same.
 */
#ifndef CONCLAVE_CORE_SHA1_H
#define CONCLAVE_CORE_SHA1_H

#include "core/parse.h"

/* 40 hexadecimal digits and a NUL. */
struct cv_sha1 {
    char hex[41];
};

struct cv_sha1 cv_sha1(struct cv_text text);

#endif
