// SPDX-License-Identifier: MIT
/*
 * The links to the other processes: Unix sockets that keep messages whole and in order. A message may wait at its
 * sender, because it is delayed or the socket is full; then those after it wait, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/address.h"
#include "run/process.h"

#define PACKET_HEAD offsetof(struct packet, message)

/* Connects when the first message leaves. False: the other end takes nobody now, or for ever. */
static bool connect_to(struct process *process, uint32_t to)
{
    struct link *link = &process->links[to];
    if (link->socket >= 0)
        return true;
    struct sockaddr_un address;
    const socklen_t length = run_address(&address, process->network->key, to);
    const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0)
        process_fail(process, "socket");
    if (connect(made, (const struct sockaddr *)&address, length) == 0) {
        const int room = 2 * (int)PACKET_BYTES;
        setsockopt(made, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        link->socket = made;
        return true;
    }
    link->gone = errno != EAGAIN && errno != EINTR;
    close(made);
    return false;
}

/* True: the message has left, or never will. */
static bool write_packet(struct process *process, uint32_t to, const struct packet *packet, size_t bytes)
{
    struct link *link = &process->links[to];
    if (link->gone || process->board->slot[to].state != SLOT_LIVE)
        return true; /* nobody is there any more */
    if (!connect_to(process, to))
        return link->gone;
    _Atomic uint64_t *sent = board_sent(process->board, to, process->index);
    ++*sent;
    const ssize_t written = send(link->socket, packet, bytes, MSG_NOSIGNAL);
    if (written == (ssize_t)bytes)
        return true;
    --*sent;
    if (errno == EAGAIN || errno == EINTR)
        return false;
    if (errno != EPIPE && errno != ECONNRESET && errno != ENOTCONN && errno != ECONNREFUSED)
        process_fail(process, "send");
    link->gone = true;
    return true;
}

static uint64_t draw_delay(struct process *process)
{
    const struct cv_delay *delay = &process->network->delay;
    if (!process->network->delayed)
        return 0;
    if (delay->model == CV_DELAY_EXPONENTIAL)
        return cv_random_exponential(&process->delays, delay->low) * NS_PER_MS;
    /* Any time between: real delays are no whole milliseconds. */
    return delay->low * NS_PER_MS +
           cv_random_below(&process->delays, (delay->high - delay->low) * 1000 + 1) * (NS_PER_MS / 1000);
}

/* The lag of a link, where the scenario has one, instead of the usual delay. */
static uint64_t delay_of(struct process *process, const struct cv_message *message)
{
    const struct cv_scenario *scenario = process->scenario;
    for (uint32_t i = scenario->lag_count; i-- > 0;) {
        const struct cv_lag *lag = &scenario->lags[i];
        if ((lag->pair.one == CV_NOBODY || lag->pair.one == message->from) &&
            (lag->pair.other == CV_NOBODY || lag->pair.other == message->to) &&
            (lag->kind == CV_MAX_KINDS || lag->kind == message->kind))
            return lag->ticks * NS_PER_MS;
    }
    return draw_delay(process);
}

static void enqueue(struct process *process, struct link *link, const struct packet *packet,
                    const struct cv_message *message, uint64_t due)
{
    const size_t bytes = PACKET_HEAD + cv_message_bytes(message);
    struct waiting *it = malloc(offsetof(struct waiting, packet) + bytes + sizeof(struct cv_message));
    if (!it)
        process_fail(process, "malloc");
    it->next = NULL;
    it->due = due > link->last_due ? due : link->last_due;
    it->bytes = bytes;
    memcpy(&it->packet, packet, PACKET_HEAD);
    memcpy(&it->packet.message, message, cv_message_bytes(message));
    link->last_due = it->due;
    *(link->first ? &link->last->next : &link->first) = it;
    link->last = it;
    process_open(process);
}

void links_send(struct process *process, const struct cv_message *message)
{
    const struct packet head = {.serial = (uint64_t)process->index << LOG_SERIAL_BITS | ++process->serial,
                                .slot = process->index,
                                .name = process->name,
                                .epoch = process->group.epoch};
    const uint32_t to = process->board->current[message->to];
    if (link_is_cut(process, message->to) || to == NO_SLOT)
        return;
    if (PACKET_HEAD + cv_message_bytes(message) > PACKET_BYTES) {
        errno = EMSGSIZE;
        process_fail(process, "send");
    }
    struct link *link = &process->links[to];
    const uint64_t delay = delay_of(process, message);
    if (delay || link->first || to == process->index) {
        enqueue(process, link, &head, message, process->now + delay);
        return;
    }
    struct packet *packet = (void *)process->buffer; /* the message that is in it has been handled */
    memcpy(packet, &head, PACKET_HEAD);
    memcpy(&packet->message, message, cv_message_bytes(message));
    if (!write_packet(process, to, packet, PACKET_HEAD + cv_message_bytes(message)))
        enqueue(process, link, &head, message, process->now);
}

uint64_t links_flush(struct process *process, uint64_t now)
{
    uint64_t next = NO_TIME;
    for (uint32_t i = 0; i < process->board->slots; i++) {
        /* Messages to oneself come first: the steps that receive them may send over every other link. */
        const uint32_t to = (process->index + i) % process->board->slots;
        struct link *link = &process->links[to];
        while (link->first && link->first->due <= now && (to != process->index || !process->dying)) {
            struct waiting *it = link->first;
            if (to != process->index && !write_packet(process, to, &it->packet, it->bytes))
                break;
            link->first = it->next;
            if (to == process->index)
                step_deliver(process, &it->packet);
            free(it);
            process_close(process);
        }
        if (!link->first)
            continue;
        const uint64_t retry = now + NS_PER_MS, due = link->first->due > retry ? link->first->due : retry;
        const uint64_t at = link->first->due > now ? link->first->due : due;
        next = at < next ? at : next;
    }
    return next;
}

bool links_idle(const struct process *process)
{
    for (uint32_t to = 0; to < process->board->slots; to++)
        if (to != process->index && process->links[to].first)
            return false;
    return true;
}

void links_drop(struct process *process)
{
    for (uint32_t to = 0; to < process->board->slots; to++)
        for (struct link *link = &process->links[to]; link->first; process_close(process)) {
            struct waiting *it = link->first;
            link->first = it->next;
            free(it);
        }
}

bool links_receive(struct process *process, int socket)
{
    const ssize_t bytes = recv(socket, process->buffer, PACKET_BYTES, MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (bytes < (ssize_t)sizeof(struct packet))
        return false;
    /* Sending uses the buffer, too, so the message moves out of the way. */
    static uint64_t room[PACKET_BYTES / sizeof(uint64_t)];
    memcpy(room, process->buffer, (size_t)bytes);
    const struct packet *packet = (const void *)room;
    const struct cv_message *message = &packet->message;
    if (packet->slot >= process->board->slots || packet->name >= process->board->names ||
        message->to != process->node || message->kind >= process->kinds ||
        (size_t)bytes != PACKET_HEAD + cv_message_bytes(message))
        return false;
    process->received[packet->slot]++;
    if (packet->epoch != process->group.epoch || process->stopped) {
        process_view_receive(process, packet, (size_t)bytes);
        return true;
    }
    step_deliver(process, packet);
    process->slot->closed++;
    return true;
}
