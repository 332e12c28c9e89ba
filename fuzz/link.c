// SPDX-License-Identifier: MIT
/*
 * Links between members: whatever is cut off, said again or forged, no byte beyond the log is touched; and as long as
 * the other end keeps to the rules, it takes every frame once and in order.
 */
#include <stdio.h>

#include "core/link/link.h"
#include "fuzz/input.h"

static uint64_t frames; /* in all runs */

static void report(void)
{
    fprintf(stderr, "frames: %llu\n", (unsigned long long)frames);
}

/* Two ends, and what the second has taken of the first. */
struct pair {
    struct cv_link one, other;
    uint64_t written, taken; /* since the stream began */
    uint64_t streams;
    bool honest;
};

static void write_frame(struct pair *pair, struct input *input)
{
    unsigned char body[256];
    memset(body, (int)(pair->written & 0xff), sizeof body);
    struct cv_frame frame = {.type = CV_FRAME_MESSAGE,
                             .words = input_below(input, sizeof body / 4),
                             .round = pair->written + 1,
                             .body = body,
                             .name = {"name", input_below(input, 5)}};
    if (cv_link_write(&pair->one, &frame) == 0)
        pair->written++;
    frames++;
}

/* What is under way arrives, all or a part; a part of a frame is none. */
static void transmit(struct pair *pair, struct input *input)
{
    const struct cv_text unsent = cv_link_unsent(&pair->one, 64 + (size_t)input_raw(input) % 4096);
    assert(unsent.length <= pair->one.end - pair->one.sent);
    const size_t arrives = input_byte(input) % 4 ? unsent.length : input_raw(input) % (unsent.length + 1);
    unsigned char *copy = fuzz_copy(unsent.start, arrives);
    cv_link_sent(&pair->one, unsent.length);
    for (size_t at = 0; at < arrives;) {
        struct cv_frame frame;
        const char *wrong;
        bool gap = false;
        const long size = cv_frame_read(copy + at, arrives - at, &frame, &wrong);
        if (size <= 0) {
            assert(size == CV_FRAME_MORE);
            break;
        }
        if (cv_link_take(&pair->other, frame.sequence, &gap)) {
            pair->taken++;
            assert(!pair->honest || frame.round == pair->taken);
        }
        if (gap)
            break;
        at += (size_t)size;
    }
    free(copy);
}

static void greet(struct pair *pair, struct input *input, bool forged)
{
    struct cv_frame hello = {.type = CV_FRAME_HELLO,
                             .stream = pair->other.stream,
                             .heard = pair->other.heard,
                             .expects = pair->other.expects};
    const struct cv_frame mine = {
        .type = CV_FRAME_HELLO, .stream = pair->one.stream, .heard = pair->one.heard, .expects = pair->one.expects};
    if (forged) {
        pair->honest = false;
        hello.stream = input_number(input, hello.stream);
        hello.heard = input_number(input, pair->one.stream);
        hello.expects = input_number(input, pair->one.next);
    }
    if (cv_link_outdated(&pair->one, &hello))
        return;
    if (cv_link_forgotten(&pair->one, &hello)) {
        cv_link_begin(&pair->one, ++pair->streams << 32 | 1);
        pair->written = 0;
    }
    cv_link_greeted(&pair->one, &hello);
    if (!forged && cv_link_greeted(&pair->other, &mine))
        pair->taken = 0;
}

static void check(const struct cv_link *link)
{
    assert(link->start <= link->sent && link->sent <= link->end && link->end <= link->room);
    assert(link->oldest <= link->next);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool known;
    struct input input = {data, size};
    struct pair pair = {.honest = true, .streams = 1};
    if (!known)
        atexit(report);
    known = true;
    cv_link_begin(&pair.one, 1);
    cv_link_begin(&pair.other, 2);
    greet(&pair, &input, false);
    while (input.left) {
        switch (input_below(&input, 8)) {
        case 0:
            transmit(&pair, &input);
            break;
        case 1:
            cv_link_acknowledged(&pair.one, pair.other.expects);
            break;
        case 2:
            greet(&pair, &input, false);
            break;
        case 3:
            if (input_byte(&input) % 8 == 0)
                greet(&pair, &input, true);
            break;
        case 4:
            if (input_byte(&input) % 8 == 0) {
                pair.honest = false;
                cv_link_acknowledged(&pair.one, input_number(&input, pair.one.next));
            }
            break;
        default:
            write_frame(&pair, &input);
        }
        check(&pair.one);
        check(&pair.other);
    }
    cv_link_free(&pair.one);
    cv_link_free(&pair.other);
    return 0;
}
