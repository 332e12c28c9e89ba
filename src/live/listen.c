// SPDX-License-Identifier: MIT
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/parse.h"
#include "live/loop.h"

#define BACKLOG 511

int cv_address_parse(const char *text, struct sockaddr_storage *address, const char *what,
                     struct cv_complaint *complaint)
{
    const char *colon = strrchr(text, ':');
    uint64_t port;
    char host[256];
    const size_t length = colon ? (size_t)(colon - text) : 0;
    if (!colon || length >= sizeof host || !cv_parse_number(cv_text(colon + 1), 65535, &port) || !port)
        return cv_complain(complaint, "%s %s: expected host:port, the port 1..65535", what, cv_brief(text).text);
    memcpy(host, text, length);
    host[length] = '\0';
    const bool bracketed = length > 2 && host[0] == '[' && host[length - 1] == ']';
    if (bracketed)
        host[length - 1] = '\0';
    const char *name = !length ? "127.0.0.1" : strcmp(host, "*") == 0 ? "0.0.0.0" : bracketed ? host + 1 : host;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    if (getaddrinfo(name, colon + 1, &hints, &found) || !found)
        return cv_complain(complaint, "%s %s: no such host", what, cv_brief(text).text);
    memcpy(address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}

static void somebody_knocks(uv_stream_t *handle, int status)
{
    struct cv_listener *listener = (struct cv_listener *)(void *)handle;
    if (status == 0)
        listener->knock(listener);
}

/* A socket file that nobody listens to any more is in the way; one that somebody does is not ours to remove. */
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

static int listen_path(struct cv_listener *listener, const char *what, const char *path, struct cv_complaint *complaint)
{
    const size_t most = sizeof((struct sockaddr_un *)0)->sun_path - 1;
    if (strlen(path) > most)
        return cv_complain(complaint, "%s %s: a socket's path has at most %zu bytes", what, cv_brief(path).text, most);
    uv_pipe_init(&listener->loop->uv, &listener->uv.pipe, 0);
    remove_stale(path);
    int error = uv_pipe_bind(&listener->uv.pipe, path);
    if (!error)
        error = uv_listen(&listener->uv.stream, BACKLOG, somebody_knocks);
    return error ? cv_complain(complaint, "%s %s: %s", what, cv_brief(path).text, uv_strerror(error)) : 0;
}

int cv_listen(struct cv_listener *listener, struct cv_loop *loop, const char *what, const char *address,
              struct cv_complaint *complaint)
{
    struct sockaddr_storage where;
    listener->loop = loop;
    if (strchr(address, '/'))
        return listen_path(listener, what, address, complaint);
    int error = cv_address_parse(address, &where, what, complaint);
    if (error)
        return error;
    uv_tcp_init(&loop->uv, &listener->uv.tcp);
    error = uv_tcp_bind(&listener->uv.tcp, (const struct sockaddr *)&where, 0);
    if (!error)
        error = uv_listen(&listener->uv.stream, BACKLOG, somebody_knocks);
    return error ? cv_complain(complaint, "%s %s: %s", what, cv_brief(address).text, uv_strerror(error)) : 0;
}
