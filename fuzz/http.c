// SPDX-License-Identifier: MIT
/* HTTP requests, in pieces of any size: one answer each, well formed, and nothing after it is listened to. */
#include "fuzz/fuzz.h"
#include "live/net/listen.h"
#include "live/net/stream.h"

/* The parser lies in here; what it needs of the rest of the node is played below. */
#include "service/http/http.c" /* NOLINT(bugprone-suspicious-include) */

static char said[1 << 16];
static size_t said_length;

void cv_stream_mark(struct cv_stream *stream)
{
    stream->marked = true;
}

void cv_stream_close(struct cv_stream *stream)
{
    stream->closing = true;
}

void cv_stream_take(struct cv_stream *stream, size_t length)
{
    assert(length <= stream->in_used);
    stream->in_used -= length;
}

size_t cv_stream_write(struct cv_stream *stream, const void *bytes, size_t length)
{
    (void)stream;
    assert(length <= sizeof said);
    memcpy(said, bytes, length);
    said_length = length;
    return length;
}

bool cv_health(const struct cv_service *service, char why[CV_HEALTH_BYTES])
{
    (void)service;
    strcpy(why, "no majority");
    return false;
}

void metrics_write(FILE *file, const struct cv_service *service)
{
    (void)service;
    fputs("conclave_can_grant 0\n", file);
}

/* What would follow the head of /events is not asked for. */

const char page_html[] = "<!doctype html>\n", page_policy[] = "Content-Security-Policy: default-src 'none'\r\n";

bool page_join(struct page *page, struct page_reader *reader, struct cv_stream *stream, struct cv_visitor *visitor)
{
    (void)page, (void)visitor;
    reader->stream = stream;
    return true;
}

void page_flush(struct page_reader *reader)
{
    assert(reader->stream);
}

void page_leave(struct page *page, struct page_reader *reader)
{
    (void)page, (void)reader;
}

void page_reconsider(struct page *page)
{
    (void)page;
}

int page_open(struct page *page, struct cv_service *service)
{
    (void)page, (void)service;
    return 0;
}

/* Nobody connects here. */

bool cv_address_host(const char *text, char host[CV_HOST_BYTES])
{
    (void)text;
    *host = '\0';
    return true;
}

int cv_listen(struct cv_listener *listener, struct cv_loop *loop, const char *what, const char *address,
              struct cv_complaint *complaint)
{
    (void)listener, (void)loop, (void)what, (void)address, (void)complaint;
    return 0;
}

int cv_address_parse(const char *text, struct sockaddr_storage *address, const char *what,
                     struct cv_complaint *complaint)
{
    (void)text, (void)address, (void)what, (void)complaint;
    return 0;
}

bool cv_address_is_loopback(const struct sockaddr_storage *address)
{
    (void)address;
    return true;
}

bool cv_door_accept(struct cv_door *door, struct cv_listener *listener, struct cv_visitor *visitor,
                    struct cv_stream *stream)
{
    (void)door, (void)listener, (void)visitor, (void)stream;
    return true;
}

void cv_door_leave(struct cv_visitor *visitor)
{
    (void)visitor;
}

const char *cv_tls_identity(const struct cv_tls *tls)
{
    (void)tls;
    return "";
}

static void check_answer(bool events)
{
    const char *body = memmem(said, said_length, "\r\n\r\n", 4);
    const char *length = memmem(said, said_length, "Content-Length: ", 16);
    assert(said_length > 15 && memcmp(said, "HTTP/1.1 ", 9) == 0 && body && !length == events);
    if (events)
        return;
    const size_t rest = said_length - (size_t)(body + 4 - said);
    assert(rest == 0 || rest == strtoul(length + 16, NULL, 10));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_http http = {.service = NULL};
    struct visit visit = {.http = &http, .stream.uv.handle.type = size % 2 ? UV_TCP : UV_NAMED_PIPE};
    struct cv_stream *stream = &visit.stream;
    const size_t step = size ? data[0] % 64 + 1 : 1;
    uint32_t answers = 0;
    said_length = 0;
    char in[REQUEST_BYTES];
    stream->in = in;
    stream->in_most = REQUEST_BYTES;
    for (size_t at = 0; at < size && !stream->closing;) {
        size_t some = size - at < step ? size - at : step;
        some = REQUEST_BYTES - stream->in_used < some ? REQUEST_BYTES - stream->in_used : some;
        if (!some)
            break;
        memcpy(in + stream->in_used, data + at, some);
        stream->in_used += some;
        at += some;
        received(stream);
        if (stream->marked) {
            stream->marked = false;
            flush(stream);
            answers++;
            check_answer(visit.reader.stream);
        }
    }
    assert(answers <= 1);
    free(visit.answer);
    return 0;
}
