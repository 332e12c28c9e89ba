// SPDX-License-Identifier: MIT
/*
 * usage: client PROTOCOL CONNECTIONS SECONDS own|one|ring ADDRESS...
 *
 * Every connection acquires and releases a lock again and again, one process and one thread for all of them: a lock of
 * its own, or one for all. Where a protocol takes several names at once, those are the connection's own, or on a ring
 * of names in which each has neighbours' names, too. Prints a line of JSON: cycles (or hand-offs) a second, and how
 * long a cycle takes. That no more hold a name than may is watched, and every release must have been of a lock that
 * was held.
 */
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP 0.2 /* of the time, not counted */

struct load {
    const struct protocol *protocol;
    struct connection *connection;
    unsigned connections;
    unsigned *holders;         /* of each name */
    uint64_t start_ns, end_ns; /* what ends between them counts */
    unsigned finished;
    uint32_t *sample_ns;
    size_t samples, room, cycles; /* cycles: all of them */
};

void give_up(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    putc('\n', stderr);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- connections ---- */

static int dial(const char *address)
{
    const char *colon = strrchr(address, ':');
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in host = {.sin_family = AF_INET};
    const int fd = socket(colon ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
    int failed;
    if (colon) {
        char number[64];
        snprintf(number, sizeof number, "%.*s", (int)(colon - address), address);
        host.sin_port = htons((uint16_t)atoi(colon + 1));
        failed = inet_pton(AF_INET, number, &host.sin_addr) != 1 ||
                 connect(fd, (const struct sockaddr *)&host, sizeof host) < 0;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    } else {
        snprintf(path.sun_path, sizeof path.sun_path, "%s", address);
        failed = connect(fd, (const struct sockaddr *)&path, sizeof path) < 0;
    }
    if (failed)
        give_up("%s: %s", address, strerror(errno));
    return fd;
}

static void send_all(const struct connection *connection, const char *bytes, size_t length)
{
    while (length) {
        const ssize_t sent = send(connection->fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0)
            give_up("send: %s", strerror(errno));
        bytes += sent;
        length -= (size_t)sent;
    }
}

static void receive(struct connection *connection)
{
    const size_t room = sizeof connection->in - connection->in_length;
    const ssize_t count = recv(connection->fd, connection->in + connection->in_length, room, 0);
    if (count <= 0)
        give_up("the server closed a connection: %s", count ? strerror(errno) : "at its end");
    connection->in_length += (size_t)count;
}

void drop_answer(struct connection *connection, size_t length)
{
    connection->in_length -= length;
    memmove(connection->in, connection->in + length, connection->in_length);
}

size_t converse(struct connection *connection, const struct protocol *protocol, const char *request, size_t length)
{
    size_t answer;
    send_all(connection, request, length);
    while (!(answer = protocol->answer(connection)))
        receive(connection);
    return answer;
}

/* ---- the load ---- */

static void acquire(struct load *load, struct connection *connection)
{
    char out[2048];
    send_all(connection, out, load->protocol->acquire(connection, out, sizeof out));
}

static void begin_cycle(struct load *load, struct connection *connection)
{
    connection->began_ns = now_ns();
    acquire(load, connection);
}

/* It holds its names from now on, or holds them no longer. */
static void count_holders(struct load *load, const struct connection *connection, bool holds)
{
    for (unsigned i = 0; i < load->protocol->names; i++) {
        unsigned *holders = &load->holders[connection->index[i]];
        *holders += holds ? 1 : -1u;
        if (*holders > load->protocol->permits)
            give_up("%u hold %s at once", *holders, connection->name[i]);
    }
}

static void record(struct load *load, uint64_t took_ns)
{
    if (load->samples == load->room) {
        load->room = load->room ? 2 * load->room : 65536;
        load->sample_ns = realloc(load->sample_ns, load->room * sizeof *load->sample_ns);
        if (!load->sample_ns)
            give_up("out of memory");
    }
    load->sample_ns[load->samples++] = took_ns < UINT32_MAX ? (uint32_t)took_ns : UINT32_MAX;
}

static void go_on(struct load *load, struct connection *connection, size_t answer)
{
    char out[2048];
    if (!connection->holding && load->protocol->refused && load->protocol->refused(connection, answer)) {
        drop_answer(connection, answer);
        acquire(load, connection);
        return;
    }
    if (!connection->holding) {
        if (!load->protocol->granted(connection, answer))
            give_up("not granted: %.*s", (int)answer, connection->in);
        count_holders(load, connection, true);
        connection->holding = true;
        drop_answer(connection, answer);
        const size_t length = load->protocol->release(connection, out, sizeof out);
        count_holders(load, connection, false);
        send_all(connection, out, length);
        return;
    }
    if (!load->protocol->released(connection, answer))
        give_up("not released: %.*s", (int)answer, connection->in);
    connection->holding = false;
    load->cycles++;
    drop_answer(connection, answer);
    const uint64_t now = now_ns();
    if (now >= load->end_ns && !load->samples)
        load->end_ns = now + 1; /* the machine had no time for it: the first cycle counts all the same */
    if (now >= load->start_ns && now < load->end_ns)
        record(load, now - connection->began_ns);
    if (now + 1 < load->end_ns)
        begin_cycle(load, connection);
    else
        load->finished++; /* nothing is left locked for whoever comes next */
}

static void run(struct load *load, double seconds)
{
    struct epoll_event events[64];
    const int epoll = epoll_create1(0);
    for (unsigned i = 0; i < load->connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &load->connection[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, load->connection[i].fd, &event);
    }
    const uint64_t began_ns = now_ns();
    load->start_ns = began_ns + (uint64_t)(seconds * WARM_UP * 1e9);
    load->end_ns = began_ns + (uint64_t)(seconds * 1e9);
    for (unsigned i = 0; i < load->connections; i++)
        begin_cycle(load, &load->connection[i]);
    while (load->finished < load->connections) {
        const int count = epoll_wait(epoll, events, 64, 100);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            size_t answer;
            receive(connection);
            while ((answer = load->protocol->answer(connection)))
                go_on(load, connection, answer);
        }
    }
    close(epoll);
}

/* ---- the result ---- */

static int compare(const void *one, const void *other)
{
    const uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

static double percentile_us(const struct load *load, double share)
{
    return (double)load->sample_ns[(size_t)(share * (double)(load->samples - 1))] / 1000;
}

static void report(struct load *load)
{
    if (!load->samples)
        give_up("nothing happened in that time");
    qsort(load->sample_ns, load->samples, sizeof *load->sample_ns, compare);
    printf("{\"cycles_per_second\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"cycles\":%zu,\"all_cycles\":%zu}\n",
           (double)load->samples / ((double)(load->end_ns - load->start_ns) / 1e9), percentile_us(load, 0.5),
           percentile_us(load, 0.99), load->samples, load->cycles);
}

static void choose_names(const struct load *load, struct connection *connection, const char *way)
{
    const unsigned names = load->protocol->names, number = connection->number;
    for (unsigned i = 0; i < names; i++) {
        connection->index[i] = strcmp(way, "one") == 0    ? i
                               : strcmp(way, "ring") == 0 ? (number + i) % load->connections
                                                          : names * number + i;
        snprintf(connection->name[i], sizeof connection->name[i], "lock%08u", connection->index[i]);
    }
}

int main(int argc, char **argv)
{
    static const struct protocol *const protocols[] = {&conclave_protocol, &redis_protocol, &etcd_protocol,
                                                       &conclave_permits,  &redis_permits,  &etcd_permits,
                                                       &conclave_all,      &redis_all,      &etcd_all};
    struct load load = {0};
    if (argc < 6)
        give_up("usage: client PROTOCOL CONNECTIONS SECONDS own|one|ring ADDRESS...");
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (strcmp(argv[1], protocols[i]->name) == 0)
            load.protocol = protocols[i];
    load.connections = (unsigned)atoi(argv[2]);
    load.connection = calloc(load.connections, sizeof *load.connection);
    load.holders = calloc((size_t)NAMES * load.connections, sizeof *load.holders);
    if (!load.protocol || !load.connections || !load.connection || !load.holders)
        give_up("client: no such protocol, or no connections");
    for (unsigned i = 0; i < load.connections; i++) {
        struct connection *connection = &load.connection[i];
        connection->number = i;
        choose_names(&load, connection, argv[4]);
        connection->fd = dial(argv[5 + i % (unsigned)(argc - 5)]);
        load.protocol->prepare(connection);
    }
    run(&load, atof(argv[3]));
    report(&load);
    for (unsigned i = 0; i < load.connections; i++)
        close(load.connection[i].fd);
    free(load.connection);
    free(load.holders);
    free(load.sample_ns);
    return 0;
}
