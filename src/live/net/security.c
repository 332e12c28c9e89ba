// SPDX-License-Identifier: MIT
#include "live/net/security.h"

#include "live/net/listen.h"
#include "live/settings/settings_security.h"

static struct cv_tls_files files_of(const struct cv_security_settings *settings)
{
    return (struct cv_tls_files){.keys = settings->cluster_key,
                                 .ca = settings->ca,
                                 .certificate = settings->certificate,
                                 .private_key = settings->private_key,
                                 .crl = settings->crl};
}

int cv_security_open(struct cv_security *security, const struct cv_security_settings *settings,
                     struct cv_complaint *complaint)
{
    const struct cv_tls_files files = files_of(settings);
    security->settings = settings;
    if (!files.keys && !files.ca)
        return 0;
    cv_key_forbid_dumps();
    const int error = cv_tls_open(&security->members, CV_TLS_MEMBER, &files, "[security] ", complaint);
    return error ? error : cv_tls_open(&security->clients, CV_TLS_NODE, &files, "[security] ", complaint);
}

int cv_security_reload(struct cv_security *security, const struct cv_security_settings *settings,
                       struct cv_complaint *complaint)
{
    const struct cv_tls_files files = files_of(settings);
    if (!security->members != (!files.keys && !files.ca))
        return cv_complain(complaint, "[security]: expected a restart, to begin with TLS or to end with it");
    int error = security->members ? cv_tls_reload(security->members, &files, "[security] ", complaint) : 0;
    if (!error && security->clients)
        error = cv_tls_reload(security->clients, &files, "[security] ", complaint);
    if (!error)
        security->settings = settings;
    return error;
}

void cv_security_close(struct cv_security *security)
{
    cv_tls_close(security->members);
    cv_tls_close(security->clients);
}

void cv_security_guard(const struct cv_security *security, struct cv_listener *listener, bool for_members)
{
    listener->tls = for_members ? security->members : security->clients;
    listener->plaintext = security->settings->plaintext;
    listener->mode = security->settings->socket_mode;
}
