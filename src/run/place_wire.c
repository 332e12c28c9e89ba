// SPDX-License-Identifier: MIT
#include "run/place_wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/error.h"
#include "run/process.h"

#define MOST_BYTES ((uint64_t)1 << 36)
#define READ_BYTES ((size_t)64 << 10)

void place_hello_make(struct place_hello *hello)
{
    struct utsname machine;
    char client[64], server[64] = "";
    const char *connection = getenv("SSH_CONNECTION"); /* client, its port, server, its port */
    *hello = (struct place_hello){.abi = CV_ABI};
    snprintf(hello->version, sizeof hello->version, "%s", CONCLAVE_VERSION);
    if (uname(&machine) == 0)
        snprintf(hello->machine, sizeof hello->machine, "%.31s", machine.machine);
    if (connection && sscanf(connection, "%63s %*s %63s", client, server) == 2)
        snprintf(hello->address, sizeof hello->address, "%s", server);
    hello->layout = (uint32_t)(sizeof(struct packet) + 7 * sizeof(struct log_record) + 49 * sizeof(struct control) +
                               343 * sizeof(struct place_setup));
}

/* ---- writing ---- */

static bool write_some(const struct place_wire *wire, const unsigned char *bytes, size_t count)
{
    while (count) {
        struct pollfd ready = {.fd = wire->out, .events = POLLOUT};
        if (wire->bounded && poll(&ready, 1, (int)PLACE_PATIENCE_S * 1000) == 0)
            return false;
        const ssize_t written =
            wire->bounded ? send(wire->out, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT) : write(wire->out, bytes, count);
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (written > 0) {
            bytes += written;
            count -= (size_t)written;
            if (!wire->bounded)
                alarm(PLACE_PATIENCE_S); /* a place that gets on lives on: see run/place_agent.c */
        }
    }
    return true;
}

bool place_send(struct place_wire *wire, enum place_message type, uint32_t slot, uint32_t number,
                const struct iovec *pieces, int count)
{
    struct place_frame frame = {.magic = PLACE_MAGIC, .type = (uint16_t)type, .slot = slot, .number = number};
    for (int i = 0; i < count; i++)
        frame.bytes += pieces[i].iov_len;
    bool well = !wire->ended && write_some(wire, (const void *)&frame, sizeof frame);
    for (int i = 0; i < count && well; i++)
        well = write_some(wire, pieces[i].iov_base, pieces[i].iov_len);
    wire->ended |= !well;
    return well;
}

bool place_send_bytes(struct place_wire *wire, enum place_message type, uint32_t slot, uint32_t number,
                      const void *bytes, size_t count)
{
    const struct iovec piece = {(void *)(uintptr_t)bytes, count};
    return place_send(wire, type, slot, number, &piece, count ? 1 : 0);
}

/* ---- reading ---- */

static void make_room(struct place_wire *wire)
{
    if (wire->taken) {
        memmove(wire->bytes, wire->bytes + wire->taken, wire->used - wire->taken);
        wire->used -= wire->taken;
        wire->taken = 0;
    }
    if (wire->room - wire->used >= READ_BYTES)
        return;
    const size_t room = 2 * wire->room + READ_BYTES;
    unsigned char *larger = realloc(wire->bytes, room);
    if (!larger)
        cv_out_of_memory(2);
    wire->bytes = larger;
    wire->room = room;
}

void place_read(struct place_wire *wire, int timeout_ms)
{
    struct pollfd ready = {.fd = wire->in, .events = POLLIN};
    if (wire->ended || poll(&ready, 1, timeout_ms) <= 0)
        return;
    make_room(wire);
    const ssize_t got = read(wire->in, wire->bytes + wire->used, wire->room - wire->used);
    if (got > 0)
        wire->used += (size_t)got;
    else if (got == 0 || (errno != EINTR && errno != EAGAIN))
        wire->ended = true;
}

bool place_is_foreign(const struct place_wire *wire)
{
    const uint32_t magic = PLACE_MAGIC;
    const size_t left = wire->used - wire->taken, seen = left < sizeof magic ? left : sizeof magic;
    return seen && memcmp(wire->bytes + wire->taken, &magic, seen) != 0;
}

bool place_next(struct place_wire *wire, struct place_frame *frame, const unsigned char **content)
{
    const size_t left = wire->used - wire->taken;
    if (left < sizeof *frame || place_is_foreign(wire))
        return false;
    memcpy(frame, wire->bytes + wire->taken, sizeof *frame);
    if (frame->bytes > MOST_BYTES || left - sizeof *frame < frame->bytes)
        return false;
    *content = wire->bytes + wire->taken + sizeof *frame;
    wire->taken += sizeof *frame + (size_t)frame->bytes;
    return true;
}

void place_wire_free(struct place_wire *wire)
{
    free(wire->bytes);
    wire->bytes = NULL;
    wire->taken = wire->used = wire->room = 0;
}
