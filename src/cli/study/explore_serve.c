// SPDX-License-Identifier: MIT
#include "cli/study/explore_serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/study/plugin.h"
#include "core/parse.h"
#include "explore/explore.h"
#include "live/net/door.h"
#include "live/net/listen.h"
#include "live/net/stream.h"

#define FIRST_PORT 7780u
#define PORTS_TRIED 20u
#define REQUEST_BYTES (4u << 20) /* a file to be replayed may be that long */
#define PATIENCE_US 30000000u
#define MOST_VISITS 64u
#define SESSIONS 8u
#define SESSION_BYTES 24u

/* An engine of a page. */
struct session {
    char name[SESSION_BYTES];
    struct cv_explorer *explorer;
    uint64_t used; /* when it was last called, by the number of the call */
};

struct server {
    const struct explore_site *site;
    struct cv_loop loop;
    struct cv_door door;
    struct cv_listener listeners[PORTS_TRIED]; /* one of them listens */
    struct session sessions[SESSIONS];
    uint64_t calls;
    uint32_t port;
};

struct visit {
    struct cv_stream stream; /* first */
    struct cv_visitor visitor;
    struct server *server;
    char *answer;
    size_t length;
    bool answered;
};

static struct visit *visit_of(struct cv_stream *stream)
{
    return (struct visit *)(void *)stream;
}

/* ---- answers ---- */

static void reply(struct visit *visit, const char *status, const char *type, const char *body, size_t length)
{
    char *head = NULL;
    const int head_length = asprintf(&head,
                                     "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: "
                                     "no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
                                     status, type, length);
    visit->answered = true;
    visit->answer = head_length < 0 ? NULL : realloc(head, (size_t)head_length + length);
    if (!visit->answer) {
        free(head_length < 0 ? NULL : head);
        cv_stream_close(&visit->stream);
        return;
    }
    memcpy(visit->answer + head_length, body, length);
    visit->length = (size_t)head_length + length;
    cv_stream_mark(&visit->stream);
}

static void refuse(struct visit *visit, const char *status, const char *text)
{
    reply(visit, status, "text/plain; charset=utf-8", text, strlen(text));
}

/* ---- the engine ---- */

/* The session of that name. A new one takes the place of the one that was not used for the longest time. */
static struct session *find_session(struct server *server, struct cv_text name)
{
    struct session *oldest = &server->sessions[0];
    if (!name.length || name.length >= SESSION_BYTES)
        return NULL;
    for (struct session *it = server->sessions; it < server->sessions + SESSIONS; it++) {
        if (it->explorer && cv_text_is(name, it->name))
            return it;
        if (it->used < oldest->used)
            oldest = it;
    }
    if (oldest->explorer)
        cv_explorer_free(oldest->explorer);
    *oldest = (struct session){.explorer = cv_explorer_new(plugin_find)};
    memcpy(oldest->name, name.start, name.length);
    return oldest->explorer ? oldest : NULL;
}

static void answer_call(struct visit *visit, struct cv_text path, const char *body)
{
    struct cv_text name, call;
    struct session *session = NULL;
    char word[64];
    if (cv_text_split(path, '/', &name, &call) && call.length < sizeof word)
        session = find_session(visit->server, name);
    if (!session) {
        refuse(visit, "404 Not Found", "expected /call/SESSION/NAME\n");
        return;
    }
    memcpy(word, call.start, call.length);
    word[call.length] = '\0';
    session->used = ++visit->server->calls;
    const char *told = cv_explorer_call(session->explorer, word, body);
    reply(visit, "200 OK", "application/json", told, strlen(told));
}

/* ---- requests ---- */

/* The value of a header, or an empty text. */
static struct cv_text header(struct cv_text head, const char *name)
{
    struct cv_text line, key, value;
    while (cv_text_take(&head, '\n', &line)) {
        if (!cv_text_split(line, ':', &key, &value) || key.length != strlen(name) ||
            strncasecmp(key.start, name, key.length) != 0)
            continue;
        while (value.length && (*value.start == ' ' || *value.start == '\t'))
            value = (struct cv_text){value.start + 1, value.length - 1};
        while (value.length && (value.start[value.length - 1] == '\r' || value.start[value.length - 1] == ' '))
            value.length--;
        return value;
    }
    return (struct cv_text){"", 0};
}

/* Only a page of this program may call. A page from elsewhere has another origin; a name that somebody else has made
 * mean this address is another host. */
static bool is_own_page(const struct visit *visit, struct cv_text head)
{
    char host[32], local[32], origin[40];
    const struct cv_text asked = header(head, "Host"), from = header(head, "Origin");
    snprintf(host, sizeof host, "127.0.0.1:%" PRIu32, visit->server->port);
    snprintf(local, sizeof local, "localhost:%" PRIu32, visit->server->port);
    snprintf(origin, sizeof origin, "http://%s", cv_text_is(asked, local) ? local : host);
    return (cv_text_is(asked, host) || cv_text_is(asked, local)) && (!from.length || cv_text_is(from, origin));
}

static void answer(struct visit *visit, struct cv_text head, const char *body)
{
    const struct explore_site *site = visit->server->site;
    struct cv_text line, method, path, rest = head;
    cv_text_take(&rest, '\n', &line);
    if (!cv_text_split(line, ' ', &method, &line) || !cv_text_split(line, ' ', &path, &line))
        refuse(visit, "400 Bad Request", "expected GET PATH HTTP/1.1\n");
    else if (!is_own_page(visit, head))
        refuse(visit, "403 Forbidden", "expected a request of this program's own page\n");
    else if (cv_text_is(method, "GET") && path.length && *path.start == '/' &&
             (path.length == 1 || path.start[1] == '?'))
        reply(visit, "200 OK", "text/html; charset=utf-8", site->page, site->length);
    else if (site->engine && cv_text_is(method, "POST") && path.length > 6 && strncmp(path.start, "/call/", 6) == 0)
        answer_call(visit, (struct cv_text){path.start + 6, path.length - 6}, body);
    else
        refuse(visit, "404 Not Found", "expected GET /\n");
}

static void received(struct cv_stream *stream)
{
    struct visit *visit = visit_of(stream);
    const char *end = visit->answered ? NULL : memmem(stream->in, stream->in_used, "\r\n\r\n", 4);
    if (end) {
        const struct cv_text head = {stream->in, (size_t)(end - stream->in)}, told = header(head, "Content-Length");
        const size_t begins = head.length + 4;
        uint64_t length = 0;
        if (told.length && !cv_parse_number(told, REQUEST_BYTES / 2, &length))
            refuse(visit, "413 Content Too Large", "expected a shorter request\n");
        else if (stream->in_used - begins >= length) {
            char *body = strndup(stream->in + begins, length);
            if (body)
                answer(visit, head, body);
            else
                cv_stream_close(stream);
            free(body);
        }
    } else if (!visit->answered && stream->in_used >= REQUEST_BYTES) {
        refuse(visit, "431 Request Header Fields Too Large", "expected a shorter request\n");
    }
    if (visit->answered && !stream->closing)
        cv_stream_take(stream, stream->in_used);
}

/* ---- coming and going ---- */

static void flush(struct cv_stream *stream)
{
    struct visit *visit = visit_of(stream);
    if (visit->length && cv_stream_write(stream, visit->answer, visit->length))
        visit->length = 0;
    if (visit->answered && !visit->length && !stream->writing && !stream->closing)
        cv_stream_close(stream);
}

static void closed(struct cv_stream *stream)
{
    struct visit *visit = visit_of(stream);
    cv_door_leave(&visit->visitor);
    cv_alarms_release(&visit->server->loop.alarms, 1);
    free(visit->answer);
    free(visit);
}

static const struct cv_stream_calls calls = {.received = received, .flush = flush, .closed = closed};

static void incoming(struct cv_listener *listener)
{
    struct server *server = listener->context;
    struct visit *visit = calloc(1, sizeof *visit);
    if (!visit)
        return;
    visit->server = server;
    visit->stream.calls = &calls;
    visit->stream.in_most = REQUEST_BYTES;
    if (!cv_door_accept(&server->door, listener, &visit->visitor, &visit->stream))
        free(visit);
}

/* Listens at the port that was asked for, or at the first that is free. */
static int listen_somewhere(struct server *server, struct cv_complaint *complaint)
{
    const uint32_t wanted = server->site->port, tries = wanted ? 1 : PORTS_TRIED;
    int error = 0;
    for (uint32_t i = 0; i < tries; i++) {
        char address[32];
        struct cv_listener *listener = &server->listeners[i];
        listener->incoming = incoming;
        listener->context = server;
        server->port = wanted ? wanted : FIRST_PORT + i;
        snprintf(address, sizeof address, "127.0.0.1:%" PRIu32, server->port);
        error = cv_listen(listener, &server->loop, "--port", address, complaint);
        if (error != CV_EINPUT)
            break;
    }
    return error;
}

int explore_serve(const struct explore_site *site, struct cv_complaint *complaint)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server)
        return CV_ENOMEM;
    server->site = site;
    int error = cv_loop_open(&server->loop);
    server->door = (struct cv_door){
        .loop = &server->loop, .most = MOST_VISITS, .most_each = MOST_VISITS, .patience_us = PATIENCE_US};
    if (!error)
        error = listen_somewhere(server, complaint);
    if (!error) {
        cv_loop_catch(&server->loop);
        site->ready(site->context, server->port);
        cv_loop_run(&server->loop);
    }
    cv_loop_close(&server->loop);
    cv_alarms_free(&server->loop.alarms);
    for (uint32_t i = 0; i < SESSIONS; i++)
        if (server->sessions[i].explorer)
            cv_explorer_free(server->sessions[i].explorer);
    free(server);
    return error;
}
