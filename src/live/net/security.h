// SPDX-License-Identifier: MIT
/* What a node proves itself with, which peers and clients it believes, and what those may do. */
#ifndef CONCLAVE_LIVE_NET_SECURITY_H
#define CONCLAVE_LIVE_NET_SECURITY_H

#include "live/settings/settings.h"
#include "secure/tls.h"

struct cv_listener;

struct cv_security {
    struct cv_tls_context *members, *clients; /* NULL: plaintext */
    const struct cv_security_settings *settings;
};

int cv_security_open(struct cv_security *security, const struct cv_security_settings *settings,
                     struct cv_complaint *complaint);
/* Keys, certificates and ACLs as they are now. If something is wrong with them, all stays as it was. */
int cv_security_reload(struct cv_security *security, const struct cv_security_settings *settings,
                       struct cv_complaint *complaint);
void cv_security_close(struct cv_security *security);

/* What a listener for members, or for clients, has to know. */
void cv_security_guard(const struct cv_security *security, struct cv_listener *listener, bool for_members);

#endif
