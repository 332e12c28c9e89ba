// SPDX-License-Identifier: MIT
#include "service/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/net/listen.h"
#include "live/net/stream.h"
#include "live/net/tls_stream.h"
#include "live/settings/settings_operations.h"
#include "service/health.h"
#include "service/metrics.h"

#define REQUEST_BYTES 8192u
#define PATIENCE_US 5000000u
#define MOST_VISITS 64u
#define MOST_VISITS_EACH 32u

struct visit {
    struct cv_stream stream; /* first */
    struct cv_visitor visitor;
    struct cv_http *http;
    char *answer;
    size_t length;
    size_t seen;   /* bytes of the request that were searched for its end */
    bool answered; /* later bytes are not read */
};

static struct visit *visit_of(struct cv_stream *stream)
{
    return (struct visit *)(void *)stream;
}

/* ---- answers ---- */

struct reply {
    int code;
    const char *reason;
    const char *type;
    char *body;
    size_t length;
};

static const char plain_text[] = "text/plain; charset=utf-8";

static void say(struct reply *reply, int code, const char *reason, const char *text)
{
    *reply = (struct reply){.code = code, .reason = reason, .type = plain_text};
    if (asprintf(&reply->body, "%s\n", text) < 0)
        reply->body = NULL;
    reply->length = reply->body ? strlen(reply->body) : 0;
}

static void tell_health(struct reply *reply, const struct cv_service *service)
{
    char why[CV_HEALTH_BYTES];
    if (cv_health(service, why))
        say(reply, 200, "OK", "ok");
    else
        say(reply, 503, "Service Unavailable", why);
}

static void tell_metrics(struct reply *reply, const struct cv_service *service)
{
    *reply = (struct reply){.code = 200, .reason = "OK", .type = "text/plain; version=0.0.4; charset=utf-8"};
    FILE *file = open_memstream(&reply->body, &reply->length);
    if (file)
        metrics_write(file, service);
    if (!file || fclose(file)) {
        free(reply->body);
        say(reply, 503, "Service Unavailable", "no memory");
    }
}

static const struct {
    const char *path;
    void (*tell)(struct reply *reply, const struct cv_service *service);
} pages[] = {{"/metrics", tell_metrics}, {"/healthz", tell_health}};

static void find_page(struct reply *reply, const struct cv_service *service, struct cv_text path)
{
    struct cv_text query;
    cv_text_split(path, '?', &path, &query);
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (cv_text_is(path, pages[i].path)) {
            pages[i].tell(reply, service);
            return;
        }
    say(reply, 404, "Not Found", "expected /metrics or /healthz");
}

static void send_reply(struct visit *visit, struct reply *reply, bool head_only)
{
    char *head = NULL;
    const int length = asprintf(
        &head,
        "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n%s"
        "Connection: close\r\n\r\n",
        reply->code, reply->reason, reply->type, reply->length, reply->code == 405 ? "Allow: GET, HEAD\r\n" : "");
    const size_t body = head_only ? 0 : reply->length;
    visit->answered = true;
    visit->answer = length < 0 ? NULL : realloc(head, (size_t)length + body + 1);
    if (visit->answer) {
        if (body)
            memcpy(visit->answer + length, reply->body, body);
        visit->length = (size_t)length + body;
        cv_stream_mark(&visit->stream);
    } else {
        free(length < 0 ? NULL : head);
        cv_stream_close(&visit->stream);
    }
    free(reply->body);
}

/* ---- requests ---- */

/* Reads "GET /metrics HTTP/1.1"; all other lines are ignored. */
static void answer(struct visit *visit, struct cv_text line)
{
    struct cv_text method, path, version;
    struct reply reply;
    const bool sound = cv_text_split(line, ' ', &method, &path) && cv_text_split(path, ' ', &path, &version) &&
                       version.length == 8 && strncmp(version.start, "HTTP/1.", 7) == 0 && path.length;
    const bool head_only = sound && cv_text_is(method, "HEAD");
    if (!sound)
        say(&reply, 400, "Bad Request", "expected GET PATH HTTP/1.1");
    else if (!head_only && !cv_text_is(method, "GET"))
        say(&reply, 405, "Method Not Allowed", "expected GET or HEAD");
    else
        find_page(&reply, visit->http->service, path);
    send_reply(visit, &reply, head_only);
}

/* The request ends with an empty line. Only new bytes are searched for it, so that single bytes cost no more. */
static bool is_complete(struct visit *visit)
{
    const struct cv_stream *stream = &visit->stream;
    const size_t from = visit->seen > 3 ? visit->seen - 3 : 0;
    visit->seen = stream->in_used;
    return memmem(stream->in + from, stream->in_used - from, "\r\n\r\n", 4) ||
           memmem(stream->in + from, stream->in_used - from, "\n\n", 2);
}

static void received(struct cv_stream *stream)
{
    struct visit *visit = visit_of(stream);
    if (!visit->answered && is_complete(visit)) {
        struct cv_text rest = {stream->in, stream->in_used}, line;
        cv_text_take(&rest, '\n', &line);
        if (line.length && line.start[line.length - 1] == '\r')
            line.length--;
        answer(visit, line);
    } else if (!visit->answered && stream->in_used >= REQUEST_BYTES) {
        struct reply reply;
        say(&reply, 431, "Request Header Fields Too Large", "expected no more than 8192 bytes");
        send_reply(visit, &reply, false);
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
    cv_alarms_release(&visit->http->door.loop->alarms, 1);
    free(visit->answer);
    free(visit);
}

/* TLS has found out the client's identity. An identity that may do anything at all may read these pages. */
static bool admitted(struct cv_stream *stream)
{
    const struct cv_member *member = visit_of(stream)->http->service->member;
    const char *identity = cv_tls_identity(stream->tls);
    const struct cv_acl *acl;
    return *identity && cv_acls_find(&member->security.settings->acls, identity, &acl);
}

static const struct cv_stream_calls calls = {
    .received = received, .flush = flush, .closed = closed, .admitted = admitted};

static void incoming(struct cv_listener *listener)
{
    struct cv_http *http = listener->context;
    struct visit *visit = calloc(1, sizeof *visit);
    if (!visit || cv_alarms_reserve(&listener->loop->alarms, 1)) {
        free(visit);
        return;
    }
    visit->http = http;
    visit->stream.calls = &calls;
    visit->stream.in_most = REQUEST_BYTES;
    if (cv_stream_accept(&visit->stream, listener) == 0)
        cv_door_enter(&http->door, &visit->visitor, &visit->stream);
}

/* Neither a browser nor Prometheus can use a key of Conclave's own. */
static int guard(struct cv_listener *listener, const struct cv_security *security,
                 const struct cv_operations_settings *settings, struct cv_complaint *complaint)
{
    struct sockaddr_storage where;
    listener->mode = security->settings->socket_mode;
    listener->plaintext = settings->http_plaintext;
    if (strchr(settings->http, '/') || settings->http_plaintext)
        return 0;
    const int error = cv_address_parse(settings->http, &where, "[node] http", complaint);
    if (error || cv_address_is_loopback(&where))
        return error;
    if (!security->settings->certificate)
        return cv_complain(complaint,
                           "[node] http %s: expected certificates for an address off loopback: [security] ca, "
                           "certificate and private-key; or the word plaintext after it",
                           cv_brief(settings->http).text);
    listener->tls = security->clients;
    return 0;
}

int cv_http_open(struct cv_http *http, struct cv_service *service, const struct cv_settings *settings,
                 struct cv_complaint *complaint)
{
    const struct cv_operations_settings *operations = &settings->operations;
    if (!operations->http)
        return 0;
    http->service = service;
    http->door = (struct cv_door){
        .loop = service->loop, .most = MOST_VISITS, .most_each = MOST_VISITS_EACH, .patience_us = PATIENCE_US};
    http->listener.incoming = incoming;
    http->listener.context = http;
    const int error = guard(&http->listener, &service->member->security, operations, complaint);
    return error ? error : cv_listen(&http->listener, service->loop, "[node] http", operations->http, complaint);
}
