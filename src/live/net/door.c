// SPDX-License-Identifier: MIT
#include "live/net/door.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "live/net/listen.h"
#include "live/net/stream.h"

void cv_door_look(struct cv_visitor *visitor, struct cv_stream *stream)
{
    struct sockaddr_storage address = {0};
    int length = sizeof address;
    visitor->stream = stream;
    memset(visitor->address, 0, sizeof visitor->address);
    if (stream->uv.handle.type != UV_TCP || uv_tcp_getpeername(&stream->uv.tcp, (struct sockaddr *)&address, &length))
        return;
    if (address.ss_family == AF_INET6)
        memcpy(visitor->address, &((struct sockaddr_in6 *)&address)->sin6_addr, 16);
    else
        memcpy(visitor->address + 12, &((struct sockaddr_in *)&address)->sin_addr, 4);
}

const char *cv_visitor_name(const struct cv_visitor *visitor, char text[CV_VISITOR_NAME_BYTES])
{
    static const unsigned char none[12];
    const bool mapped = memcmp(visitor->address, none, sizeof none) == 0;
    const char *name =
        inet_ntop(mapped ? AF_INET : AF_INET6, visitor->address + (mapped ? 12 : 0), text, CV_VISITOR_NAME_BYTES);
    return name ? name : "unknown";
}

static void send_away(struct cv_visitor *visitor)
{
    visitor->door->dropped++;
    if (visitor->door->farewell)
        visitor->door->farewell(visitor->stream);
    cv_door_leave(visitor);
    cv_stream_close(visitor->stream);
}

static void had_its_time(struct cv_alarm *alarm)
{
    send_away(cv_alarm_owner(alarm, struct cv_visitor, alarm));
}

/* The oldest of that address if there are too many of them, the oldest of all if there are too many in all. */
static void make_way(struct cv_door *door, const unsigned char *address)
{
    struct cv_visitor *oldest = NULL;
    uint64_t same = 0;
    for (struct cv_visitor *it = door->first; it; it = it->next)
        if (memcmp(it->address, address, sizeof it->address) == 0) {
            oldest = oldest ? oldest : it;
            same++;
        }
    if (oldest && same >= door->most_each)
        send_away(oldest);
    else if (door->first && door->count >= door->most)
        send_away(door->first);
}

void cv_door_enter(struct cv_door *door, struct cv_visitor *visitor, struct cv_stream *stream)
{
    visitor->alarm.ring = had_its_time;
    cv_door_look(visitor, stream);
    make_way(door, visitor->address);
    visitor->door = door;
    visitor->next = NULL;
    visitor->previous = door->last;
    *(door->last ? &door->last->next : &door->first) = visitor;
    door->last = visitor;
    door->count++;
    if (door->patience_us)
        cv_loop_set(door->loop, &visitor->alarm, door->patience_us);
}

void cv_door_leave(struct cv_visitor *visitor)
{
    struct cv_door *door = visitor->door;
    if (!door)
        return;
    *(visitor->previous ? &visitor->previous->next : &door->first) = visitor->next;
    *(visitor->next ? &visitor->next->previous : &door->last) = visitor->previous;
    cv_alarm_cancel(&door->loop->alarms, &visitor->alarm);
    visitor->door = NULL;
    door->count--;
}

bool cv_door_accept(struct cv_door *door, struct cv_listener *listener, struct cv_visitor *visitor,
                    struct cv_stream *stream)
{
    if (cv_alarms_reserve(&listener->loop->alarms, 1))
        return false;
    if (cv_stream_accept(stream, listener) == 0)
        cv_door_enter(door, visitor, stream);
    return true;
}
