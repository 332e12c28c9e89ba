// SPDX-License-Identifier: MIT
#include "live/net/stream.h"

#include <stdlib.h>
#include <string.h>

#include "live/net/listen.h"
#include "live/net/tls_stream.h"

#define FIRST_INPUT 4096u
#define CLOSED_EACH_TURN 64u

/* ---- input ---- */

static bool grow_input(struct cv_stream *stream)
{
    size_t room = stream->in_room ? 2 * stream->in_room : FIRST_INPUT;
    if (room > stream->in_most)
        room = stream->in_most;
    char *in = room > stream->in_room ? realloc(stream->in, room) : NULL;
    if (!in)
        return false;
    stream->in = in;
    stream->in_room = room;
    return true;
}

bool cv_stream_make_room(struct cv_stream *stream)
{
    return stream->in_used < stream->in_room || grow_input(stream);
}

void cv_stream_overflows(struct cv_stream *stream)
{
    if (stream->in_used < stream->in_most)
        cv_stream_close(stream);
    else
        cv_stream_pause(stream);
}

static void offer_room(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    struct cv_stream *stream = handle->data;
    (void)wanted;
    if (stream->tls) {
        *buffer = uv_buf_init(stream->loop->cipher, sizeof stream->loop->cipher);
        return;
    }
    if (!cv_stream_make_room(stream)) {
        *buffer = uv_buf_init(NULL, 0); /* told by UV_ENOBUFS */
        return;
    }
    *buffer = uv_buf_init(stream->in + stream->in_used, (unsigned)(stream->in_room - stream->in_used));
}

static void bytes_came(uv_stream_t *handle, ssize_t count, const uv_buf_t *buffer)
{
    struct cv_stream *stream = handle->data;
    (void)buffer;
    if (count == UV_ENOBUFS) {
        cv_stream_overflows(stream);
    } else if (count < 0) {
        cv_stream_close(stream);
    } else if (count > 0 && stream->tls) {
        stream_decipher(stream, (size_t)count);
    } else if (count > 0) {
        stream->in_used += (size_t)count;
        stream->calls->received(stream);
    }
}

void cv_stream_take(struct cv_stream *stream, size_t length)
{
    stream->in_used -= length;
    if (stream->in_used)
        memmove(stream->in, stream->in + length, stream->in_used);
}

void cv_stream_pause(struct cv_stream *stream)
{
    if (stream->reading)
        uv_read_stop(&stream->uv.stream);
    stream->reading = false;
}

void cv_stream_resume(struct cv_stream *stream)
{
    if (!stream->reading && !stream->closing)
        stream->reading = uv_read_start(&stream->uv.stream, offer_room, bytes_came) == 0;
    if (stream->tls && stream->established && !stream->closing) {
        stream->hungry = true;
        cv_stream_mark(stream);
    }
}

/* ---- output ---- */

static struct cv_stream_list *list_of(struct cv_stream *stream)
{
    return stream->to_member ? &stream->loop->to_members : &stream->loop->to_clients;
}

void cv_stream_mark(struct cv_stream *stream)
{
    if (stream->marked || stream->closing)
        return;
    struct cv_stream_list *list = list_of(stream);
    stream->marked = true;
    stream->previous = list->last;
    stream->next = NULL;
    *(list->last ? &list->last->next : &list->first) = stream;
    list->last = stream;
}

void cv_stream_unmark(struct cv_stream *stream)
{
    struct cv_stream_list *list = list_of(stream);
    if (!stream->marked)
        return;
    stream->marked = false;
    *(stream->previous ? &stream->previous->next : &list->first) = stream->next;
    *(stream->next ? &stream->next->previous : &list->last) = stream->previous;
}

static void written(uv_write_t *request, int status)
{
    struct cv_stream *stream = request->data;
    stream->writing = false;
    if (stream->closing)
        return;
    if (status < 0)
        cv_stream_close(stream);
    else
        cv_stream_mark(stream);
}

static bool keep_pending(struct cv_stream *stream, const char *bytes, size_t length)
{
    if (length > stream->pending_room) {
        char *pending = realloc(stream->pending, length);
        if (!pending)
            return false;
        stream->pending = pending;
        stream->pending_room = length;
    }
    memcpy(stream->pending, bytes, length);
    return true;
}

size_t cv_stream_write(struct cv_stream *stream, const void *bytes, size_t length)
{
    if (stream->writing || stream->closing || !length)
        return 0;
    return stream->tls ? stream_encipher(stream, bytes, length) : cv_stream_write_plain(stream, bytes, length);
}

void cv_stream_flush(struct cv_stream *stream)
{
    if (stream->tls)
        stream_catch_up(stream);
    if (!stream->closing)
        stream->calls->flush(stream);
}

size_t cv_stream_write_plain(struct cv_stream *stream, const void *bytes, size_t length)
{
    const uv_buf_t buffer = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)length);
    const int sent = uv_try_write(&stream->uv.stream, &buffer, 1);
    if (sent < 0 && sent != UV_EAGAIN) {
        cv_stream_close(stream);
        return 0;
    }
    const size_t gone = sent < 0 ? 0 : (size_t)sent;
    if (gone == length)
        return length;
    stream->write.data = stream;
    uv_buf_t rest;
    if (!keep_pending(stream, (const char *)bytes + gone, length - gone)) {
        cv_stream_close(stream);
        return 0;
    }
    rest = uv_buf_init(stream->pending, (unsigned)(length - gone));
    if (uv_write(&stream->write, &stream->uv.stream, &rest, 1, written))
        cv_stream_close(stream);
    else
        stream->writing = true;
    return length;
}

void cv_stream_limit_output(struct cv_stream *stream, uint32_t bytes)
{
    int size = (int)bytes;
    if (!stream->closing)
        uv_send_buffer_size(&stream->uv.handle, &size); /* as it is if the system refuses */
}

/* ---- opening and closing ---- */

static void handle_closed(uv_handle_t *handle)
{
    struct cv_stream *stream = handle->data;
    free(stream->in);
    free(stream->pending);
    stream->in = stream->pending = NULL;
    stream->in_used = stream->in_room = stream->pending_room = 0;
    struct cv_tls *tls = stream->tls; /* its owner may ask why it ended */
    stream->calls->closed(stream);
    cv_tls_free(tls);
}

/*
 * Thousands of streams may end in the same turn of the loop, and their owners have to clean up. So a few are closed in
 * every turn, and the loop is late for nothing else.
 */
void cv_stream_close_some(struct cv_loop *loop)
{
    uint32_t left = loop->ending ? UINT32_MAX : CLOSED_EACH_TURN;
    for (; loop->ended && left; left--) {
        struct cv_stream *stream = loop->ended;
        loop->ended = stream->next;
        uv_close(&stream->uv.handle, handle_closed);
    }
    if (loop->ended)
        return;
    loop->last_ended = &loop->ended;
    uv_idle_stop(&loop->closer);
}

static void close_some(uv_idle_t *handle)
{
    cv_stream_close_some(handle->data);
}

void cv_stream_close(struct cv_stream *stream)
{
    struct cv_loop *loop = stream->loop;
    if (stream->closing)
        return;
    cv_stream_unmark(stream);
    cv_stream_pause(stream);
    stream->closing = true;
    if (loop->ending) {
        uv_close(&stream->uv.handle, handle_closed);
        return;
    }
    stream->next = NULL;
    *loop->last_ended = stream;
    loop->last_ended = &stream->next;
    uv_idle_start(&loop->closer, close_some);
}

int cv_stream_accept(struct cv_stream *stream, struct cv_listener *listener)
{
    struct cv_loop *loop = stream->loop = listener->loop;
    const bool tcp = listener->uv.handle.type == UV_TCP;
    if (tcp)
        uv_tcp_init(&loop->uv, &stream->uv.tcp);
    else
        uv_pipe_init(&loop->uv, &stream->uv.pipe, 0);
    stream->uv.handle.data = stream;
    const int error = cv_listener_accept(listener, &stream->uv.stream);
    if (error || (tcp && listener->tls && !stream_secure(stream, listener->tls, NULL, true))) {
        cv_stream_close(stream);
        return CV_EFILE;
    }
    if (tcp)
        uv_tcp_nodelay(&stream->uv.tcp, 1);
    cv_stream_resume(stream);
    return 0;
}

static void connect_done(uv_connect_t *request, int status)
{
    struct cv_stream *stream = request->data;
    if (stream->closing)
        return;
    if (status == 0) {
        uv_tcp_nodelay(&stream->uv.tcp, 1);
        cv_stream_resume(stream);
    }
    if (status == 0 && stream->tls)
        stream_shake_hands(stream); /* connected once that is done */
    else
        stream->calls->connected(stream, status);
}

int cv_stream_connect(struct cv_stream *stream, struct cv_loop *loop, const struct sockaddr *address)
{
    stream->loop = loop;
    uv_tcp_init(&loop->uv, &stream->uv.tcp);
    stream->uv.handle.data = stream;
    stream->connect.data = stream;
    if (uv_tcp_connect(&stream->connect, &stream->uv.tcp, address, connect_done)) {
        cv_stream_close(stream);
        return CV_EFILE;
    }
    return 0;
}
