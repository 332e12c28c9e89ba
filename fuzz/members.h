// SPDX-License-Identifier: MIT
/*
 * Between the members of a world: somebody who passes on what they say, remembers it, and changes what the third one,
 * the insider, says; and strangers at their doors who say that they are the insider.
 */
#ifndef CONCLAVE_FUZZ_MEMBERS_H
#define CONCLAVE_FUZZ_MEMBERS_H

#include "core/link/frame.h"
#include "fuzz/world.h"

#define PIPES 6u
#define STRANGERS 2u
#define POOL 16u
#define BUFFER 131072u
#define INSIDER 2u

/* What one end says until the other has heard it. */
struct flow {
    unsigned char *bytes;
    size_t used;
    uint32_t from; /* an index; NODES: not known yet */
};

struct pipe {
    int fd[2];
    struct flow flow[2];
};

struct stranger {
    int fd;
    uint32_t node;
    uint64_t sequence;
};

static struct pipe pipes[PIPES];
static int doors[NODES];
static struct stranger strangers[STRANGERS];
static uint32_t tampering, target; /* so many of the insider's frames of that type are changed; 0: of any */
static unsigned char *pool[POOL];  /* frames that were seen */
static size_t pool_size[POOL];
static uint32_t pool_count;
static struct cv_frame greeting; /* the insider's last */
static struct input *input;
static bool chatty; /* FUZZ_TELL: for whoever looks into a failure */
static bool honest; /* nothing was changed, cut or stopped so far */

/* The next bytes of the input as they are. */
static void speak(int *fd)
{
    size_t length = 1 + input_byte(input);
    length = length < input->left ? length : input->left;
    if (length && send(*fd, input->at, length, MSG_NOSIGNAL) < 0)
        hang_up(fd);
    input->at += length;
    input->left -= length;
}

static void remember(const unsigned char *bytes, size_t size)
{
    const uint32_t place = pool_count++ % POOL;
    free(pool[place]);
    pool[place] = fuzz_copy(bytes, size);
    pool_size[place] = size;
}

/* Another one like it: some numbers are different. The body stays where it was. */
static void distort(struct cv_frame *frame, unsigned char *body)
{
    const uint64_t number = frame->sequence;
    memcpy(body, frame->body ? frame->body : "", 4u * frame->words);
    frame->body = body;
    for (uint32_t left = 1 + input_below(input, 3); left; left--) {
        const uint8_t which = input_byte(input);
        uint64_t word = 0;
        if (which >= 128 && frame->words) {
            unsigned char *place = body + 4u * (which % frame->words);
            memcpy(&word, place, 4);
            word = input_number(input, word + 1);
            memcpy(place, &word, 4);
            continue;
        }
        uint64_t *const longs[] = {&frame->round, &frame->clock,   &frame->term,  &frame->epoch, &frame->sent_at,
                                   &frame->group, &frame->expects, &frame->heard, &frame->stream};
        uint32_t *const shorts[] = {&frame->subject,     &frame->kind,     &frame->hops,
                                    &frame->fingerprint, &frame->lease_ms, &frame->from};
        if (which < 72)
            *longs[which % 9] = input_number(input, *longs[which % 9] + 1);
        else
            *shorts[which % 6] = (uint32_t)input_number(input, *shorts[which % 6] + 1) & (which % 6 < 2 ? 255 : ~0u);
    }
    frame->sequence = number;
}

/* Another frame in its place, that the next numbered one was to have. */
static void exchange(struct cv_frame *frame)
{
    const uint32_t place = input_byte(input) % POOL;
    const uint64_t sequence = frame->sequence;
    const char *wrong;
    struct cv_frame other;
    if (!pool[place] || cv_frame_read(pool[place], pool_size[place], &other, &wrong) <= 0)
        return;
    if (cv_frame_numbered(other.type) != cv_frame_numbered(frame->type) || other.type == CV_FRAME_HELLO)
        return;
    *frame = other;
    frame->sequence = sequence;
}

static void send_frame(int *fd, const struct cv_frame *frame)
{
    unsigned char bytes[CV_FRAME_BYTES];
    if (*fd < 0 || cv_frame_size(frame) > sizeof bytes)
        return;
    cv_frame_write(bytes, frame);
    if (send(*fd, bytes, cv_frame_size(frame), MSG_NOSIGNAL) < 0)
        hang_up(fd);
}

static bool is_target(const struct flow *flow, const struct cv_frame *frame)
{
    return tampering && flow->from == INSIDER && (!target || frame->type == target);
}

/* What the insider says may be changed on its way; HELLO says who it is. */
static void pass_on(struct pipe *pipe, uint32_t end, struct cv_frame *frame, const unsigned char *bytes, size_t size)
{
    static unsigned char body[CV_FRAME_BYTES];
    struct flow *flow = &pipe->flow[end];
    if (frame->type == CV_FRAME_HELLO) {
        flow->from = frame->from - 1 < node_count ? frame->from - 1 : NODES;
        if (flow->from == INSIDER)
            greeting = *frame;
    } else {
        remember(bytes, size);
    }
    if (chatty)
        fprintf(stderr, "%llu ms: node %u says %u %u %llu%s\n", (unsigned long long)(now_ns / 1000000), flow->from + 1,
                frame->type, frame->kind, (unsigned long long)frame->sequence,
                is_target(flow, frame) ? ", changed" : "");
    if (is_target(flow, frame)) {
        tampering--;
        honest = false;
        const uint8_t way = input_byte(input);
        if (way % 16 == 0)
            return; /* it is lost */
        if (way % 4 == 1)
            exchange(frame);
        distort(frame, body);
    }
    send_frame(&pipe->fd[!end], frame);
}

static void cut(struct pipe *pipe)
{
    for (uint32_t end = 0; end < 2; end++) {
        hang_up(&pipe->fd[end]);
        pipe->flow[end].used = 0;
        pipe->flow[end].from = NODES;
    }
}

static bool pump(struct pipe *pipe, uint32_t end)
{
    struct flow *flow = &pipe->flow[end];
    if (pipe->fd[end] < 0)
        return false;
    const ssize_t count = read(pipe->fd[end], flow->bytes + flow->used, BUFFER - flow->used);
    if (count == 0 || (count < 0 && errno != EAGAIN)) {
        cut(pipe);
        return true;
    }
    if (count < 0)
        return false;
    flow->used += (size_t)count;
    size_t at = 0;
    for (long length; at < flow->used && pipe->fd[end] >= 0; at += (size_t)length) {
        struct cv_frame frame;
        const char *wrong = NULL;
        length = cv_frame_read(flow->bytes + at, flow->used - at, &frame, &wrong);
        assert(length != CV_FRAME_BROKEN); /* nodes themselves say nothing like that */
        if (length == CV_FRAME_MORE)
            break;
        pass_on(pipe, end, &frame, flow->bytes + at, (size_t)length);
    }
    if (pipe->fd[end] < 0 || pipe->fd[!end] < 0) {
        cut(pipe);
        return true;
    }
    flow->used -= at;
    memmove(flow->bytes, flow->bytes + at, flow->used);
    return true;
}

static bool accept_members(uint32_t door)
{
    bool any = false;
    for (int fd; (fd = accept4(doors[door], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0; any = true) {
        struct pipe *pipe = pipes;
        while (pipe < pipes + PIPES && pipe->fd[0] >= 0)
            pipe++;
        const int other = pipe < pipes + PIPES ? call("peers", door) : -1;
        if (other < 0) {
            hang_up(&fd);
            continue;
        }
        pipe->fd[0] = fd;
        pipe->fd[1] = other;
    }
    return any;
}

/* Somebody who says that it is the insider, or another. */
static void incoming(void)
{
    static unsigned char body[CV_FRAME_BYTES];
    const uint8_t way = input_byte(input);
    struct stranger *stranger = &strangers[way % STRANGERS];
    struct cv_frame frame = {.type = CV_FRAME_BEAT, .expects = 1, .lease_ms = 300};
    honest = false;
    if (stranger->fd < 0) {
        stranger->node = way / 2 % 2;
        stranger->fd = call("peers", stranger->node);
        stranger->sequence = 1;
        frame = greeting;
        frame.type = CV_FRAME_HELLO;
        frame.from = INSIDER + 1;
        frame.to = stranger->node + 1;
        frame.stream = frame.stream + (way & 4 ? 1 : 1ull << 32);
        if (way >= 192)
            distort(&frame, body);
        send_frame(&stranger->fd, &frame);
        return;
    }
    if (way < 64) {
        speak(&stranger->fd);
        return;
    }
    frame.sequence = stranger->sequence;
    if (way % 8) {
        frame.type = CV_FRAME_MESSAGE; /* one with a number */
        exchange(&frame);
    }
    if (frame.type == CV_FRAME_MESSAGE && !frame.body)
        return;
    distort(&frame, body);
    stranger->sequence += cv_frame_numbered(frame.type);
    send_frame(&stranger->fd, &frame);
    if (way >= 240)
        hang_up(&stranger->fd);
}

#endif
