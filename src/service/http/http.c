// SPDX-License-Identifier: MIT
#include "service/http/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/net/listen.h"
#include "live/net/stream.h"
#include "live/net/tls_stream.h"
#include "live/settings/settings_operations.h"
#include "service/health.h"
#include "service/http/http_request.h"
#include "service/http/metrics.h"

#define REQUEST_BYTES 8192u
#define PATIENCE_US 5000000u
#define MOST_VISITS 64u
#define MOST_VISITS_EACH 32u

struct visit {
    struct cv_stream stream; /* first */
    struct cv_visitor visitor;
    struct cv_http *http;
    struct page_reader reader;
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
    const char *fields; /* more of them; NULL: none */
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

static void tell_page(struct reply *reply, const struct cv_service *service)
{
    (void)service;
    *reply = (struct reply){.code = 200,
                            .reason = "OK",
                            .type = "text/html; charset=utf-8",
                            .fields = page_policy,
                            .body = strdup(page_html)};
    if (reply->body)
        reply->length = strlen(reply->body);
    else
        say(reply, 503, "Service Unavailable", "no memory");
}

/* HEAD alone comes here: it hears what GET would be told, and no event. */
static void tell_events(struct reply *reply, const struct cv_service *service)
{
    (void)service;
    *reply = (struct reply){.code = 200, .reason = "OK", .type = "text/event-stream"};
}

static const struct page_entry {
    const char *path;
    void (*tell)(struct reply *reply, const struct cv_service *service);
    bool guarded; /* it tells names: only requests that mean this node may read it */
} pages[] = {{"/", tell_page, true},
             {"/events", tell_events, true},
             {"/metrics", tell_metrics, false},
             {"/healthz", tell_health, false}};

static const struct page_entry *find_page(struct cv_text path)
{
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (cv_text_is(path, pages[i].path))
            return &pages[i];
    return NULL;
}

/* On every answer: a browser takes it for nothing else, and shows it to no other site. */
#define GUARDS                                                                                                         \
    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"                   \
    "Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n"

static void send_reply(struct visit *visit, struct reply *reply, bool head_only)
{
    char *head = NULL;
    const int length = asprintf(&head, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s%s" GUARDS,
                                reply->code, reply->reason, reply->type, reply->length,
                                reply->code == 405 ? "Allow: GET, HEAD\r\n" : "", reply->fields ? reply->fields : "");
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

/* The answer has no end: snapshots follow it. */
static bool begin_events(struct visit *visit)
{
    static const char head[] =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Accel-Buffering: no\r\n" GUARDS "retry: 2000\n\n";
    visit->answer = strdup(head);
    if (!visit->answer || !page_join(&visit->http->page, &visit->reader, &visit->stream, &visit->visitor)) {
        free(visit->answer);
        visit->answer = NULL;
        return false;
    }
    visit->length = sizeof head - 1;
    visit->answered = true;
    cv_stream_mark(&visit->stream);
    return true;
}

/* By TLS the certificate tells a browser which node it speaks with, and no page reaches a Unix socket. */
static bool is_meant(const struct visit *visit, const struct http_request *request)
{
    const bool open = visit->stream.uv.handle.type == UV_TCP && !visit->stream.tls;
    return !open || http_request_is_for(request, visit->http->host);
}

static void answer(struct visit *visit, struct cv_text text)
{
    struct http_request request;
    struct reply reply;
    const bool sound = http_request_read(&request, text);
    const bool head_only = sound && cv_text_is(request.method, "HEAD");
    const struct page_entry *page = sound ? find_page(request.path) : NULL;
    if (!sound)
        say(&reply, 400, "Bad Request", "expected GET PATH HTTP/1.1");
    else if (!head_only && !cv_text_is(request.method, "GET"))
        say(&reply, 405, "Method Not Allowed", "expected GET or HEAD");
    else if (!page)
        say(&reply, 404, "Not Found", "expected /, /metrics or /healthz");
    else if (page->guarded && !is_meant(visit, &request))
        say(&reply, 421, "Misdirected Request",
            "expected an address, localhost, the name of this machine or the one in [node] http as the host");
    else if (page->tell == tell_events && http_request_is_foreign(&request))
        say(&reply, 403, "Forbidden", "expected a request of this node's own page");
    else if (page->tell != tell_events || head_only)
        page->tell(&reply, visit->http->service);
    else if (begin_events(visit))
        return;
    else
        say(&reply, 503, "Service Unavailable", "no memory");
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
    if (visit->reader.stream) {
        cv_stream_close(stream); /* no browser says anything while it listens */
        return;
    }
    if (!visit->answered && is_complete(visit)) {
        answer(visit, (struct cv_text){stream->in, stream->in_used});
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
    if (visit->reader.stream && !visit->length)
        page_flush(&visit->reader);
    else if (visit->answered && !visit->length && !stream->writing && !stream->closing)
        cv_stream_close(stream);
}

static void closed(struct cv_stream *stream)
{
    struct visit *visit = visit_of(stream);
    cv_door_leave(&visit->visitor);
    page_leave(&visit->http->page, &visit->reader);
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
    if (!visit)
        return;
    visit->http = http;
    visit->stream.calls = &calls;
    visit->stream.in_most = REQUEST_BYTES;
    if (!cv_door_accept(&http->door, listener, &visit->visitor, &visit->stream))
        free(visit);
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

/* Where a browser finds the page; "" if that is a Unix socket. */
static void tell_address(struct cv_http *http, struct cv_service *service, const char *address)
{
    if (strchr(address, '/') || !cv_address_host(address, http->host))
        return;
    snprintf(http->address, sizeof http->address, "%s://%s%s/", http->listener.tls ? "https" : "http",
             *http->host ? "" : "127.0.0.1", address);
    service->page = http->address;
}

void cv_http_reconsider(struct cv_http *http)
{
    if (http->service)
        page_reconsider(&http->page);
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
    int error = guard(&http->listener, &service->member->security, operations, complaint);
    if (!error)
        error = page_open(&http->page, service);
    if (!error)
        error = cv_listen(&http->listener, service->loop, "[node] http", operations->http, complaint);
    if (!error)
        tell_address(http, service, operations->http);
    return error;
}
