// SPDX-License-Identifier: MIT
/*
 * The sockets under the links. On one machine they are Unix sockets, which keep packets whole and tell which user is at
 * the other end. Between machines they are TCP connections: each is used in one direction and begins with a greeting
 * that only a process of this experiment can make, so that strangers who connect are never heard.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/address.h"
#include "run/process.h"

#define PATIENCE_NS (8000 * NS_PER_MS) /* how long a live process may be out of reach */
#define GREETING UINT64_C(0x31766e6f632d6572)

/* What the process that connects says first. Nobody else may say it again: a process connects once. */
struct greeting {
    uint64_t word;
    uint32_t from, to;
    unsigned char proof[CV_KEY_BYTES];
};

static bool is_tcp(const struct process *process)
{
    return process->network->endpoints != NULL;
}

static bool make_greeting(const struct process *process, uint32_t from, uint32_t to, struct greeting *greeting)
{
    struct cv_key proof;
    char name[32];
    snprintf(name, sizeof name, "%u-%u", from, to);
    *greeting = (struct greeting){.word = GREETING, .from = from, .to = to};
    if (!cv_key_derive(&process->network->secret, cv_text(name), &proof))
        return false;
    memcpy(greeting->proof, proof.secret, sizeof greeting->proof);
    return true;
}

/* ---- sending ---- */

/* TCP: nothing gets through. The other process has ended, and the news will come, or the network is at fault. */
static bool bear_trouble(struct process *process, struct link *link, uint32_t to, int error)
{
    const uint64_t now = board_now(process->board);
    if (link->socket >= 0)
        close(link->socket);
    link->socket = -1;
    link->connecting = false;
    link->gone = process->board->slot[to].state != SLOT_LIVE;
    if (!link->trouble)
        link->trouble = now;
    if (!link->gone && now - link->trouble > PATIENCE_NS) {
        errno = error;
        process_fail(process, "connect");
    }
    return false;
}

static bool finish_connecting(struct process *process, struct link *link, uint32_t to)
{
    struct pollfd ready = {.fd = link->socket, .events = POLLOUT};
    struct greeting greeting;
    int error = 0;
    socklen_t length = sizeof error;
    if (poll(&ready, 1, 0) == 0)
        return link->trouble && board_now(process->board) - link->trouble > PATIENCE_NS
                   ? bear_trouble(process, link, to, ETIMEDOUT)
                   : false;
    if (getsockopt(link->socket, SOL_SOCKET, SO_ERROR, &error, &length) || error)
        return bear_trouble(process, link, to, error ? error : errno);
    if (!make_greeting(process, process->index, to, &greeting)) {
        errno = ENOSYS;
        process_fail(process, "HMAC");
    }
    if (send(link->socket, &greeting, sizeof greeting, MSG_NOSIGNAL) != (ssize_t)sizeof greeting)
        return bear_trouble(process, link, to, errno);
    link->connecting = false;
    link->trouble = 0;
    return true;
}

static bool connect_tcp(struct process *process, struct link *link, uint32_t to)
{
    struct sockaddr_storage address;
    const socklen_t length = run_address(&address, process->network, to);
    const int yes = 1;
    link->socket = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (link->socket < 0)
        process_fail(process, "socket");
    setsockopt(link->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(link->socket, (const struct sockaddr *)&address, length) && errno != EINPROGRESS)
        return bear_trouble(process, link, to, errno);
    link->connecting = true;
    if (!link->trouble)
        link->trouble = board_now(process->board);
    return finish_connecting(process, link, to);
}

static bool connect_unix(struct process *process, struct link *link, uint32_t to)
{
    struct sockaddr_storage address;
    const socklen_t length = run_address(&address, process->network, to);
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

/* Connects when the first message leaves. */
bool sockets_connect(struct process *process, uint32_t to)
{
    struct link *link = &process->links[to];
    if (link->socket >= 0 && !link->connecting)
        return true;
    if (link->connecting)
        return finish_connecting(process, link, to);
    return is_tcp(process) ? connect_tcp(process, link, to) : connect_unix(process, link, to);
}

static void keep_rest(const struct process *process, struct link *link, const unsigned char *bytes, size_t count)
{
    link->rest = malloc(count);
    if (!link->rest)
        process_fail(process, "malloc");
    memcpy(link->rest, bytes, count);
    link->rest_bytes = count;
}

/* The socket takes no more for now, or the other process has ended. */
static bool could_not_write(struct process *process, struct link *link, uint32_t to)
{
    if (errno == EAGAIN || errno == EINTR)
        return false;
    if (errno != EPIPE && errno != ECONNRESET && errno != ENOTCONN && errno != ECONNREFUSED && errno != ETIMEDOUT &&
        errno != EHOSTUNREACH)
        process_fail(process, "send");
    if (is_tcp(process) && process->board->slot[to].state == SLOT_LIVE) {
        if (!link->trouble)
            link->trouble = board_now(process->board);
        if (board_now(process->board) - link->trouble > PATIENCE_NS)
            process_fail(process, "send");
        return false;
    }
    link->gone = true;
    return true;
}

bool sockets_write_rest(struct process *process, uint32_t to)
{
    struct link *link = &process->links[to];
    while (link->rest_bytes && !link->gone && process->board->slot[to].state == SLOT_LIVE) {
        const ssize_t written = send(link->socket, link->rest, link->rest_bytes, MSG_NOSIGNAL);
        if (written < 0 && !could_not_write(process, link, to))
            return false;
        if (written > 0) {
            link->rest_bytes -= (size_t)written;
            memmove(link->rest, link->rest + written, link->rest_bytes);
        }
    }
    free(link->rest);
    link->rest = NULL;
    link->rest_bytes = 0;
    return true;
}

bool sockets_write(struct process *process, uint32_t to, const struct packet *packet)
{
    struct link *link = &process->links[to];
    if (link->gone || process->board->slot[to].state != SLOT_LIVE)
        return true; /* nobody is there any more */
    if (!sockets_connect(process, to))
        return link->gone;
    if (link->rest_bytes && !sockets_write_rest(process, to))
        return false;
    _Atomic uint64_t *sent = board_sent(process->board, to, process->index);
    ++*sent;
    const ssize_t written = send(link->socket, packet, packet->bytes, MSG_NOSIGNAL);
    if (written > 0 && (size_t)written < packet->bytes)
        keep_rest(process, link, (const unsigned char *)packet + written, packet->bytes - (size_t)written);
    if (written > 0)
        return true;
    --*sent;
    return could_not_write(process, link, to);
}

/* ---- receiving ---- */

void sockets_watch(const struct process *process, int file)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = file};
    if (epoll_ctl(process->poll, EPOLL_CTL_ADD, file, &event))
        process_fail(process, "epoll_ctl");
}

static struct connection *add_connection(struct process *process, int file)
{
    if (file >= process->connection_count) {
        const int count = 2 * file + 1;
        struct connection *larger = realloc(process->connections, (size_t)count * sizeof *larger);
        if (!larger)
            process_fail(process, "realloc");
        memset(larger + process->connection_count, 0, (size_t)(count - process->connection_count) * sizeof *larger);
        process->connections = larger;
        process->connection_count = count;
    }
    process->connections[file] = (struct connection){.from = NO_SLOT, .open = true};
    return &process->connections[file];
}

static void forget_stranger(struct process *process, int file)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < process->stranger_count; i++)
        if (process->strangers[i] != file)
            process->strangers[kept++] = process->strangers[i];
    process->stranger_count = kept;
}

static void end_connection(struct process *process, int file)
{
    struct connection *it = &process->connections[file];
    if (it->from != NO_SLOT)
        process->closed[it->from] = true;
    else
        forget_stranger(process, file);
    free(it->bytes);
    *it = (struct connection){.from = NO_SLOT};
    close(file);
}

/* Only processes of the same user may connect to a Unix socket. */
static bool is_own_user(int file)
{
    struct ucred peer = {0};
    socklen_t length = sizeof peer;
    return getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

void sockets_accept(struct process *process)
{
    const int made = accept4(process->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (made < 0)
        return;
    if (!is_tcp(process) && !is_own_user(made)) {
        close(made);
        return;
    }
    add_connection(process, made)->known = !is_tcp(process);
    sockets_watch(process, made);
    if (!is_tcp(process))
        return;
    if (process->stranger_count == MOST_STRANGERS) /* those who only connect cannot keep others out */
        end_connection(process, process->strangers[0]);
    process->strangers[process->stranger_count++] = made;
}

/* False: nobody of this experiment sends such a packet. */
static bool take_packet(struct process *process, const struct packet *packet)
{
    const struct cv_message *message = &packet->message;
    if (packet->slot >= process->board->slots || packet->name >= process->board->names ||
        message->to != process->node || message->kind >= process->kinds ||
        packet->bytes != PACKET_HEAD + cv_message_bytes(message))
        return false;
    process->received[packet->slot]++;
    if (packet->epoch != process->group.epoch || process->stopped) {
        process_view_receive(process, packet, packet->bytes);
        return true;
    }
    step_deliver(process, packet);
    process->slot->closed++;
    return true;
}

/* Sending uses the process's buffer, too, so a packet moves out of the way before it is handled. */
static uint64_t room[PACKET_BYTES / sizeof(uint64_t)];

static bool receive_unix(struct process *process, int file)
{
    const ssize_t bytes = recv(file, room, sizeof room, MSG_DONTWAIT);
    const struct packet *packet = (const void *)room;
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    return bytes >= (ssize_t)sizeof *packet && packet->bytes == (uint64_t)bytes && take_packet(process, packet);
}

static void keep_bytes(const struct process *process, struct connection *it, const unsigned char *bytes, size_t count)
{
    if (it->room - it->used < count) {
        const size_t larger = 2 * (it->used + count);
        unsigned char *moved = realloc(it->bytes, larger);
        if (!moved)
            process_fail(process, "realloc");
        it->bytes = moved;
        it->room = larger;
    }
    memcpy(it->bytes + it->used, bytes, count);
    it->used += count;
}

/* A stranger becomes known by its greeting. */
static bool hear_greeting(struct process *process, int file)
{
    struct connection *it = &process->connections[file];
    struct greeting greeting, expected;
    memcpy(&greeting, it->bytes, sizeof greeting);
    if (greeting.word != GREETING || greeting.to != process->index || greeting.from >= process->board->slots ||
        process->greeted[greeting.from] || !make_greeting(process, greeting.from, process->index, &expected) ||
        !cv_key_same(greeting.proof, expected.proof))
        return false;
    forget_stranger(process, file);
    process->greeted[greeting.from] = true;
    it->from = greeting.from;
    it->known = true;
    return true;
}

/* The bytes that are the next thing on the connection, or 0 if that has not come as a whole. */
static size_t next_bytes(const struct connection *it, size_t at)
{
    uint64_t bytes = sizeof(struct greeting);
    const size_t left = it->used - at;
    if (it->known && left < sizeof(struct packet))
        return 0;
    if (it->known)
        memcpy(&bytes, it->bytes + at + offsetof(struct packet, bytes), sizeof bytes);
    return bytes <= left || bytes > PACKET_BYTES || bytes < sizeof(struct greeting) ? (size_t)bytes : 0;
}

static bool handle_bytes(struct process *process, int file)
{
    size_t at = 0;
    bool good = true;
    for (;;) {
        struct connection *it = &process->connections[file];
        const size_t bytes = next_bytes(it, at);
        if (!bytes || !good || process->dying) {
            memmove(it->bytes, it->bytes + at, it->used - at);
            it->used -= at;
            return good;
        }
        if (bytes > PACKET_BYTES || bytes < sizeof(struct greeting))
            return false;
        if (it->known) {
            memcpy(room, it->bytes + at, bytes);
            const struct packet *packet = (const void *)room;
            good = packet->slot == it->from && take_packet(process, packet);
        } else {
            good = hear_greeting(process, file);
        }
        at += bytes;
    }
}

static bool receive_tcp(struct process *process, int file)
{
    const ssize_t bytes = recv(file, process->buffer, PACKET_BYTES, MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (bytes <= 0)
        return false;
    keep_bytes(process, &process->connections[file], process->buffer, (size_t)bytes);
    return handle_bytes(process, file);
}

void sockets_receive(struct process *process, int file)
{
    if (file >= process->connection_count || !process->connections[file].open)
        return; /* it was closed meanwhile */
    if (!(is_tcp(process) ? receive_tcp(process, file) : receive_unix(process, file)))
        end_connection(process, file);
}
