// SPDX-License-Identifier: MIT
#include "core/link/frame.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#define MAGIC 0x434c434eu /* "NCLC" on the wire */
#define LENGTH_BYTES 4u
#define HELLO_BYTES 85u
#define RULES_BYTES 8u /* more of a greeting by a node that tells its rules */
#define BEAT_BYTES 41u
#define GRANT_BYTES 21u
#define HEAD_BYTES 40u

/* ---- numbers ---- */

static unsigned char *put(unsigned char *at, uint64_t number, size_t bytes)
{
    const uint64_t little = htole64(number);
    memcpy(at, &little, bytes);
    return at + bytes;
}

static uint64_t get(const unsigned char **at, size_t bytes)
{
    uint64_t little = 0;
    memcpy(&little, *at, bytes);
    *at += bytes;
    return le64toh(little);
}

/* ---- writing ---- */

size_t cv_frame_size(const struct cv_frame *frame)
{
    if (frame->type == CV_FRAME_HELLO)
        return LENGTH_BYTES + HELLO_BYTES + (frame->rules ? RULES_BYTES : 0);
    if (frame->type == CV_FRAME_BEAT)
        return LENGTH_BYTES + BEAT_BYTES;
    if (frame->type == CV_FRAME_GRANT)
        return LENGTH_BYTES + GRANT_BYTES;
    return LENGTH_BYTES + HEAD_BYTES + frame->name.length + (size_t)frame->words * 4;
}

static void write_head(unsigned char *at, const struct cv_frame *frame)
{
    at = put(at, frame->subject, 1);
    at = put(at, frame->kind, 1);
    at = put(at, 0, 1);
    at = put(at, frame->name.length, 2);
    at = put(at, frame->hops < UINT16_MAX ? frame->hops : UINT16_MAX, 2);
    at = put(at, frame->fingerprint, 4);
    at = put(at, frame->words, 4);
    at = put(at, frame->sequence, 8);
    at = put(at, frame->round, 8);
    at = put(at, frame->clock, 5);
    at = put(at, frame->given, 3);
    if (frame->name.length)
        memcpy(at, frame->name.start, frame->name.length);
    at += frame->name.length;
    if (frame->words)
        memcpy(at, frame->body, (size_t)frame->words * 4);
}

/* The part of a greeting about the sender's group and directory. */
static void write_sender(unsigned char *at, const struct cv_frame *frame)
{
    at = put(at, frame->mode, 1);
    at = put(at, frame->refusal, 1);
    at = put(at, frame->founds, 1);
    at = put(at, 0, 1);
    at = put(at, frame->directory, 4);
    at = put(at, frame->starts, 4);
    at = put(at, frame->members, 8);
    at = put(at, frame->stored, 8);
    if (frame->rules)
        put(at, frame->rules, RULES_BYTES);
}

void cv_frame_write(unsigned char *bytes, const struct cv_frame *frame)
{
    const size_t size = cv_frame_size(frame);
    assert(size <= CV_FRAME_BYTES && frame->name.length <= CV_FRAME_NAME_BYTES);
    unsigned char *at = put(bytes, size - LENGTH_BYTES, 4);
    at = put(at, frame->type, 1);
    switch (frame->type) {
    case CV_FRAME_HELLO:
        at = put(at, MAGIC, 4);
        at = put(at, CV_FRAME_VERSION, 4);
        at = put(at, frame->group, 8);
        at = put(at, frame->from, 4);
        at = put(at, frame->to, 4);
        at = put(at, frame->stream, 8);
        at = put(at, frame->heard, 8);
        at = put(at, frame->expects, 8);
        write_sender(put(at, frame->hung, 8), frame);
        break;
    case CV_FRAME_BEAT:
        at = put(at, frame->expects, 8);
        at = put(at, frame->term, 8);
        at = put(at, frame->epoch, 8);
        at = put(at, frame->sent_at, 8);
        at = put(at, frame->lease_ms, 4);
        put(at, frame->drift_ppm, 4);
        break;
    case CV_FRAME_GRANT:
        at = put(at, frame->epoch, 8);
        at = put(at, frame->sent_at, 8);
        put(at, frame->lease_ms, 4);
        break;
    default:
        write_head(at, frame);
    }
}

/* ---- reading ---- */

static long broken(const char **wrong, const char *why)
{
    *wrong = why;
    return CV_FRAME_BROKEN;
}

static bool read_hello(const unsigned char *at, size_t length, struct cv_frame *frame)
{
    const uint64_t magic = get(&at, 4), version = get(&at, 4);
    frame->group = get(&at, 8);
    frame->from = (uint32_t)get(&at, 4);
    frame->to = (uint32_t)get(&at, 4);
    frame->stream = get(&at, 8);
    frame->heard = get(&at, 8);
    frame->expects = get(&at, 8);
    frame->hung = get(&at, 8);
    frame->mode = (uint32_t)get(&at, 1);
    frame->refusal = (uint32_t)get(&at, 1);
    const uint64_t founds = get(&at, 1), nothing = get(&at, 1);
    frame->founds = founds != 0;
    frame->directory = (uint32_t)get(&at, 4);
    frame->starts = (uint32_t)get(&at, 4);
    frame->members = get(&at, 8);
    frame->stored = get(&at, 8);
    frame->rules = length > HELLO_BYTES ? get(&at, RULES_BYTES) : 0;
    if (founds > 1 || nothing || (length > HELLO_BYTES && !frame->rules))
        return false; /* there is one way to write a greeting */
    return magic == MAGIC && version == CV_FRAME_VERSION && frame->stream;
}

static bool read_head(const unsigned char *at, size_t length, struct cv_frame *frame)
{
    if (length < HEAD_BYTES)
        return false;
    frame->subject = (uint32_t)get(&at, 1);
    frame->kind = (uint32_t)get(&at, 1);
    get(&at, 1);
    frame->name.length = get(&at, 2);
    frame->hops = (uint32_t)get(&at, 2);
    frame->fingerprint = (uint32_t)get(&at, 4);
    frame->words = (uint32_t)get(&at, 4);
    frame->sequence = get(&at, 8);
    frame->round = get(&at, 8);
    frame->clock = get(&at, 5);
    frame->given = (uint32_t)get(&at, 3);
    frame->name.start = (const char *)at;
    frame->body = at + frame->name.length;
    return frame->name.length <= CV_FRAME_NAME_BYTES &&
           length == HEAD_BYTES + frame->name.length + (size_t)frame->words * 4;
}

/* The greeting of every version begins like this. 0: it is of this version, or not all there, or none. */
static uint32_t other_version(const unsigned char *at, size_t left)
{
    const uint64_t magic = left >= 8 ? get(&at, 4) : 0, version = left >= 8 ? get(&at, 4) : 0;
    return magic == MAGIC && version != CV_FRAME_VERSION ? (uint32_t)version : 0;
}

long cv_frame_read(const void *bytes, size_t length, struct cv_frame *frame, const char **wrong)
{
    const unsigned char *at = bytes;
    if (length < LENGTH_BYTES + 1)
        return CV_FRAME_MORE;
    const size_t size = get(&at, LENGTH_BYTES);
    *frame = (struct cv_frame){.type = (uint32_t)get(&at, 1)};
    if (size > CV_FRAME_BYTES - LENGTH_BYTES)
        return broken(wrong, "a frame that is too long");
    if (frame->type == 0 || frame->type >= CV_FRAME_TYPES)
        return broken(wrong, "a frame of no known type");
    if (frame->type == CV_FRAME_HELLO && (frame->version = other_version(at, length - LENGTH_BYTES - 1)))
        return broken(wrong, "a greeting of another version of the protocol");
    if ((frame->type == CV_FRAME_HELLO && size != HELLO_BYTES && size != HELLO_BYTES + RULES_BYTES) ||
        (frame->type == CV_FRAME_BEAT && size != BEAT_BYTES) || (frame->type == CV_FRAME_GRANT && size != GRANT_BYTES))
        return broken(wrong, "a frame of the wrong length");
    if (length - LENGTH_BYTES < size)
        return CV_FRAME_MORE;
    if (frame->type == CV_FRAME_HELLO) {
        if (!read_hello(at, size, frame))
            return broken(wrong, "a greeting of another protocol");
    } else if (frame->type == CV_FRAME_BEAT) {
        frame->expects = get(&at, 8);
        frame->term = get(&at, 8);
        frame->epoch = get(&at, 8);
        frame->sent_at = get(&at, 8);
        frame->lease_ms = (uint32_t)get(&at, 4);
        frame->drift_ppm = (uint32_t)get(&at, 4);
    } else if (frame->type == CV_FRAME_GRANT) {
        frame->epoch = get(&at, 8);
        frame->sent_at = get(&at, 8);
        frame->lease_ms = (uint32_t)get(&at, 4);
    } else if (!read_head(at, size, frame)) {
        return broken(wrong, "a frame whose parts do not fit its length");
    }
    return (long)(LENGTH_BYTES + size);
}

uint64_t cv_frame_number(const struct cv_frame *frame, uint32_t index)
{
    const unsigned char *at = (const unsigned char *)frame->body + (size_t)index * 8;
    return (size_t)(index + 1) * 2 <= frame->words ? get(&at, 8) : 0;
}
