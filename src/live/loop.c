// SPDX-License-Identifier: MIT
#include "live/loop.h"

#include <assert.h>

/* Streams that are written to while others are flushed come at the end of the same round. */
static void flush_all(struct cv_loop *loop)
{
    while (loop->dirty) {
        struct cv_stream *stream = loop->dirty;
        loop->dirty = stream->next_dirty;
        stream->marked = false;
        if (!stream->closing)
            cv_stream_flush(stream);
    }
}

static void timer_fired(uv_timer_t *timer)
{
    struct cv_loop *loop = timer->data;
    loop->timer_due = UINT64_MAX;
    cv_alarms_ring(&loop->alarms, cv_loop_now());
}

/* The turn's work is done: everything goes out, then the loop waits, at most until the next alarm. */
static void before_waiting(uv_prepare_t *handle)
{
    struct cv_loop *loop = handle->data;
    flush_all(loop);
    const uint64_t next = cv_alarms_next(&loop->alarms);
    if (next == loop->timer_due)
        return;
    loop->timer_due = next;
    if (next == UINT64_MAX) {
        uv_timer_stop(&loop->timer);
        return;
    }
    const uint64_t now = cv_loop_now();
    uv_update_time(&loop->uv);
    uv_timer_start(&loop->timer, timer_fired, next > now ? (next - now + 999) / 1000 : 0, 0);
}

static void after_waiting(uv_check_t *handle)
{
    flush_all(handle->data);
}

int cv_loop_open(struct cv_loop *loop)
{
    if (uv_loop_init(&loop->uv))
        return CV_ENOMEM;
    loop->open = true;
    loop->timer_due = UINT64_MAX;
    uv_prepare_init(&loop->uv, &loop->before);
    uv_check_init(&loop->uv, &loop->after);
    uv_timer_init(&loop->uv, &loop->timer);
    uv_idle_init(&loop->uv, &loop->closer);
    loop->before.data = loop->after.data = loop->timer.data = loop->closer.data = loop;
    loop->last_ended = &loop->ended;
    uv_prepare_start(&loop->before, before_waiting);
    uv_check_start(&loop->after, after_waiting);
    return 0;
}

static void stop(uv_signal_t *handle, int signal)
{
    (void)signal;
    uv_stop(handle->loop);
}

static void hang_up(uv_signal_t *handle, int signal)
{
    const struct cv_loop *loop = handle->data;
    (void)signal;
    loop->hangup(loop->hangup_context);
}

void cv_loop_catch(struct cv_loop *loop)
{
    static const int ends[] = {SIGINT, SIGTERM};
    signal(SIGPIPE, SIG_IGN); /* a peer that has gone is told by the write */
    for (int i = 0; i < 2; i++) {
        uv_signal_init(&loop->uv, &loop->signals[i]);
        uv_signal_start(&loop->signals[i], stop, ends[i]);
    }
    if (loop->hangup) {
        uv_signal_init(&loop->uv, &loop->signals[2]);
        loop->signals[2].data = loop;
        uv_signal_start(&loop->signals[2], hang_up, SIGHUP);
    }
}

void cv_loop_run(struct cv_loop *loop)
{
    uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void cv_loop_turn(struct cv_loop *loop)
{
    uv_run(&loop->uv, UV_RUN_NOWAIT);
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (uv_is_closing(handle))
        return;
    if (handle->type == UV_TCP || handle->type == UV_NAMED_PIPE) {
        struct cv_stream *stream = handle->data;
        if (stream) { /* a listener has none */
            cv_stream_close(stream);
            return;
        }
    }
    uv_close(handle, NULL);
}

void cv_loop_close(struct cv_loop *loop)
{
    if (!loop->open)
        return;
    flush_all(loop);
    loop->ending = true;
    cv_stream_close_some(loop);
    uv_walk(&loop->uv, close_handle, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    const int left = uv_loop_close(&loop->uv);
    assert(left == 0);
    (void)left;
    loop->open = false;
}
