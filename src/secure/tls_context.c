// SPDX-License-Identifier: MIT
/*
 * The keys and certificates of an end. The handshake identifies a key by NAME.ID, so that a node with an old and a new
 * key of the cluster finds the right one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "secure/tls_parts.h"

/* Both use SHA-256, as the keys do. */
#define CIPHERS "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"

static const unsigned char cipher[] = {0x13, 0x01};

/* ---- keys ---- */

static SSL_SESSION *session_of(const struct cv_openssl *ssl, SSL *handle, const struct cv_key *key)
{
    SSL_SESSION *session = ssl->SSL_SESSION_new();
    if (session && ssl->SSL_SESSION_set1_master_key(session, key->secret, CV_KEY_BYTES) &&
        ssl->SSL_SESSION_set_cipher(session, ssl->SSL_CIPHER_find(handle, cipher)) &&
        ssl->SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION))
        return session;
    ssl->SSL_SESSION_free(session);
    return NULL;
}

/* The key of a client that claims to be `name`, derived from the cluster's key of that id. */
static bool key_for(const struct cv_tls_context *context, struct cv_text name, struct cv_text id, struct cv_key *key)
{
    for (size_t i = 0; i < context->keys.count; i++) {
        const struct cv_key *cluster = &context->keys.list[i];
        if (cv_text_is(id, cluster->id))
            return context->side == CV_TLS_MEMBER ? cv_key_of_members(cluster, key) && cv_text_is(name, key->name)
                                                  : cv_key_name_good(name) && cv_key_derive(cluster, name, key);
    }
    return false;
}

static int find_key(SSL *handle, const unsigned char *identity, size_t length, SSL_SESSION **session)
{
    const struct cv_openssl *ssl = cv_openssl();
    struct cv_tls *tls = ssl->SSL_get_ex_data(handle, 0);
    const struct cv_tls_context *context = tls->context;
    const char *text = (const char *)identity;
    struct cv_key key;
    *session = NULL;
    if (length <= CV_KEY_ID_DIGITS + 1 || text[length - CV_KEY_ID_DIGITS - 1] != '.')
        return 1;
    const struct cv_text name = {text, length - CV_KEY_ID_DIGITS - 1};
    if (!key_for(context, name, (struct cv_text){text + name.length + 1, CV_KEY_ID_DIGITS}, &key))
        return 1;
    memcpy(tls->claimed, key.name, sizeof tls->claimed);
    *session = session_of(ssl, handle, &key);
    cv_key_wipe(&key, sizeof key);
    return *session != NULL;
}

/* The key that this end uses. It comes from the first key of the file. */
static bool own_key(const struct cv_tls_context *context, struct cv_key *key)
{
    const struct cv_key *first = &context->keys.list[0];
    if (context->side == CV_TLS_MEMBER)
        return cv_key_of_members(first, key);
    if (strcmp(first->name, CV_KEY_CLUSTER) == 0)
        return cv_key_derive(first, cv_text(CV_KEY_CLUSTER), key);
    *key = *first;
    return true;
}

static int use_key(SSL *handle, const EVP_MD *digest, const unsigned char **identity, size_t *length,
                   SSL_SESSION **session)
{
    const struct cv_openssl *ssl = cv_openssl();
    struct cv_tls *tls = ssl->SSL_get_ex_data(handle, 0);
    struct cv_key key;
    (void)digest; /* it is always SHA-256 */
    if (!own_key(tls->context, &key))
        return 0;
    *session = session_of(ssl, handle, &key);
    *length = (size_t)snprintf(tls->own, sizeof tls->own, "%s.%s", key.name, key.id);
    *identity = (const unsigned char *)tls->own;
    cv_key_wipe(&key, sizeof key);
    return *session != NULL;
}

bool cv_tls_secret_is(const struct cv_tls_context *context, struct cv_text name, struct cv_text secret)
{
    struct cv_key key;
    bool same = false;
    for (size_t i = 0; i < context->keys.count && !same && cv_key_name_good(name); i++)
        same = cv_key_derive(&context->keys.list[i], name, &key) && cv_key_is(&key, secret);
    cv_key_wipe(&key, sizeof key);
    return same;
}

/* ---- certificates ---- */

static int check_private_key(const char *path, const char *what, struct cv_complaint *complaint)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return cv_complain(complaint, "%s %s: %s", what, cv_brief(path).text, strerror(errno));
    const int error = cv_key_file_check(fd, what, path, complaint);
    close(fd);
    return error;
}

static int complain(const struct cv_openssl *ssl, const char *prefix, const char *what, const char *path,
                    struct cv_complaint *complaint)
{
    const char *why = ssl->ERR_reason_error_string(ssl->ERR_peek_last_error());
    return cv_complain(complaint, "%s%s %s: %s", prefix, what, cv_brief(path).text, why ? why : "cannot be read");
}

/* Every authority in a chain needs a revocation list. If one is missing or out of date, no certificate is accepted. */
static int load_revoked(const struct cv_openssl *ssl, SSL_CTX *handle, const char *path, const char *prefix,
                        struct cv_complaint *complaint)
{
    X509_STORE *store = ssl->SSL_CTX_get_cert_store(handle);
    X509_LOOKUP *lookup = ssl->X509_STORE_add_lookup(store, ssl->X509_LOOKUP_file());
    if (!lookup)
        return CV_ENOMEM;
    if (ssl->X509_load_crl_file(lookup, path, X509_FILETYPE_PEM) < 1)
        return complain(ssl, prefix, "crl", path, complaint);
    ssl->X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
    return 0;
}

static int load_certificates(const struct cv_openssl *ssl, SSL_CTX *handle, const struct cv_tls_files *files,
                             const char *prefix, struct cv_complaint *complaint)
{
    char what[64];
    snprintf(what, sizeof what, "%sprivate-key", prefix);
    const int error = check_private_key(files->private_key, what, complaint);
    if (error)
        return error;
    ssl->ERR_clear_error();
    if (ssl->SSL_CTX_load_verify_file(handle, files->ca) != 1)
        return complain(ssl, prefix, "ca", files->ca, complaint);
    if (ssl->SSL_CTX_use_certificate_chain_file(handle, files->certificate) != 1)
        return complain(ssl, prefix, "certificate", files->certificate, complaint);
    if (ssl->SSL_CTX_use_PrivateKey_file(handle, files->private_key, SSL_FILETYPE_PEM) != 1 ||
        ssl->SSL_CTX_check_private_key(handle) != 1)
        return complain(ssl, prefix, "private-key", files->private_key, complaint);
    ssl->SSL_CTX_set_client_CA_list(handle, ssl->SSL_load_client_CA_file(files->ca));
    return files->crl ? load_revoked(ssl, handle, files->crl, prefix, complaint) : 0;
}

int64_t cv_tls_expires(const struct cv_tls_context *context)
{
    const struct cv_openssl *ssl = context->ssl;
    const X509 *certificate = ssl->SSL_CTX_get0_certificate(context->handle);
    struct tm end;
    if (!certificate || ssl->ASN1_TIME_to_tm(ssl->X509_get0_notAfter(certificate), &end) != 1)
        return 0;
    return (int64_t)timegm(&end);
}

/* ---- opening ---- */

static SSL_CTX *make_handle(const struct cv_openssl *ssl)
{
    SSL_CTX *handle = ssl->SSL_CTX_new(ssl->TLS_method());
    if (!handle)
        return NULL;
    ssl->SSL_CTX_ctrl(handle, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, NULL);
    ssl->SSL_CTX_ctrl(handle, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
    ssl->SSL_CTX_ctrl(handle, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
    ssl->SSL_CTX_set_options(handle, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
    ssl->SSL_CTX_set_num_tickets(handle, 0);
    ssl->SSL_CTX_set_ciphersuites(handle, CIPHERS);
    ssl->SSL_CTX_set_verify(handle, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return handle;
}

static int read_keys(struct cv_tls_context *fresh, const struct cv_tls_files *files, const char *prefix,
                     struct cv_complaint *complaint)
{
    char what[64];
    snprintf(what, sizeof what, "%s%s", prefix, fresh->side == CV_TLS_CLIENT ? "key" : "cluster-key");
    const int error = cv_key_file_read(what, files->keys, &fresh->keys, complaint);
    for (size_t i = 0; !error && fresh->side != CV_TLS_CLIENT && i < fresh->keys.count; i++)
        if (strcmp(fresh->keys.list[i].name, CV_KEY_CLUSTER) != 0)
            return cv_complain(complaint, "%s %s: expected the cluster's key, not that of %s", what,
                               cv_brief(files->keys).text, fresh->keys.list[i].name);
    if (error)
        return error;
    fresh->ssl->SSL_CTX_set_psk_find_session_callback(fresh->handle, find_key);
    fresh->ssl->SSL_CTX_set_psk_use_session_callback(fresh->handle, use_key);
    return 0;
}

int cv_tls_reload(struct cv_tls_context *context, const struct cv_tls_files *files, const char *prefix,
                  struct cv_complaint *complaint)
{
    struct cv_tls_context fresh = {.ssl = context->ssl, .side = context->side};
    int error = 0;
    if (!files->keys && (!files->ca || !files->certificate || !files->private_key))
        return cv_complain(complaint, "%sca, %scertificate and %sprivate-key: expected all three of them", prefix,
                           prefix, prefix);
    fresh.handle = make_handle(context->ssl);
    if (!fresh.handle)
        return CV_ENOMEM;
    if (files->keys)
        error = read_keys(&fresh, files, prefix, complaint);
    if (!error && files->ca && (!files->keys || context->side == CV_TLS_NODE))
        error = load_certificates(context->ssl, fresh.handle, files, prefix, complaint);
    if (error) {
        context->ssl->SSL_CTX_free(fresh.handle);
    } else {
        context->ssl->SSL_CTX_free(context->handle); /* open connections keep the old context */
        *context = fresh;
    }
    cv_key_wipe(&fresh.keys, sizeof fresh.keys);
    return error;
}

int cv_tls_open(struct cv_tls_context **context, enum cv_tls_side side, const struct cv_tls_files *files,
                const char *prefix, struct cv_complaint *complaint)
{
    const struct cv_openssl *ssl = cv_openssl();
    if (!ssl)
        return cv_complain(complaint, "keys and certificates: expected OpenSSL 3 (libssl.so.3) to be installed");
    *context = calloc(1, sizeof **context);
    if (!*context)
        return CV_ENOMEM;
    (*context)->ssl = ssl;
    (*context)->side = side;
    const int error = cv_tls_reload(*context, files, prefix, complaint);
    if (error) {
        cv_tls_close(*context);
        *context = NULL;
    }
    return error;
}

void cv_tls_close(struct cv_tls_context *context)
{
    if (!context)
        return;
    context->ssl->SSL_CTX_free(context->handle);
    cv_key_wipe(&context->keys, sizeof context->keys);
    free(context);
}
