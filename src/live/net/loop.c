// SPDX-License-Identifier: MIT
#include "live/net/loop.h"

#include <assert.h>
#include <signal.h>
#include <unistd.h>

#include "live/net/heap.h"
#include "live/net/stream.h"

#define LAST_TURNS 16u /* to close everything in */
#define ANSWERS_FIRST 64u

/* ---- slices ---- */

static bool has_time(uint64_t begun_us)
{
    return cv_loop_now() - begun_us < CV_SLICE_US;
}

static bool has_output(const struct cv_loop *loop)
{
    return loop->to_clients.first || loop->to_members.first;
}

static void flush_at_most(struct cv_stream_list *list, uint32_t most)
{
    for (; list->first && most; most--) {
        struct cv_stream *stream = list->first;
        cv_stream_unmark(stream);
        cv_stream_flush(stream);
    }
}

/*
 * A write to a member wakes that member, which may take this processor: a few clients hear their answers before it.
 * Members wait for those few only, however many clients there are.
 */
static void flush_some(struct cv_loop *loop)
{
    const uint64_t begun = has_output(loop) ? cv_loop_now() : 0;
    while (has_output(loop)) {
        flush_at_most(&loop->to_clients, ANSWERS_FIRST);
        flush_at_most(&loop->to_members, UINT32_MAX);
        if (has_output(loop) && !has_time(begun))
            break;
    }
}

static void timer_fired(uv_timer_t *timer)
{
    struct cv_loop *loop = timer->data;
    const uint64_t now = cv_loop_now();
    loop->timer_due = UINT64_MAX;
    while (cv_alarms_ring_first(&loop->alarms, now) && has_time(now))
        continue;
}

void cv_loop_defer(struct cv_loop *loop, struct cv_chore *chore)
{
    if (chore->deferred)
        return;
    chore->deferred = true;
    chore->next = NULL;
    chore->previous = loop->last_chore;
    *(chore->previous ? &chore->previous->next : &loop->chores) = chore;
    loop->last_chore = chore;
}

void cv_loop_call_off(struct cv_loop *loop, struct cv_chore *chore)
{
    if (!chore->deferred)
        return;
    chore->deferred = false;
    *(chore->previous ? &chore->previous->next : &loop->chores) = chore->next;
    *(chore->next ? &chore->next->previous : &loop->last_chore) = chore->previous;
}

/* By turns: a chore that is not done waits after the others. */
static void do_chores(struct cv_loop *loop)
{
    const uint64_t begun = loop->chores ? cv_loop_now() : 0;
    while (loop->chores) {
        struct cv_chore *chore = loop->chores;
        cv_loop_call_off(loop, chore);
        chore->run(chore);
        if (!has_time(begun))
            break;
    }
}

/* Only this thread's time on the processor counts. */
static void measure(struct cv_loop *loop)
{
    struct timespec taken;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &taken);
    const uint64_t now_ns = (uint64_t)taken.tv_sec * 1000000000 + (uint64_t)taken.tv_nsec;
    const uint64_t turn_us = loop->turn_ns ? (now_ns - loop->turn_ns) / 1000 : 0;
    if (turn_us > loop->longest_turn_us)
        loop->longest_turn_us = turn_us;
    loop->turn_ns = now_ns;
}

/* ---- turns ---- */

/* When the loop has to turn again at the latest. */
static uint64_t next_turn(const struct cv_loop *loop)
{
    return has_output(loop) || loop->chores ? 0 : cv_alarms_next(&loop->alarms);
}

/* The work of this turn is done: everything goes out, then the loop waits, at most until the next alarm. */
static void before_waiting(uv_prepare_t *handle)
{
    struct cv_loop *loop = handle->data;
    do_chores(loop);
    flush_some(loop);
    if (loop->measures)
        measure(loop);
    const uint64_t next = next_turn(loop);
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
    flush_some(handle->data);
}

int cv_loop_open(struct cv_loop *loop)
{
    if (cv_heap_begin(1) || uv_loop_init(&loop->uv))
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

static void nothing(uv_work_t *work)
{
    (void)work;
}

static void without_threads(int signal)
{
    static const char line[] = "conclave: out of memory: no threads for looking up names and writing files\n";
    (void)signal;
    _exit(write(STDERR_FILENO, line, sizeof line - 1) > 0 ? 2 : 1);
}

void cv_loop_start_threads(struct cv_loop *loop)
{
    struct sigaction before, action = {.sa_handler = without_threads};
    sigaction(SIGABRT, &action, &before);
    uv_queue_work(&loop->uv, &loop->first_work, nothing, NULL);
    sigaction(SIGABRT, &before, NULL);
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
    signal(SIGPIPE, SIG_IGN); /* the write itself reports a peer that is gone */
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
    loop->running = true;
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    loop->running = false;
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
    while (has_output(loop))
        flush_some(loop);
    loop->ending = true;
    cv_stream_close_some(loop);
    uv_walk(&loop->uv, close_handle, NULL);
    /* A name server that does not answer must not keep a node from ending; its thread ends with the process. */
    for (uint32_t turns = 0; loop->lookups && turns < LAST_TURNS; turns++)
        uv_run(&loop->uv, UV_RUN_NOWAIT);
    loop->open = false;
    if (loop->lookups)
        return;
    while (uv_run(&loop->uv, UV_RUN_DEFAULT)) /* what ends may stop the loop once more */
        continue;
    const int left = uv_loop_close(&loop->uv);
    assert(left == 0);
    (void)left;
}
