// SPDX-License-Identifier: MIT
#include "secure/tls.h"

#include <stdlib.h>
#include <string.h>

#include "secure/acl.h"
#include "secure/tls_parts.h"

/* ---- opening and closing ---- */

static bool expect_host(const struct cv_tls *tls, const char *host)
{
    const struct cv_openssl *ssl = tls->ssl;
    X509_VERIFY_PARAM *expected = ssl->SSL_get0_param(tls->handle);
    return ssl->X509_VERIFY_PARAM_set1_ip_asc(expected, host) == 1 ||
           ssl->X509_VERIFY_PARAM_set1_host(expected, host, 0) == 1;
}

struct cv_tls *cv_tls_new(struct cv_tls_context *context, const char *host, bool accepts)
{
    const struct cv_openssl *ssl = context->ssl;
    struct cv_tls *tls = calloc(1, sizeof *tls);
    if (!tls)
        return NULL;
    tls->ssl = ssl;
    tls->context = context;
    tls->accepts = accepts;
    tls->by_key = context->keys.count && context->side != CV_TLS_NODE;
    tls->handle = ssl->SSL_new(context->handle);
    tls->in = ssl->BIO_new(ssl->BIO_s_mem());
    tls->out = ssl->BIO_new(ssl->BIO_s_mem());
    if (!tls->handle || !tls->in || !tls->out) {
        ssl->BIO_free(tls->in);
        ssl->BIO_free(tls->out);
        ssl->SSL_free(tls->handle);
        free(tls);
        return NULL;
    }
    /* An empty buffer means that more bytes will come, not the end of the stream. */
    ssl->BIO_ctrl(tls->in, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
    ssl->BIO_ctrl(tls->out, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
    ssl->SSL_set_bio(tls->handle, tls->in, tls->out);
    if (!ssl->SSL_set_ex_data(tls->handle, 0, tls) || (host && !accepts && !expect_host(tls, host))) {
        cv_tls_free(tls);
        return NULL;
    }
    if (accepts) {
        /* OpenSSL treats a pre-shared key as an external session, which needs a session id context. */
        ssl->SSL_set_session_id_context(tls->handle, (const unsigned char *)"conclave", 8);
        ssl->SSL_set_accept_state(tls->handle);
    } else {
        ssl->SSL_set_connect_state(tls->handle);
    }
    return tls;
}

void cv_tls_free(struct cv_tls *tls)
{
    if (!tls)
        return;
    tls->ssl->SSL_free(tls->handle);
    free(tls);
}

/* ---- the handshake ---- */

static const char *explain(const struct cv_tls *tls)
{
    const struct cv_openssl *ssl = tls->ssl;
    const int reason = ERR_GET_REASON(ssl->ERR_peek_last_error());
    if (tls->by_key && !tls->accepts &&
        (reason == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE || reason == SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER))
        return "the other end does not know this key";
    const long verdict = ssl->SSL_get_verify_result(tls->handle);
    const char *why = verdict != X509_V_OK && verdict != X509_V_ERR_UNSPECIFIED
                          ? ssl->X509_verify_cert_error_string(verdict)
                          : ssl->ERR_reason_error_string(ssl->ERR_peek_last_error());
    return why ? why : "the other end gave up";
}

static long give_up(struct cv_tls *tls, const char *why)
{
    tls->broken = true;
    snprintf(tls->wrong, sizeof tls->wrong, "TLS: %s", why);
    return CV_TLS_BROKEN;
}

/* A step has failed. Does it only lack bytes? */
static long unfinished(struct cv_tls *tls, int result)
{
    return tls->ssl->SSL_get_error(tls->handle, result) == SSL_ERROR_WANT_READ ? 0 : give_up(tls, explain(tls));
}

/* The identity of a certificate is its common name, if that is complete and printable. */
static void read_certificate(struct cv_tls *tls)
{
    const struct cv_openssl *ssl = tls->ssl;
    char name[sizeof tls->identity + 1];
    X509 *certificate = ssl->SSL_get0_peer_certificate(tls->handle);
    const int length = certificate ? ssl->X509_NAME_get_text_by_NID(ssl->X509_get_subject_name(certificate),
                                                                    NID_commonName, name, sizeof name)
                                   : -1;
    if (length <= 0 || (size_t)length > CV_KEY_NAME_BYTES || strlen(name) != (size_t)length ||
        cv_identity_reserved(name))
        return;
    for (const char *at = name; *at; at++)
        if (*at < ' ' || *at > '~')
            return;
    memcpy(tls->identity, name, (size_t)length + 1);
}

static long shake_hands(struct cv_tls *tls)
{
    const int result = tls->ssl->SSL_do_handshake(tls->handle);
    if (result != 1)
        return unfinished(tls, result);
    const bool by_key = tls->ssl->SSL_session_reused(tls->handle);
    if (tls->by_key && !by_key)
        return give_up(tls, "the other end has no key");
    if (by_key && tls->accepts)
        memcpy(tls->identity, tls->claimed, sizeof tls->identity);
    else if (!by_key)
        read_certificate(tls);
    tls->established = true;
    return 0;
}

/* ---- bytes ---- */

bool cv_tls_feed(struct cv_tls *tls, const void *bytes, size_t length)
{
    return tls->ssl->BIO_write(tls->in, bytes, (int)length) == (int)length;
}

long cv_tls_read(struct cv_tls *tls, void *bytes, size_t room)
{
    if (tls->broken)
        return CV_TLS_BROKEN;
    tls->ssl->ERR_clear_error();
    if (!tls->established)
        return shake_hands(tls);
    const int count = tls->ssl->SSL_read(tls->handle, bytes, room < INT32_MAX ? (int)room : INT32_MAX);
    return count > 0 ? count : unfinished(tls, count);
}

bool cv_tls_write(struct cv_tls *tls, const void *bytes, size_t length)
{
    if (!tls->established || tls->broken || length > INT32_MAX)
        return false;
    tls->ssl->ERR_clear_error();
    return tls->ssl->SSL_write(tls->handle, bytes, (int)length) == (int)length;
}

struct cv_text cv_tls_unsent(const struct cv_tls *tls)
{
    char *bytes = NULL;
    const long length = tls->ssl->BIO_ctrl(tls->out, BIO_CTRL_INFO, 0, &bytes);
    return (struct cv_text){bytes, length > 0 ? (size_t)length : 0};
}

void cv_tls_sent(struct cv_tls *tls, size_t length)
{
    char gone[4096];
    while (length) {
        const int count = tls->ssl->BIO_read(tls->out, gone, length < sizeof gone ? (int)length : (int)sizeof gone);
        if (count <= 0)
            break;
        length -= (size_t)count;
    }
}

/* ---- the identity of the other end ---- */

bool cv_tls_established(const struct cv_tls *tls)
{
    return tls->established;
}

const char *cv_tls_identity(const struct cv_tls *tls)
{
    return tls->identity;
}

bool cv_tls_is_host(const struct cv_tls *tls, const char *host)
{
    if (tls->ssl->SSL_session_reused(tls->handle))
        return true;
    X509 *certificate = tls->ssl->SSL_get0_peer_certificate(tls->handle);
    return certificate && (tls->ssl->X509_check_ip_asc(certificate, host, 0) == 1 ||
                           tls->ssl->X509_check_host(certificate, host, 0, 0, NULL) == 1);
}

bool cv_tls_still_good(const struct cv_tls *tls)
{
    const struct cv_openssl *ssl = tls->ssl;
    if (!tls->established || ssl->SSL_session_reused(tls->handle))
        return true;
    X509 *certificate = ssl->SSL_get0_peer_certificate(tls->handle);
    X509_STORE_CTX *question = ssl->X509_STORE_CTX_new();
    const bool good = certificate && question &&
                      ssl->X509_STORE_CTX_init(question, ssl->SSL_CTX_get_cert_store(tls->context->handle), certificate,
                                               ssl->SSL_get_peer_cert_chain(tls->handle)) == 1 &&
                      ssl->X509_STORE_CTX_set_default(question, tls->accepts ? "ssl_client" : "ssl_server") == 1 &&
                      ssl->X509_verify_cert(question) == 1;
    ssl->X509_STORE_CTX_free(question);
    ssl->ERR_clear_error();
    return good;
}

const char *cv_tls_wrong(const struct cv_tls *tls)
{
    return tls->wrong;
}
