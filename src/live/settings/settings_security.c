// SPDX-License-Identifier: MIT
/*
 *     [security]                                  or                               [acl build]
 *     cluster-key = /etc/conclave/cluster.key     ca = /etc/conclave/ca.pem        lock = build-* deploy
 *                                                 certificate = node1.pem          elect = db
 *                                                 private-key = node1.key          observe = *
 */
#include "live/settings/settings_security.h"

#include <stdlib.h>
#include <string.h>

#include "core/parse.h"
#include "live/settings/settings.h"

#define SECTION "security"

void security_settings_init(struct cv_security_settings *security)
{
    *security = (struct cv_security_settings){
        .socket_mode = 0600, .handshake_ms = 2000, .most_strangers = 256, .most_strangers_each = 64};
}

void security_settings_free(struct cv_security_settings *security)
{
    free(security->cluster_key);
    free(security->ca);
    free(security->certificate);
    free(security->private_key);
    free(security->crl);
    cv_acls_free(&security->acls);
}

static int set_mode(struct cv_security_settings *security, const char *value, struct cv_complaint *complaint)
{
    unsigned mode = 0;
    const char *at = value;
    for (; *at >= '0' && *at <= '7' && mode <= 0777; at++)
        mode = 8 * mode + (unsigned)(*at - '0');
    if (!*value || *at || mode > 0777)
        return cv_complain(complaint, "[" SECTION "] socket-mode = %s: expected a mode in octal, as in 0660",
                           cv_brief(value).text);
    security->socket_mode = mode;
    return 0;
}

static int set_plaintext(struct cv_security_settings *security, const char *value, struct cv_complaint *complaint)
{
    security->plaintext = strcmp(value, "yes") == 0;
    return security->plaintext || strcmp(value, "no") == 0
               ? 0
               : cv_complain(complaint, "[" SECTION "] plaintext = %s: expected yes or no", cv_brief(value).text);
}

int security_settings_set(struct cv_security_settings *security, const char *key, const char *value,
                          struct cv_complaint *complaint)
{
    const struct {
        const char *key;
        char **text;
    } texts[] = {{"cluster-key", &security->cluster_key},
                 {"ca", &security->ca},
                 {"certificate", &security->certificate},
                 {"private-key", &security->private_key},
                 {"crl", &security->crl}};
    const struct {
        const char *key;
        uint64_t *number, largest;
    } numbers[] = {{"handshake", &security->handshake_ms, 60000},
                   {"strangers", &security->most_strangers, 100000},
                   {"strangers-per-address", &security->most_strangers_each, 100000}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0) {
            free(*texts[i].text);
            *texts[i].text = strdup(value);
            return *texts[i].text ? 0 : CV_ENOMEM;
        }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0) {
            if (cv_parse_number(cv_text(value), numbers[i].largest, numbers[i].number) && *numbers[i].number)
                return 0;
            return cv_complain(complaint, "[" SECTION "] %s = %s: expected a number of 1 to %llu", key,
                               cv_brief(value).text, (unsigned long long)numbers[i].largest);
        }
    if (strcmp(key, "socket-mode") == 0)
        return set_mode(security, value, complaint);
    if (strcmp(key, "plaintext") == 0)
        return set_plaintext(security, value, complaint);
    return cv_complain(complaint,
                       "[" SECTION
                       "] %s: expected cluster-key, ca, certificate, private-key, crl, plaintext, socket-mode, "
                       "handshake, strangers or strangers-per-address",
                       cv_brief(key).text);
}

int security_settings_finish(const struct cv_security_settings *security, struct cv_complaint *complaint)
{
    const bool any = security->ca || security->certificate || security->private_key;
    if (any && (!security->ca || !security->certificate || !security->private_key))
        return cv_complain(complaint, "[" SECTION "] ca, certificate, private-key: expected all three of them");
    if (security->crl && !any)
        return cv_complain(complaint, "[" SECTION "] crl = %s: expected ca, certificate and private-key with it",
                           cv_brief(security->crl).text);
    if ((any || security->cluster_key) && security->plaintext)
        return cv_complain(complaint, "[" SECTION "] plaintext = yes: expected no key and no certificate with it");
    return 0;
}
