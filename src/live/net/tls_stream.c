// SPDX-License-Identifier: MIT
#include "live/net/tls_stream.h"

#include "live/net/stream.h"

bool stream_secure(struct cv_stream *stream, struct cv_tls_context *context, const char *host, bool accepts)
{
    stream->tls = cv_tls_new(context, host, accepts);
    stream->dialled = !accepts;
    return stream->tls != NULL;
}

/* Bytes of TLS itself go out at once, unless others are on their way: then they wait for the next flush. */
static void send_cipher(struct cv_stream *stream)
{
    const struct cv_text cipher = cv_tls_unsent(stream->tls);
    if (cipher.length && !stream->writing && !stream->closing)
        cv_tls_sent(stream->tls, cv_stream_write_plain(stream, cipher.start, cipher.length));
}

static void greet_owner(struct cv_stream *stream)
{
    stream->established = true;
    if (stream->dialled)
        stream->calls->connected(stream, 0);
    else if (stream->calls->admitted && !stream->calls->admitted(stream))
        cv_stream_close(stream);
}

/* Reads as much as there is room for, while the owner wants to read. The rest stays where it is, and nothing more is
 * read from the network meanwhile. */
static void read_plain(struct cv_stream *stream)
{
    while (!stream->closing && stream->reading) {
        if (!cv_stream_make_room(stream)) {
            cv_stream_overflows(stream);
            break;
        }
        const long count = cv_tls_read(stream->tls, stream->in + stream->in_used, stream->in_room - stream->in_used);
        if (count == CV_TLS_BROKEN) {
            send_cipher(stream); /* the alert says why */
            cv_stream_close(stream);
        } else if (!stream->established && cv_tls_established(stream->tls)) {
            send_cipher(stream);
            greet_owner(stream);
        } else if (count == 0) {
            break;
        } else {
            stream->in_used += (size_t)count;
            stream->calls->received(stream);
        }
    }
    send_cipher(stream);
}

void stream_shake_hands(struct cv_stream *stream)
{
    read_plain(stream);
}

void stream_decipher(struct cv_stream *stream, size_t length)
{
    if (cv_tls_feed(stream->tls, stream->loop->cipher, length))
        read_plain(stream);
    else
        cv_stream_close(stream);
}

size_t stream_encipher(struct cv_stream *stream, const void *bytes, size_t length)
{
    if (!stream->established)
        return 0;
    if (!cv_tls_write(stream->tls, bytes, length)) {
        cv_stream_close(stream);
        return 0;
    }
    send_cipher(stream);
    return length;
}

void stream_catch_up(struct cv_stream *stream)
{
    if (stream->hungry) {
        stream->hungry = false;
        read_plain(stream);
    } else {
        send_cipher(stream);
    }
}
