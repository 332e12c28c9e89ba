// SPDX-License-Identifier: MIT
/* Asks a node a question and waits for the answer. The commands that show, start and try out clusters use it. */
#ifndef CONCLAVE_CLI_ASK_H
#define CONCLAVE_CLI_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "client/line.h"
#include "resp/resp_read.h"
#include "resp/resp_write.h"

/* Zeroed, with `fd` = -1, while closed. */
struct ask {
    int fd;
    struct cv_tls *tls; /* NULL: plaintext */
    char *in;
    size_t used;  /* bytes in `in` */
    size_t room;  /* its size */
    size_t taken; /* bytes of the last reply, at its beginning */
    struct cv_resp_writer out;
    char why[128]; /* it could not be opened; empty: no answer came */
};

/*
 * The options that name the server and the key or certificates of this client. `member` of the command's request is a
 * struct conclave_options.
 */
#define ASK_SERVER_ROWS(request, member)                                                                               \
    {"server", "LIST", OPTION_TEXT, offsetof(request, member.servers),                                                 \
     .help = "host:port or a socket's path; several separated by commas ($CONCLAVE_SERVER, or 127.0.0.1:7700)"},       \
        {"key", "FILE", OPTION_TEXT, offsetof(request, member.key),                                                    \
         .help = "a key made by conclave keygen; connections then use TLS ($CONCLAVE_KEY)"},                           \
        {"tls-ca", "FILE", OPTION_TEXT, offsetof(request, member.tls_ca),                                              \
         .help = "TLS by certificates: the authority of the servers' ($CONCLAVE_TLS_CA)"},                             \
        {"tls-certificate", "FILE", OPTION_TEXT, offsetof(request, member.tls_certificate),                            \
         .help = "this client's certificate ($CONCLAVE_TLS_CERTIFICATE)"},                                             \
    {                                                                                                                  \
        "tls-private-key", "FILE", OPTION_TEXT, offsetof(request, member.tls_private_key),                             \
            .help = "the private key of the certificate ($CONCLAVE_TLS_PRIVATE_KEY)"                                   \
    }

/* The same for commands that ask a member without TLS. `member` is a const char *, the address. */
#define ASK_ADDRESS_ROW(request, member, who)                                                                          \
    {                                                                                                                  \
        "server", "ADDRESS", OPTION_TEXT, offsetof(request, member),                                                   \
            .help = who ", or several separated by commas (CONCLAVE_SERVER, or 127.0.0.1:7700)"                        \
    }

/* Sets the key or the certificates for all connections that are opened later. 0, or CV_EINPUT with a complaint. */
int ask_with(const struct conclave_options *options, struct cv_complaint *complaint);

/* Connects to host:port or the path of a socket, and switches to RESP3. False if no node answers in that time. */
bool ask_open(struct ask *ask, const char *address, int timeout_ms);
void ask_close(struct ask *ask);

/*
 * Sends the words of a line, separated by single spaces, and waits for the reply; a negative timeout waits for ever.
 * Pushes are skipped. The reply stays valid until the next command. False if the connection is gone.
 */
bool ask_command(struct ask *ask, const char *line, int timeout_ms, struct cv_text *reply);
/* The same for words that may have spaces. */
bool ask_words(struct ask *ask, const char *const *words, size_t count, int timeout_ms, struct cv_text *reply);
/* Waits for the next push. False: the connection is gone. */
bool ask_push(struct ask *ask, int timeout_ms, struct cv_text *push);
/* The same for an order that the node may refuse. EXIT_HELD, or EXIT_UNKNOWN after one line on stderr. */
int ask_order(struct ask *ask, const char *servers, const char *line, int timeout_ms, struct cv_text *reply);

/* The value of a key in a map; empty if the map has no such key. */
struct cv_text ask_value(struct cv_text map, const char *key);
/* The reply as a number, or as a text; -1 and "" if it is another kind of reply. */
int64_t ask_number(struct cv_text reply);
struct cv_text ask_text(struct cv_text reply);
/* Takes the next item of an array. Begin with the reply and with *left = UINT64_MAX. */
bool ask_each(struct cv_text *array, uint64_t *left, struct cv_text *item);

/* Where clients look for nodes: the given list, else CONCLAVE_SERVER, else the default. See cv_client_server(). */
const char *ask_servers(const char *given);
/* Connects to the first server of the list that answers. False: `why` tells about the last one. */
bool ask_open_any(struct ask *ask, const char *servers, int timeout_ms);
/* Prints that line on stderr, and returns EXIT_UNKNOWN. */
int ask_refuse_none(const struct ask *ask, const char *servers);

#endif
