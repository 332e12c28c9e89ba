// SPDX-License-Identifier: MIT
#include "client/connect.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/wall_clock.h"

#define DEFAULT_PORT "7700"

/* ---- the list ---- */

static bool separates(char byte)
{
    return byte == ',' || byte == ' ' || byte == '\t' || byte == '\n';
}

static bool take_server(const char **list, struct cv_text *server)
{
    while (separates(**list))
        ++*list;
    server->start = *list;
    while (**list && !separates(**list))
        ++*list;
    server->length = (size_t)(*list - server->start);
    return server->length > 0;
}

size_t cv_client_servers(const char *list)
{
    struct cv_text server;
    size_t count = 0;
    while (take_server(&list, &server))
        count++;
    return count;
}

struct cv_text cv_client_server(const char *list, size_t turn)
{
    const size_t count = cv_client_servers(list);
    struct cv_text server = {0};
    assert(count > 0);
    for (turn %= count; take_server(&list, &server) && turn; turn--)
        continue;
    return server;
}

/* ---- sockets ---- */

/* Waits for a connection that is being made. 0 or an errno; ECANCELED by conclave_interrupt(). */
static int finish(const struct conclave *session, int fd)
{
    struct pollfd ready[] = {{.fd = fd, .events = POLLOUT}, {.fd = session->wake, .events = POLLIN}};
    const int64_t until_ms = cv_boot_ms() + session->timeout_ms;
    for (;;) {
        const int64_t left_ms = until_ms - cv_boot_ms();
        const int count = poll(ready, 2, left_ms > 0 ? (int)left_ms : 0);
        if (count == 0)
            return ETIMEDOUT;
        if (count > 0)
            break;
        if (errno != EINTR)
            return errno;
    }
    eventfd_t count;
    if (!ready[0].revents && eventfd_read(session->wake, &count) == 0)
        return ECANCELED;
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

/* 0 or an errno. */
static int dial_address(struct conclave *session, const struct sockaddr *address, socklen_t size)
{
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    int error = connect(fd, address, size) == 0 ? 0 : errno;
    if (error == EINPROGRESS)
        error = finish(session, fd);
    if (error) {
        close(fd);
        return error;
    }
    session->fd = fd;
    return 0;
}

static int dial_path(struct conclave *session, struct cv_text path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path.length >= sizeof address.sun_path)
        return ENAMETOOLONG;
    memcpy(address.sun_path, path.start, path.length);
    return dial_address(session, (const struct sockaddr *)&address, sizeof address);
}

/* A machine that has vanished does not close its connections. The kernel finds out after about ten seconds. */
static void prepare_tcp(int fd)
{
    static const struct {
        int level, option, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},   {SOL_SOCKET, SO_KEEPALIVE, 1}, {IPPROTO_TCP, TCP_KEEPIDLE, 4},
        {IPPROTO_TCP, TCP_KEEPINTVL, 2}, {IPPROTO_TCP, TCP_KEEPCNT, 3}, {IPPROTO_TCP, TCP_USER_TIMEOUT, 10000},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        setsockopt(fd, options[i].level, options[i].option, &options[i].value, sizeof options[i].value);
}

/* Splits host:port, [address]:port or host. False if it is none of them, or too long. */
static bool split_place(struct cv_text place, char host[256], char port[16])
{
    struct cv_text name = place, service = {DEFAULT_PORT, strlen(DEFAULT_PORT)};
    const char *bracket = *place.start == '[' ? memchr(place.start, ']', place.length) : NULL;
    const char *colon = bracket ? bracket + 1 : memchr(place.start, ':', place.length);
    const char *end = place.start + place.length;
    if (bracket && colon < end && *colon != ':')
        return false;
    if (colon && colon < end) {
        name.length = (size_t)(colon - place.start);
        service = (struct cv_text){colon + 1, (size_t)(end - colon - 1)};
    }
    if (bracket)
        name = (struct cv_text){place.start + 1, (size_t)(bracket - place.start - 1)};
    uint64_t number;
    if (!name.length || name.length > 255 || !cv_parse_number(service, 65535, &number))
        return false;
    snprintf(host, 256, "%.*s", (int)name.length, name.start);
    snprintf(port, 16, "%.*s", (int)service.length, service.start);
    return true;
}

/* 0, an errno, or one of getaddrinfo's own (negative) errors. */
static int dial_host(struct conclave *session, const char *host, const char *port)
{
    /* A numeric address needs no resolver, which would be the slowest part of all. */
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *found = NULL;
    int error = getaddrinfo(host, port, &hints, &found);
    if (error == EAI_NONAME) {
        hints.ai_flags = AI_NUMERICSERV;
        error = getaddrinfo(host, port, &hints, &found);
    }
    if (error)
        return error;
    error = EADDRNOTAVAIL;
    for (const struct addrinfo *each = found; each && error && error != ECANCELED; each = each->ai_next)
        error = dial_address(session, each->ai_addr, each->ai_addrlen);
    freeaddrinfo(found);
    if (!error)
        prepare_tcp(session->fd);
    return error;
}

/* The TLS handshake: the client proves its identity, and checks the server's. */
static int secure(struct conclave *session, const char *host)
{
    session->tls = cv_tls_new(session->credentials, host, false);
    if (!session->tls)
        return cv_client_no_memory(session);
    const char *wrong = cv_line_shake_hands(session->fd, session->tls, session->timeout_ms);
    return wrong ? cv_client_fail(session, CONCLAVE_NO_SERVER, "%s", wrong) : 0;
}

int cv_client_dial(struct conclave *session, struct cv_text place)
{
    char host[256], port[16];
    int error;
    const bool wants_tls = cv_line_wants_tls(&place), path = memchr(place.start, '/', place.length);
    if (wants_tls && (path || !session->credentials))
        return cv_client_fail(session, CONCLAVE_INVALID, "tls:// expects host:port, and a key or certificates");
    if (path)
        error = dial_path(session, place);
    else if (split_place(place, host, port))
        error = dial_host(session, host, port);
    else
        return cv_client_fail(session, CONCLAVE_NO_SERVER, "neither host:port nor the path of a socket");
    if (error == ECANCELED)
        return cv_client_fail(session, CONCLAVE_INTERRUPTED, "interrupted");
    if (error)
        return cv_client_fail(session, CONCLAVE_NO_SERVER, "%s", error < 0 ? gai_strerror(error) : strerror(error));
    return session->credentials && !path ? secure(session, host) : 0;
}
