// SPDX-License-Identifier: MIT
/*
 * Who may do what: [acl NAME] sections. NAME is a pattern of identities, the first that fits counts. Where there are no
 * sections at all, everybody who was let in may do everything; where there are, nobody may without one, but for the
 * holder of the cluster's key and those who reach the Unix socket.
 */
#ifndef CONCLAVE_SECURE_ACL_H
#define CONCLAVE_SECURE_ACL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/parse.h"

/* Identities of those who do not come with a key or a certificate, so that neither may have these names. */
#define CV_IDENTITY_LOCAL "local"       /* by a Unix socket */
#define CV_IDENTITY_ANYBODY "anonymous" /* by TCP without TLS */

/* What a command needs. To lock, elect and observe is allowed by name. What says nothing needs an admin. */
enum cv_right { CV_MAY_ADMIN, CV_MAY_LOCK, CV_MAY_ELECT, CV_MAY_OBSERVE, CV_MAY_TALK };

struct cv_acl {
    char *identities;
    char *names[CV_MAY_TALK]; /* for each right: patterns, separated by spaces; NULL: none */
    bool admin;               /* everything, and to see the whole cluster */
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
/* NULL allows everything. To observe a name is allowed with it to whoever may lock it or stand for it. */
bool cv_acl_allows(const struct cv_acl *acl, enum cv_right right, struct cv_text name);

#endif
