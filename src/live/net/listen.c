// SPDX-License-Identifier: MIT
#include "live/net/listen.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/parse.h"
#include "live/net/loop.h"

#define BACKLOG 511
#define AGAIN_US 50000u /* until a connection that there was no memory for is tried again */

bool cv_address_host(const char *text, char host[CV_HOST_BYTES])
{
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : CV_HOST_BYTES;
    if (length >= CV_HOST_BYTES)
        return false;
    if (length > 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    memcpy(host, text, length);
    host[length] = '\0';
    return true;
}

/* 0 if it was found; `flags` as getaddrinfo has them. */
static int look_up(const char *host, const char *port, int flags, struct sockaddr_storage *address)
{
    const char *name = !*host ? "127.0.0.1" : strcmp(host, "*") == 0 ? "0.0.0.0" : host;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags}, *found = NULL;
    if (getaddrinfo(name, port, &hints, &found) || !found)
        return CV_EINPUT;
    memcpy(address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}

int cv_address_read(const char *text, struct sockaddr_storage *address, bool *known, const char *what,
                    struct cv_complaint *complaint)
{
    const char *colon = strrchr(text, ':');
    uint64_t port;
    char host[CV_HOST_BYTES];
    if (!cv_address_host(text, host) || !cv_parse_number(cv_text(colon + 1), 65535, &port) || !port)
        return cv_complain(complaint, "%s %s: expected host:port, the port 1..65535", what, cv_brief(text).text);
    *known = look_up(host, colon + 1, AI_NUMERICHOST | AI_NUMERICSERV, address) == 0;
    return 0;
}

int cv_address_parse(const char *text, struct sockaddr_storage *address, const char *what,
                     struct cv_complaint *complaint)
{
    char host[CV_HOST_BYTES];
    bool known = false;
    const int error = cv_address_read(text, address, &known, what, complaint);
    if (error || known)
        return error;
    cv_address_host(text, host);
    return look_up(host, strrchr(text, ':') + 1, 0, address)
               ? cv_complain(complaint, "%s %s: no such host", what, cv_brief(text).text)
               : 0;
}

bool cv_address_is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    return address->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

int cv_address_exposed(const char *address, const char *what, struct cv_complaint *complaint)
{
    return cv_complain(complaint,
                       "%s %s: expected a key or certificates for an address off loopback: [security] cluster-key, or "
                       "ca, certificate and private-key; or else plaintext = yes",
                       what, cv_brief(address).text);
}

/* libuv stops listening until the connection is accepted, so one that could not be accepted is not forgotten. */
static void let_in(struct cv_listener *listener)
{
    listener->waited_for = true;
    listener->incoming(listener);
    if (listener->waited_for)
        cv_loop_set(listener->loop, &listener->again, AGAIN_US);
}

static void try_again(struct cv_alarm *alarm)
{
    let_in(cv_alarm_owner(alarm, struct cv_listener, again));
}

static void somebody_connects(uv_stream_t *handle, int status)
{
    if (status == 0)
        let_in((struct cv_listener *)(void *)handle);
}

int cv_listener_accept(struct cv_listener *listener, uv_stream_t *stream)
{
    listener->waited_for = false;
    const int error = uv_accept(&listener->uv.stream, stream);
    if (error) /* libuv does not go on by itself */
        uv_listen(&listener->uv.stream, BACKLOG, somebody_connects);
    return error;
}

/* A socket file without a listener is in the way, and is removed. One with a listener is not ours. */
static void remove_stale(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat info;
    if (lstat(path, &info) || !S_ISSOCK(info.st_mode))
        return;
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    if (probe >= 0 && connect(probe, (struct sockaddr *)&address, sizeof address) && errno == ECONNREFUSED)
        unlink(path);
    if (probe >= 0)
        close(probe);
}

/* libuv says "permission denied" of a directory that does not exist, as Windows does. */
static int complain_of_path(const char *what, const char *path, int error, struct cv_complaint *complaint)
{
    struct stat info;
    char directory[sizeof((struct sockaddr_un *)0)->sun_path] = "";
    memcpy(directory, path, (size_t)(strrchr(path, '/') - path));
    if (error == UV_EACCES && *directory && stat(directory, &info) && errno == ENOENT)
        return cv_complain(complaint, "%s %s: there is no directory %s", what, cv_brief(path).text,
                           cv_brief(directory).text);
    return cv_complain(complaint, "%s %s: %s", what, cv_brief(path).text, uv_strerror(error));
}

static int listen_path(struct cv_listener *listener, const char *what, const char *path, struct cv_complaint *complaint)
{
    const size_t most = sizeof((struct sockaddr_un *)0)->sun_path - 1;
    if (strlen(path) > most)
        return cv_complain(complaint, "%s %s: a socket's path has at most %zu bytes", what, cv_brief(path).text, most);
    uv_pipe_init(&listener->loop->uv, &listener->uv.pipe, 0);
    remove_stale(path);
    int error = uv_pipe_bind(&listener->uv.pipe, path);
    if (!error && chmod(path, listener->mode)) /* no client can connect before it is listened to */
        error = -errno;
    if (!error)
        error = uv_listen(&listener->uv.stream, BACKLOG, somebody_connects);
    return error ? complain_of_path(what, path, error, complaint) : 0;
}

int cv_listen(struct cv_listener *listener, struct cv_loop *loop, const char *what, const char *address,
              struct cv_complaint *complaint)
{
    struct sockaddr_storage where;
    listener->loop = loop;
    listener->again.ring = try_again;
    if (cv_alarms_reserve(&loop->alarms, 1))
        return CV_ENOMEM;
    if (strchr(address, '/'))
        return listen_path(listener, what, address, complaint);
    int error = cv_address_parse(address, &where, what, complaint);
    if (error)
        return error;
    listener->exposed = !listener->tls && !cv_address_is_loopback(&where);
    if (listener->exposed && !listener->plaintext)
        return cv_address_exposed(address, what, complaint);
    uv_tcp_init(&loop->uv, &listener->uv.tcp);
    error = uv_tcp_bind(&listener->uv.tcp, (const struct sockaddr *)&where, 0);
    if (!error)
        error = uv_listen(&listener->uv.stream, BACKLOG, somebody_connects);
    return error ? cv_complain(complaint, "%s %s: %s", what, cv_brief(address).text, uv_strerror(error)) : 0;
}

/* A listener that was never opened has no loop. */
void cv_listener_close(struct cv_listener *listener)
{
    if (!listener->loop || uv_is_closing(&listener->uv.handle) || !uv_is_active(&listener->uv.handle))
        return;
    cv_alarm_cancel(&listener->loop->alarms, &listener->again);
    uv_close(&listener->uv.handle, NULL);
}
