// SPDX-License-Identifier: MIT
/*
 * Rights: the sections [acl NAME]. NAME is a pattern of identities; the first match counts. Without any section, every
 * admitted client may do everything. With sections, a client needs one, unless it has the cluster's key or comes over
 * the Unix socket.
 */
#ifndef CONCLAVE_SECURE_ACL_H
#define CONCLAVE_SECURE_ACL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/parse.h"

/* Identities of clients without a key or a certificate. No key or certificate may have these names. */
#define CV_IDENTITY_LOCAL "local"       /* over a Unix socket */
#define CV_IDENTITY_ANYBODY "anonymous" /* over TCP without TLS */

/* The right that a command needs. LOCK, ELECT and OBSERVE apply to names. ADMIN is the default. */
enum cv_right { CV_MAY_ADMIN, CV_MAY_LOCK, CV_MAY_ELECT, CV_MAY_OBSERVE, CV_MAY_TALK };

struct cv_acl {
    char *identities;
    char *names[CV_MAY_TALK]; /* for each right: patterns of names, separated by spaces; NULL: none */
    bool admin;               /* the client may do everything, and see the whole cluster */
};

struct cv_acls {
    struct cv_acl *list;
    uint32_t count;
};

/* Takes in a line of the section [acl `identities`]. */
int cv_acls_set(struct cv_acls *acls, const char *identities, const char *key, const char *value,
                struct cv_complaint *complaint);
void cv_acls_free(struct cv_acls *acls);

/* Is that an identity that no certificate may claim? */
bool cv_identity_reserved(const char *identity);

/* Finds the section for that identity. NULL and false: it has none. NULL and true: it needs none. */
bool cv_acls_find(const struct cv_acls *acls, const char *identity, const struct cv_acl **acl);
/* NULL allows everything. A client that may lock a name, or stand for election in it, may also observe it. */
bool cv_acl_allows(const struct cv_acl *acl, enum cv_right right, struct cv_text name);

#endif
