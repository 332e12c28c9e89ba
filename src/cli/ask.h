// SPDX-License-Identifier: MIT
/* Asks a node something and waits for the answer: for the commands that show, start and try out clusters. */
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
    size_t used, room, taken;
    struct cv_resp_writer out;
};

/* The rows of the options that say which server is asked, and what to prove oneself with; `member` of the command's
 * request is a struct conclave_options. */
#define ASK_SERVER_ROWS(request, member)                                                                               \
    {"server", "LIST", OPTION_TEXT, offsetof(request, member.servers),                                                 \
     .help = "host:port or a socket's path, several with commas ($CONCLAVE_SERVER, then 127.0.0.1:7700)"},             \
        {"key", "FILE", OPTION_TEXT, offsetof(request, member.key),                                                    \
         .help = "made by conclave keygen; with it servers are spoken to by TLS ($CONCLAVE_KEY)"},                     \
        {"tls-ca", "FILE", OPTION_TEXT, offsetof(request, member.tls_ca),                                              \
         .help = "the same by certificates: who signs the servers' ($CONCLAVE_TLS_CA)"},                               \
        {"tls-certificate", "FILE", OPTION_TEXT, offsetof(request, member.tls_certificate),                            \
         .help = "one's own certificate ($CONCLAVE_TLS_CERTIFICATE)"},                                                 \
    {                                                                                                                  \
        "tls-private-key", "FILE", OPTION_TEXT, offsetof(request, member.tls_private_key),                             \
            .help = "and its private key ($CONCLAVE_TLS_PRIVATE_KEY)"                                                  \
    }

/* The same for commands that ask one of the members, whose address is in `member`, a const char *. */
#define ASK_ADDRESS_ROW(request, member, who)                                                                          \
    {                                                                                                                  \
        "server", "ADDRESS", OPTION_TEXT, offsetof(request, member),                                                   \
            .help = who ", or several separated by commas (CONCLAVE_SERVER, or 127.0.0.1:7700)"                        \
    }

/* What all that are opened from now on prove themselves with. 0, or CV_EINPUT with a complaint. */
int ask_with(const struct conclave_options *options, struct cv_complaint *complaint);

/*
 * Connects to host:port or the path of a socket, and speaks RESP3 from then on. False if nobody answers in that time.
 */
bool ask_open(struct ask *ask, const char *address, int timeout_ms);
void ask_close(struct ask *ask);

/*
 * Says the words of a line, separated by single spaces, and waits for the reply, passing over pushes. The reply stays
 * where it is until the next one is waited for. Negative: for ever. False if the connection is gone.
 */
bool ask_command(struct ask *ask, const char *line, int timeout_ms, struct cv_text *reply);
/* The same for a command line that a node may refuse. EXIT_HELD, or another exit code after one line on stderr. */
int ask_order(struct ask *ask, const char *servers, const char *line, int timeout_ms, struct cv_text *reply);

/* The value of a key in a map, with all that belongs to it; empty if there is none. */
struct cv_text ask_value(struct cv_text map, const char *key);
/* A reply that is a number, or a text; -1 and "" if it is not. */
int64_t ask_number(struct cv_text reply);
struct cv_text ask_text(struct cv_text reply);
/* Takes the next item of an array; begins with an array's whole reply, *left of UINT64_MAX. */
bool ask_each(struct cv_text *array, uint64_t *left, struct cv_text *item);

/* Where clients look for nodes: what is given, else CONCLAVE_SERVER, else the default. A list, separated by commas. */
const char *ask_servers(const char *given);
/* Connects to the first of them that answers. */
bool ask_open_any(struct ask *ask, const char *servers, int timeout_ms);

#endif
