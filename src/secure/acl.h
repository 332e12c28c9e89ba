// SPDX-License-Identifier: MIT
/*
 * Rights: the sections [acl NAME]. NAME is a pattern of identities; the first that fits counts. Without any section,
 * every client that was let in may do everything. With sections, a client needs one, unless it has the cluster's key or
 * comes by the Unix socket.
 */
#ifndef CONCLAVE_SECURE_ACL_H
#define CONCLAVE_SECURE_ACL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/parse.h"

/* Identities of clients without a key or a certificate. No key and no certificate may have these names. */
#define CV_IDENTITY_LOCAL "local"       /* by a Unix socket */
#define CV_IDENTITY_ANYBODY "anonymous" /* by TCP without TLS */

/* What a command needs. LOCK, ELECT and OBSERVE are rights by name. A command that says nothing needs an admin. */
enum cv_right { CV_MAY_ADMIN, CV_MAY_LOCK, CV_MAY_ELECT, CV_MAY_OBSERVE, CV_MAY_TALK };

struct cv_acl {
    char *identities;
    char *names[CV_MAY_TALK]; /* for each right: patterns, separated by spaces; NULL: none */
    bool admin;               /* it may do everything, and see the whole cluster */
};

struct cv_acls {
    struct cv_acl *list;
    uint32_t count;
};

/* A line of the section [acl `identities`]. */
int cv_acls_set(struct cv_acls *acls, const char *identities, const char *key, const char *value,
                struct cv_complaint *complaint);
void cv_acls_free(struct cv_acls *acls);

/* One that has to be earned otherwise than by being written on a certificate. */
bool cv_identity_reserved(const char *identity);

/* The one for that identity; NULL and false: it has none. NULL and true: it needs none. */
bool cv_acls_find(const struct cv_acls *acls, const char *identity, const struct cv_acl **acl);
/* NULL allows everything. A client that may lock a name or stand for it may observe it, too. */
bool cv_acl_allows(const struct cv_acl *acl, enum cv_right right, struct cv_text name);

#endif
