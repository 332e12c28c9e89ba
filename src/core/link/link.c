// SPDX-License-Identifier: MIT
#include "core/link/link.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

#define FIRST_ROOM 16384u

void cv_link_begin(struct cv_link *link, uint64_t stream)
{
    link->start = link->sent = link->end = 0;
    link->stream = stream;
    link->oldest = link->next = 1;
    link->spoken = false;
}

void cv_link_free(struct cv_link *link)
{
    free(link->log);
    *link = (struct cv_link){0};
}

/* Moves the bytes of the log to its front, or to a larger log. */
static int make_room(struct cv_link *link, size_t bytes)
{
    const size_t kept = link->end - link->start;
    if (bytes <= link->room - link->end)
        return 0;
    if (kept + bytes > CV_LINK_BYTES)
        return CV_ENOMEM;
    if (kept + bytes > link->room / 2) {
        size_t room = link->room ? link->room : FIRST_ROOM;
        while (room < 2 * (kept + bytes))
            room *= 2;
        unsigned char *log = realloc(link->log, room);
        if (!log)
            return CV_ENOMEM;
        link->log = log;
        link->room = room;
    }
    memmove(link->log, link->log + link->start, kept);
    link->sent -= link->start;
    link->start = 0;
    link->end = kept;
    return 0;
}

int cv_link_write(struct cv_link *link, struct cv_frame *frame)
{
    const size_t size = cv_frame_size(frame);
    if (make_room(link, size))
        return CV_ENOMEM;
    frame->sequence = link->next++;
    cv_frame_write(link->log + link->end, frame);
    link->end += size;
    return 0;
}

static size_t size_at(const struct cv_link *link, size_t at)
{
    uint32_t length;
    memcpy(&length, link->log + at, sizeof length);
    return sizeof length + le32toh(length);
}

struct cv_text cv_link_unsent(const struct cv_link *link, size_t most)
{
    size_t bytes = link->end - link->sent;
    if (bytes > most) {
        bytes = 0;
        do
            bytes += size_at(link, link->sent + bytes);
        while (bytes < most && bytes + size_at(link, link->sent + bytes) <= most); /* beyond, there may be no frame */
    }
    return (struct cv_text){bytes ? (const char *)link->log + link->sent : "", bytes};
}

void cv_link_sent(struct cv_link *link, size_t bytes)
{
    link->sent += bytes;
    link->spoken |= bytes > 0;
}

void cv_link_acknowledged(struct cv_link *link, uint64_t expects)
{
    while (link->oldest < expects && link->start < link->sent) {
        link->start += size_at(link, link->start);
        link->oldest++;
    }
    if (link->start == link->end)
        link->start = link->sent = link->end = 0;
}

bool cv_link_forgotten(const struct cv_link *link, const struct cv_frame *hello)
{
    return hello->heard != link->stream && link->spoken;
}

bool cv_link_outdated(const struct cv_link *link, const struct cv_frame *hello)
{
    return hello->heard == link->stream && hello->expects < link->oldest;
}

bool cv_link_greeted(struct cv_link *link, const struct cv_frame *hello)
{
    link->sent = link->end; /* so that the frames that it has can be dropped */
    if (hello->heard == link->stream)
        cv_link_acknowledged(link, hello->expects);
    link->sent = link->start;
    if (hello->stream == link->heard)
        return false;
    link->heard = hello->stream;
    link->expects = 1;
    return true;
}

bool cv_link_take(struct cv_link *link, uint64_t sequence, bool *gap)
{
    *gap = sequence > link->expects;
    if (sequence != link->expects)
        return false;
    link->expects++;
    return true;
}
