// SPDX-License-Identifier: MIT
/* [security], and the sections [acl NAME]. */
#ifndef CONCLAVE_LIVE_SETTINGS_SETTINGS_SECURITY_H
#define CONCLAVE_LIVE_SETTINGS_SETTINGS_SECURITY_H

#include "core/error.h"
#include "secure/acl.h"

/* [security], and the sections [acl NAME]. */
struct cv_security_settings {
    char *cluster_key;                    /* a file; NULL: none */
    char *ca, *certificate, *private_key; /* files; all or none */
    char *crl;                            /* a file, only with these; NULL: no certificate is revoked */
    bool plaintext;                       /* connections without TLS are allowed off loopback */
    unsigned socket_mode;
    uint64_t handshake_ms;
    uint64_t most_strangers;      /* unauthenticated connections, at most */
    uint64_t most_strangers_each; /* unauthenticated connections of one address, at most */
    struct cv_acls acls;
};

void security_settings_init(struct cv_security_settings *security);
void security_settings_free(struct cv_security_settings *security);
int security_settings_set(struct cv_security_settings *security, const char *key, const char *value,
                          struct cv_complaint *complaint);
int security_settings_finish(const struct cv_security_settings *security, struct cv_complaint *complaint);

#endif
