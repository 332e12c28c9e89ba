// SPDX-License-Identifier: MIT
/*
 * OpenSSL, loaded at the first use of a key or a certificate. Loading takes longer than taking a lock, and most
 * programs never need it. cv_openssl() returns a table of its functions, by their own names.
 */
#ifndef CONCLAVE_SECURE_OPENSSL_H
#define CONCLAVE_SECURE_OPENSSL_H

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#define CV_OPENSSL_FUNCTIONS(X)                                                                                        \
    X(ASN1_TIME_to_tm)                                                                                                 \
    X(BIO_ctrl)                                                                                                        \
    X(BIO_free)                                                                                                        \
    X(BIO_new)                                                                                                         \
    X(BIO_read)                                                                                                        \
    X(BIO_s_mem)                                                                                                       \
    X(BIO_write)                                                                                                       \
    X(CRYPTO_memcmp)                                                                                                   \
    X(CRYPTO_set_mem_functions)                                                                                        \
    X(ERR_clear_error)                                                                                                 \
    X(ERR_peek_last_error)                                                                                             \
    X(ERR_reason_error_string)                                                                                         \
    X(EVP_Digest)                                                                                                      \
    X(EVP_sha256)                                                                                                      \
    X(HMAC)                                                                                                            \
    X(SSL_CIPHER_find)                                                                                                 \
    X(SSL_CTX_check_private_key)                                                                                       \
    X(SSL_CTX_ctrl)                                                                                                    \
    X(SSL_CTX_free)                                                                                                    \
    X(SSL_CTX_get0_certificate)                                                                                        \
    X(SSL_CTX_get_cert_store)                                                                                          \
    X(SSL_CTX_load_verify_file)                                                                                        \
    X(SSL_CTX_new)                                                                                                     \
    X(SSL_CTX_set_ciphersuites)                                                                                        \
    X(SSL_CTX_set_client_CA_list)                                                                                      \
    X(SSL_CTX_set_num_tickets)                                                                                         \
    X(SSL_CTX_set_options)                                                                                             \
    X(SSL_CTX_set_psk_find_session_callback)                                                                           \
    X(SSL_CTX_set_psk_use_session_callback)                                                                            \
    X(SSL_CTX_set_verify)                                                                                              \
    X(SSL_CTX_use_PrivateKey_file)                                                                                     \
    X(SSL_CTX_use_certificate_chain_file)                                                                              \
    X(SSL_SESSION_free)                                                                                                \
    X(SSL_SESSION_new)                                                                                                 \
    X(SSL_SESSION_set1_master_key)                                                                                     \
    X(SSL_SESSION_set_cipher)                                                                                          \
    X(SSL_SESSION_set_protocol_version)                                                                                \
    X(SSL_do_handshake)                                                                                                \
    X(SSL_free)                                                                                                        \
    X(SSL_get0_param)                                                                                                  \
    X(SSL_get0_peer_certificate)                                                                                       \
    X(SSL_get_error)                                                                                                   \
    X(SSL_get_ex_data)                                                                                                 \
    X(SSL_get_peer_cert_chain)                                                                                         \
    X(SSL_get_verify_result)                                                                                           \
    X(SSL_load_client_CA_file)                                                                                         \
    X(SSL_new)                                                                                                         \
    X(SSL_read)                                                                                                        \
    X(SSL_session_reused)                                                                                              \
    X(SSL_set_accept_state)                                                                                            \
    X(SSL_set_bio)                                                                                                     \
    X(SSL_set_connect_state)                                                                                           \
    X(SSL_set_ex_data)                                                                                                 \
    X(SSL_set_session_id_context)                                                                                      \
    X(SSL_write)                                                                                                       \
    X(TLS_method)                                                                                                      \
    X(X509_LOOKUP_file)                                                                                                \
    X(X509_NAME_get_text_by_NID)                                                                                       \
    X(X509_STORE_CTX_free)                                                                                             \
    X(X509_STORE_CTX_init)                                                                                             \
    X(X509_STORE_CTX_new)                                                                                              \
    X(X509_STORE_CTX_set_default)                                                                                      \
    X(X509_STORE_add_lookup)                                                                                           \
    X(X509_STORE_set_flags)                                                                                            \
    X(X509_VERIFY_PARAM_set1_host)                                                                                     \
    X(X509_VERIFY_PARAM_set1_ip_asc)                                                                                   \
    X(X509_check_host)                                                                                                 \
    X(X509_check_ip_asc)                                                                                               \
    X(X509_get0_notAfter)                                                                                              \
    X(X509_get_subject_name)                                                                                           \
    X(X509_load_crl_file)                                                                                              \
    X(X509_verify_cert)                                                                                                \
    X(X509_verify_cert_error_string)

struct cv_openssl {
#define X(name) __typeof__(&(name)) name;
    CV_OPENSSL_FUNCTIONS(X)
#undef X
};

/* NULL: OpenSSL is not installed, or too old. */
const struct cv_openssl *cv_openssl(void);

#endif
