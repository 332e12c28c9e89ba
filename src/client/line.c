// SPDX-License-Identifier: MIT
#include "client/line.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/wall_clock.h"

#define MOST_AT_ONCE ((size_t)65536)

static const char *choose(const char *given, const char *variable)
{
    const char *value = given ? given : getenv(variable);
    return value && *value ? value : NULL;
}

bool cv_line_files(const struct conclave_options *options, struct cv_tls_files *files)
{
    files->keys = choose(options->key, "CONCLAVE_KEY");
    files->ca = choose(options->tls_ca, "CONCLAVE_TLS_CA");
    files->certificate = choose(options->tls_certificate, "CONCLAVE_TLS_CERTIFICATE");
    files->private_key = choose(options->tls_private_key, "CONCLAVE_TLS_PRIVATE_KEY");
    files->crl = choose(NULL, "CONCLAVE_TLS_CRL");
    return files->keys || files->ca || files->certificate || files->private_key;
}

bool cv_line_wants_tls(struct cv_text *address)
{
    static const char prefix[] = "tls://";
    const size_t length = sizeof prefix - 1;
    if (address->length < length || memcmp(address->start, prefix, length) != 0)
        return false;
    *address = (struct cv_text){address->start + length, address->length - length};
    return true;
}

/* ---- TLS over a socket ---- */

bool cv_line_unsent(const struct cv_tls *tls)
{
    return tls && cv_tls_unsent(tls).length;
}

/* Sends what TLS has written. 0 once everything is sent, or -1 and errno. */
static int send_cipher(int fd, struct cv_tls *tls)
{
    for (struct cv_text left; (left = cv_tls_unsent(tls)).length;) {
        const ssize_t sent = send(fd, left.start, left.length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return -1;
        cv_tls_sent(tls, (size_t)sent);
    }
    return 0;
}

/* Receives bytes for TLS. 1: some have come; 0: no more will come; -1 and errno. */
static int receive_cipher(int fd, struct cv_tls *tls)
{
    char bytes[16384];
    ssize_t count;
    do
        count = recv(fd, bytes, sizeof bytes, 0);
    while (count < 0 && errno == EINTR);
    if (count <= 0)
        return (int)count;
    if (cv_tls_feed(tls, bytes, (size_t)count))
        return 1;
    errno = ENOMEM;
    return -1;
}

const char *cv_line_shake_hands(int fd, struct cv_tls *tls, int timeout_ms)
{
    char none[1];
    const int64_t until_ms = cv_wall_ms() + timeout_ms;
    for (;;) {
        const long step = cv_tls_read(tls, none, 0);
        const bool out = send_cipher(fd, tls) == 0;
        if (step == CV_TLS_BROKEN)
            return cv_tls_wrong(tls);
        if (!out && errno != EAGAIN)
            return strerror(errno);
        if (out && cv_tls_established(tls))
            return NULL;
        const int64_t left_ms = until_ms - cv_wall_ms();
        struct pollfd ready = {.fd = fd, .events = out ? POLLIN : POLLIN | POLLOUT};
        if (left_ms <= 0 || (poll(&ready, 1, (int)left_ms) < 0 && errno != EINTR))
            return "the TLS handshake takes too long";
        const int came = ready.revents & ~POLLOUT ? receive_cipher(fd, tls) : 1;
        if (came == 0)
            return "the server closed the connection during the TLS handshake";
        if (came < 0 && errno != EAGAIN)
            return strerror(errno);
    }
}

/* ---- as send() and recv() ---- */

ssize_t cv_line_send(int fd, struct cv_tls *tls, const void *bytes, size_t length)
{
    if (!tls)
        return send(fd, bytes, length, MSG_NOSIGNAL);
    if (send_cipher(fd, tls))
        return -1;
    const size_t piece = length < MOST_AT_ONCE ? length : MOST_AT_ONCE;
    if (!piece)
        return 0;
    if (!cv_tls_write(tls, bytes, piece)) {
        errno = EPROTO;
        return -1;
    }
    return send_cipher(fd, tls) == 0 || errno == EAGAIN ? (ssize_t)piece : -1;
}

ssize_t cv_line_receive(int fd, struct cv_tls *tls, void *bytes, size_t room)
{
    if (!tls)
        return recv(fd, bytes, room, 0);
    size_t got = 0;
    while (got < room) {
        const long count = cv_tls_read(tls, (char *)bytes + got, room - got);
        if (count > 0) {
            got += (size_t)count;
            continue;
        }
        const int came = count == CV_TLS_BROKEN ? 0 : receive_cipher(fd, tls);
        if (came <= 0)
            return got ? (ssize_t)got : came; /* the next call meets the end again */
    }
    return (ssize_t)got;
}
